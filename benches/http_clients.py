"""Compare HTTP clients for many short calls: aiohttp, httpx2, the openai SDK, and ragbed's own.

    python -m benches http_clients [--calls 1000] [--latency 0.05] [--slots 64]

Each library runs in a separate process, three times, against the same mock server with prompts
as long as RGB's. A library that is not installed is skipped. Prints the table of docs/project/design/dependencies.md.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from tests.servers.mock_model import Behaviour, mock_model

_ROUNDS = 3


def prompts(calls: int) -> Iterator[list[dict[str, str]]]:
    """Yield prompts with five Chinese documents, about 4 kB each, like RGB's."""
    for number in range(calls):
        yield [
            {"role": "system", "content": "你是一个准确可靠的AI助手。"},
            {"role": "user", "content": f"{number}{'文档' * 650}"},
        ]


async def call_all(calls: int, slots: int, ask: Callable[[list[dict[str, str]]], Awaitable[str]]) -> None:
    """Call a model for all prompts with this many workers."""
    todo = prompts(calls)

    async def work() -> None:
        for messages in todo:
            assert await ask(messages)

    await asyncio.gather(*(work() for _ in range(slots)))


async def with_aiohttp(url: str, calls: int, slots: int) -> None:
    import aiohttp  # noqa: PLC0415

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(messages: list[dict[str, str]]) -> str:
            async with session.post(f"{url}/chat/completions", data=_body(messages)) as response:
                return _text(await response.read())

        await call_all(calls, slots, ask)


async def with_httpx2(url: str, calls: int, slots: int) -> None:
    httpx2: Any = importlib.import_module("httpx2")
    limits = httpx2.Limits(max_connections=slots, max_keepalive_connections=slots)
    async with httpx2.AsyncClient(limits=limits) as client:

        async def ask(messages: list[dict[str, str]]) -> str:
            response = await client.post(f"{url}/chat/completions", content=_body(messages))
            return _text(response.content)

        await call_all(calls, slots, ask)


async def with_openai(url: str, calls: int, slots: int) -> None:
    openai: Any = importlib.import_module("openai")
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:

        async def ask(messages: list[dict[str, str]]) -> str:
            reply = await client.chat.completions.create(model="m", messages=messages)
            return str(reply.choices[0].message.content)

        await call_all(calls, slots, ask)


async def with_ragbed(url: str, calls: int, slots: int) -> None:
    """Use ragbed's own client, with pacing, retries and scrubbing."""
    pacing: Any = importlib.import_module("benches.pacing")
    async with pacing.opened(url, connections=slots) as model:
        await pacing.call_all(model, (pacing.make_case(number) for number in range(calls)), lambda _: None)


LIBRARIES = {"aiohttp": with_aiohttp, "ragbed": with_ragbed, "httpx2": with_httpx2, "openai": with_openai}
# Modules to import before the measurement, if more than the library is needed.
_LOADED = {"ragbed": ("benches.pacing", "ragbed.models.providers.openai")}


def _body(messages: list[dict[str, str]]) -> bytes:
    return json.dumps({"model": "m", "messages": messages}, ensure_ascii=False).encode()


def _text(content: bytes) -> str:
    return str(json.loads(content)["choices"][0]["message"]["content"])


def measure(library: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the figures for one round, which runs in its own process with its own server."""
    with mock_model(Behaviour(options.latency, options.slots)) as url:
        child = [sys.executable, "-m", "benches", "http_clients", "--calls", str(options.calls)]
        child += ["--slots", str(options.slots), "--library", library, "--url", url]
        figures: dict[str, float] = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
        return figures


def run_child(options: argparse.Namespace) -> None:
    """Call the server with one library and print the figures."""
    started, library = time.perf_counter(), LIBRARIES[options.library]
    for module in _LOADED.get(options.library, (options.library,)):
        importlib.import_module(module)
    loaded = time.perf_counter()
    busy = time.process_time()
    asyncio.run(library(options.url, options.calls, options.slots))
    took, busy = time.perf_counter() - loaded, time.process_time() - busy
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {"s": took, "cpu_ms": busy / options.calls * 1e3, "load_s": loaded - started, "mb": usage.ru_maxrss / 1024}
        )
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--library", choices=LIBRARIES, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library:
        run_child(options)
        return
    limit = options.calls * options.latency / options.slots
    print(f"{options.calls:,} calls, {options.latency * 1e3:g} ms, {options.slots} slots: at best {limit:.2f} s\n")
    print("| Library | Seconds | × the limit | CPU per call | Import | Memory |\n|---|---|---|---|---|---|")
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is None:
            print(f"| {library} | not installed |")
            continue
        rounds = [measure(library, options) for _ in range(_ROUNDS)]
        took, cpu, load, mb = (
            statistics.median(figures[name] for figures in rounds) for name in ("s", "cpu_ms", "load_s", "mb")
        )
        name = f"{library} {importlib.import_module(library).__version__}"
        print(f"| {name} | {took:.2f} | {took / limit:.2f} | {cpu:.2f} ms | {load:.2f} s | {mb:.0f} MB |")
