"""Test random server faults: a run exits with a message, stores what it received and does not request it again."""

from __future__ import annotations

import asyncio
import gzip
import random
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.torture.bounds import Command, Tally, run_all
from ragbed.errors import RagbedError
from tests.cli.typed import type_command
from tests.models.test_faults import ENDS
from tests.runs.harness import replies
from tests.servers.faulty_model import Exchange, Fault, FaultServer, chat, raw, reply, well

COUNT = 320
WORDS = (
    *("run", "-m", "openai-api/test/m", "-d", "ragbed-mini-en_base", "--limit", "1", "--testbeds", "noise"),
    *("--noise", "0", "--timeout", "4", "--cache", "off", "--out", "run"),
)
_FLOOD = 600 << 20
"""Maximum number of bytes that an endless server sends; a client that stores them exceeds the memory limit."""
_ODD_VALUES = (
    *("null", "true", "-1", "1e999", "1" + "0" * 400, '""', '"\\ud800"', "[]", "{}", "[[[[]]]]", "NaN", "0.1"),
    *('{"a": {"b": []}}', '"' + "x" * 100_000 + '"', "[" * 5_000 + "]" * 5_000),
)
_UNNEEDED = ("id", "created", "system_fingerprint", "object", "service_tier", "x-extra", "logprobs")
_STATUSES = (200, 201, 204, 206, 301, 304, 400, 401, 403, 404, 405, 408, 409, 413, 418, 422, 425, 429, 451, 499)
_ENCODINGS = ("gzip", "deflate", "br", "zstd", "identity", "gzip, gzip", "nonsense", "compress")


@dataclass
class Trial:
    """A fault, after which the server responds correctly."""

    name: str
    fault: Fault
    is_sound: bool = False
    """Whether the faulty HTTP response contains the model's response, which was paid for and must be stored."""
    server: FaultServer | None = None


def trials(count: int, draw: random.Random) -> Iterator[Trial]:
    """Yield the known faults first, then random faults from each family in turn."""
    # Exclude the 429 faults, because most of them wait for minutes.
    known = [name for name in ENDS if not name.startswith("429, ")]
    yield from (Trial(name, ENDS[name][0]) for name in known[:count])
    families = (_cut, _flipped, _odd_unneeded, _odd_needed, _chunked, _headers, _encoded, _noise, _status, _flooded)
    for number in range(count - len(known)):
        trial = families[number % len(families)](draw)
        trial.name = f"{trial.name} {number}"
        yield trial


def _whole(body: bytes, *headers: str) -> bytes:
    lines = ("HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", "")
    return "\r\n".join(lines).encode() + body


def _cut(draw: random.Random) -> Trial:
    content = _whole(chat())
    return Trial("cut", raw(content[: draw.randrange(len(content))]))


def _flipped(draw: random.Random) -> Trial:
    content = bytearray(_whole(chat()))
    for _ in range(draw.randrange(1, 9)):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return Trial("flipped", raw(bytes(content)))


def _odd_unneeded(draw: random.Random) -> Trial:
    """Return a complete response with an unusual value in a field that is not read."""
    field, value = draw.choice(_UNNEEDED), draw.choice([one for one in _ODD_VALUES if one != "NaN" and one[0] != "["])
    body = chat()[:-1] + f', "{field}": {value}}}'.encode()
    return Trial(f"{field} {value[:12]}", reply(body), is_sound=True)


def _odd_needed(draw: random.Random) -> Trial:
    body, value = chat().decode(), draw.choice(_ODD_VALUES)
    place = draw.choice(('"Paris"', '"stop"', "7", "2", '"assistant"', '{"prompt_tokens": 7, "completion_tokens": 2}'))
    return Trial(f"{place[:12]} as {value[:12]}", reply(body.replace(place, value).encode()))


def _chunked(draw: random.Random) -> Trial:
    """Return a complete response in chunks of unusual sizes, some with extensions and trailers."""
    body, parts = chat(), []
    while body:
        size = draw.choice((1, 2, 7, 100))
        extension = draw.choice((b"", b";x=1", b";" + b"y" * 200))
        parts.append(b"%x%s\r\n%s\r\n" % (len(body[:size]), extension, body[:size]))
        body = body[size:]
    end = b"0\r\n" + draw.choice((b"", b"X-Trailer: 1\r\n")) + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return Trial("chunked", raw(head + b"".join(parts) + end), is_sound=True)


def _headers(draw: random.Random) -> Trial:
    many = [f"X-{number}: {'v' * draw.choice((1, 100, 9_000))}" for number in range(draw.choice((3, 50, 5_000)))]
    odd = draw.choice(
        ("Content-Length: -5", "Content-Length: 99999999999999999999", ": x", "no colon", "X: \x00", "Retry-After: 1e9")
    )
    return Trial(f"{len(many)} headers and {odd[:20]!r}", raw(_whole(chat(), *many, odd)))


def _encoded(draw: random.Random) -> Trial:
    coding, body = draw.choice(_ENCODINGS), chat()
    packed = draw.choice((gzip.compress(body), zlib.compress(body), body, gzip.compress(body)[:-8], b""))
    return Trial(f"{coding} of {packed[:2]!r}", reply(packed, Content_Encoding=coding))


def _noise(draw: random.Random) -> Trial:
    starts = (
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/9.9 200\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"PRI * HTTP/2.0\r\n",
    )
    return Trial("noise", raw(draw.choice(starts) + draw.randbytes(draw.choice((1, 50, 5_000, 200_000)))))


def _status(draw: random.Random) -> Trial:
    code, value = draw.choice(_STATUSES), draw.choice([one for one in _ODD_VALUES if len(one) < 1_000])
    body = draw.choice(('{"error": %s}', '{"error": {"message": %s}}', '{"error": {"code": %s}}', "%s")) % value
    return Trial(f"status {code} {body[:30]}", reply(body.encode(), code))


def _flooded(draw: random.Random) -> Trial:
    """Return a response that never ends, because of its trailers, headers, chunks or decompressed size."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    floods = {
        "trailers": (head + b"0\r\n", b"X-Trailer: 1\r\n" * 5_000),
        "headers": (b"HTTP/1.1 200 OK\r\n", b"X-Header: 1\r\n" * 5_000),
        "small chunks": (head, b"1\r\n \r\n" * 10_000),
        "chunk extensions": (head + b"1;", b"x" * 65_536),
        "one header": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65_536),
        "body without an end": (b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65_536),
        "status lines": (b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 2_000),
    }
    name = draw.choice(list(floods))
    return Trial(f"flood of {name}", _flood(*floods[name]))


def _flood(start: bytes, unit: bytes) -> Fault:
    async def send(exchange: Exchange) -> None:
        exchange.writer.write(start)
        for _ in range(_FLOOD // len(unit)):
            exchange.writer.write(unit)
            await exchange.writer.drain()
        exchange.hang_up()

    return send


@contextmanager
def _loop() -> Iterator[Callable[[Awaitable[object]], object]]:
    """Run an event loop in a thread, and yield a function that runs awaitables in it."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def wait_for(one: Awaitable[object]) -> object:
        return await one

    try:
        yield lambda one: asyncio.run_coroutine_threadsafe(wait_for(one), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def torture(folder: Path, count: int, seed: int) -> bool:
    """Run against servers that answer the first request incorrectly and all others correctly."""
    tally, made = Tally("faults"), {trial.name: trial for trial in trials(count, random.Random(seed))}
    with _loop() as do:

        def commands() -> Iterable[Command]:
            for number, trial in enumerate(made.values()):
                trial.server = FaultServer([trial.fault, well])
                do(trial.server.__aenter__())
                place = folder / f"{number:03}"
                place.mkdir()
                yield Command("run", WORDS, place, trial.name, {"TEST_BASE_URL": trial.server.url})

        sound = FaultServer([well])
        do(sound.__aenter__())
        with chdir(folder):  # this loads everything that a run needs into this process
            assert type_command(*WORDS, env={"TEST_BASE_URL": sound.url}).code == 0
        do(sound.__aexit__())
        for command, ended in run_all(commands()):
            trial = made[command.about]
            tally.add("faults", trial.name, [*ended.problems(), *_lost(trial, command.folder / "run")])
            assert trial.server is not None
            do(trial.server.__aexit__())
    return tally.close()


def _lost(trial: Trial, run: Path) -> Iterator[str]:
    """Yield a problem if a response that was sent completely was not stored or was requested again."""
    requests = len(trial.server.seen) if trial.server else 0
    try:
        kept = [text for text in replies(run).values() if text]
    except RagbedError:
        kept = []
    if trial.is_sound and (requests > 1 or not kept):
        yield f"lost: the response was sent once; {requests} requests, {len(kept)} stored"
    if requests > 2:
        yield f"re-sent: {requests} requests, though the second was answered well"
    if requests == 2 and not kept:
        yield "lost: the second request was answered well, and nothing is kept"
