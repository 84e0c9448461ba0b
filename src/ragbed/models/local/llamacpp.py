"""A GGUF file, run by llama.cpp on this machine: `llamacpp/<file.gguf>`."""

from __future__ import annotations

import asyncio
import importlib.metadata
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import aiohttp
import msgspec

from ragbed.data.catalog import CATALOG, files_here
from ragbed.environment import default_data_dir
from ragbed.errors import RagbedError, UnknownName, UsageError
from ragbed.models.base import Sampling, canonical
from ragbed.models.failures import Failure, failed, from_status
from ragbed.models.local.gguf import Weights, read_weights
from ragbed.models.local.llama_process import LlamaProcess, LlamaProcessFailed, LlamaSetup
from ragbed.models.providers.openai import parse_chat
from ragbed.models.retry_policy import RetryPolicy
from ragbed.schema import Case, Completion, Message

SLOTS = 1
"""Cases at once where the user names no number. Two share the work of writing, but then what neighbours have in
common is read twice; see docs/local-models.md for the figures."""
_RESTARTS = 3
"""So many engines in a row that end before they bring a reply end the run."""
_BREAK = "\u200c"
"""Put into texts that would be read as signals; no reader sees it."""


class _Count(msgspec.Struct):
    input_tokens: int


class _Timings(msgspec.Struct):
    cache_n: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0


class _Timed(msgspec.Struct):
    timings: _Timings = msgspec.field(default_factory=_Timings)


@dataclass(frozen=True)
class LlamaConfig:
    """How a local model is to be run."""

    sampling: Sampling
    patience: RetryPolicy
    environ: Mapping[str, str]
    slots: int = SLOTS
    loads: bool = True
    """Whether it is loaded; otherwise it only says what would be asked."""


class LlamaModel:
    """A file of weights as a model. The weights are loaded before anything is asked, unless the order says otherwise.

    Args:
        name: The model string.
        path: The file.
        order: How it is to be run.

    Raises:
        UsageError: The file cannot be used, or the library is not installed.
    """

    reuses_prefixes: Literal[True] = True
    advice = "Check that the file is whole and that there is memory for it."

    def __init__(self, name: str, path: Path, order: LlamaConfig) -> None:
        self.name, self.concurrency = name, order.slots
        self._order = order
        self.weights: Weights = read_weights(path)
        self.languages = self.weights.languages
        self._controls = _pattern(self.weights.controls)
        self._setup = LlamaSetup(self.weights, order.slots, order.environ)
        if order.loads:
            self._engine = _start(self._setup)
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()
        self._ends = 0

    def request(self, case: Case) -> bytes:
        """The body as it is sent, but for the seed, which follows from the repeat."""
        return canonical(self._body(case))

    def _body(self, case: Case) -> dict[str, object]:
        sampling = self._order.sampling
        body: dict[str, object] = {
            "messages": [self._escape(message) for message in case.messages],
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            # llama.cpp's own defaults would cut what the user did not ask to be cut.
            "top_k": 0,
            "min_p": 0,
        }
        if sampling.choices:
            body["grammar"] = grammar_of(sampling.choices)
        return body

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Asks, if prompt and reply fit into what the model can read."""
        try:
            async with asyncio.timeout(self._order.patience.item_s):
                return await self._ask(canonical(self._body(case) | {"seed": repeat}))
        except TimeoutError:
            problem = f"no reply within {self._order.patience.item_s:,.6g} s; --timeout gives it more"
            return failed(Failure("timeout", problem), attempts=1, usage=Counter())
        except Failure as failure:
            return failed(failure, attempts=1, usage=Counter())

    async def identity(self) -> str:
        """The hash of the weights and the version of the engine."""
        digest = await asyncio.to_thread(self.weights.sha256)
        return f"sha256 {digest}, xllamacpp {importlib.metadata.version('xllamacpp')}"

    async def count_tokens(self, body: bytes) -> int:
        """How long a request's prompt is, as the file's own template writes it."""
        told = await self._post("v1/chat/completions/input_tokens", body)
        return msgspec.json.decode(told, type=_Count).input_tokens

    async def close(self) -> None:
        """Ends llama.cpp, whatever it is doing."""
        if self._session is not None:
            await self._session.close()
        self._engine.stop()

    async def _ask(self, body: bytes) -> Completion:
        await self._ensure_engine()
        count, most = await self.count_tokens(body), self._order.sampling.max_tokens
        if count + most > self._engine.context:
            raise Failure("too-long", _too_long(count, most, self._engine.context, self.weights.context))
        content = await self._post("v1/chat/completions", body)
        reply, timings = parse_chat(content), msgspec.json.decode(content, type=_Timed).timings
        self._ends = 0
        return msgspec.structs.replace(
            reply,
            usage=(reply.usage or {}) | {"cached": timings.cache_n},
            latency_s=round((timings.prompt_ms + timings.predicted_ms) / 1000, 4),
        )

    async def _post(self, path: str, body: bytes) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # llama.cpp closes a connection that rests for five seconds, and a call may just then be on its way.
                connector=aiohttp.TCPConnector(force_close=True),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Content-Type": "application/json"},
            )
        headers = {"Authorization": f"Bearer {self._engine.key}"}
        engine = self._engine
        try:
            async with self._session.post(f"{engine.address}/{path}", data=body, headers=headers) as response:
                content = await response.read()
        except aiohttp.ClientError as error:
            await asyncio.sleep(0.1)  # a process that ends closes its connections first
            why = str(error) if engine.is_running else engine.last_words()
            raise Failure("server", f"llama.cpp broke off: {why}") from None
        if response.status != 200:
            raise from_status(response.status, content.decode("utf-8", "replace"))
        return content

    async def _ensure_engine(self) -> None:
        """Starts another engine where one has crashed: the case that it crashed over has its outcome, others go on.

        Raises:
            RagbedError: That happens again and again.
        """
        async with self._starting:
            if self._engine.is_running:
                return
            self._ends += 1
            if self._ends >= _RESTARTS:
                why = self._engine.last_words()
                raise RagbedError(
                    f"llama.cpp ended {self._ends} times without a reply: {why}. {self.advice} "
                    "Every reply is kept; the same command goes on."
                )
            self._engine.stop()
            self._engine = await asyncio.to_thread(_start, self._setup)

    def _escape(self, message: Message) -> Message:
        """A document that holds the sign for the end of a turn must not end it."""
        if self._controls is None or not self._controls.search(message.content):
            return message
        content = self._controls.sub(lambda found: found[0][0] + _BREAK + found[0][1:], message.content)
        return msgspec.structs.replace(message, content=content)


def grammar_of(choices: tuple[str, ...]) -> str:
    """GBNF that lets a model say one of these and nothing else."""
    quoted = (choice.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for choice in choices)
    return "root ::= " + " | ".join(f'"{choice}"' for choice in quoted)


def _start(setup: LlamaSetup) -> LlamaProcess:
    try:
        return LlamaProcess.start(setup)
    except LlamaProcessFailed as failure:
        raise UsageError(
            f"llama.cpp cannot load {setup.weights.path} (architecture {setup.weights.architecture}): {failure}. "
            "Check that the file is whole, or get a newer engine: pip install --upgrade xllamacpp"
        ) from None


def _pattern(controls: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, controls))) if controls else None


def _too_long(count: int, most: int, context: int, trained: int) -> str:
    limit = "the model reads" if context == trained else f"this machine has memory for (the model reads {trained:,})"
    return f"{count:,} tokens and {most:,} for the reply do not fit into the {context:,} that {limit}"


def find_weights(name: str, data_root: Path | None = None) -> Path:
    """The file of a bundled model.

    Raises:
        UsageError: There is no such model, or its weights are not here.
    """
    models = [entry.name for entry in CATALOG.values() if entry.kind == "model"]
    if name not in models:
        raise UnknownName("bundled model", name, models)
    for path in files_here(CATALOG[name], data_root or default_data_dir()):
        return path
    raise UsageError(f"the weights of bundled/{name} are not here; bring them with: ragbed data get {name}")
