"""`llamacpp/<file.gguf>`: run a GGUF file with llama.cpp on this machine."""

from __future__ import annotations

import asyncio
import importlib.metadata
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import aiohttp
import msgspec

from ragbed.data.catalog import CATALOG, files_here
from ragbed.environment import default_data_dir
from ragbed.errors import RagbedError, UnknownName, UsageError, option
from ragbed.models.base import canonical
from ragbed.models.failures import Failure, failed, from_status
from ragbed.models.local.gguf import read_weights
from ragbed.models.local.llama_process import LlamaProcess, LlamaProcessFailed, LlamaSetup
from ragbed.models.providers.dialects import response_format
from ragbed.models.providers.openai import parse_chat
from ragbed.models.token_limit import TokenLimit
from ragbed.schema import Case, Completion, Message

if TYPE_CHECKING:
    from ragbed.models import ModelConfig

# Default number of concurrent cases. Two cases could be decoded in one batch, but common prefixes would be prefilled
# twice.
_SLOTS = 1
# Maximum number of consecutive llama.cpp processes that may exit without a response before the run stops.
_MAX_RESTARTS = 3
_RANDOM_SEED = 0xFFFFFFFF  # the seed, also written -1, with which llama.cpp uses a random one
# An invisible character that breaks up the text of a control token in a document.
_BREAK = "\u200c"


class LlamaModel:
    """A model in a GGUF file; the constructor loads it unless `config.loads` is False.

    Args:
        name: The model string.
        path: The file.
        config: The settings.

    Raises:
        UsageError: The file cannot be used, or the library is not installed.
    """

    reuses_prefixes: Literal[True] = True
    advice = "Check that the file is complete and that there is enough memory."

    def __init__(self, name: str, path: Path, config: ModelConfig) -> None:
        self.name, self.concurrency, self._config = name, config.connections or _SLOTS, config
        self.weights = read_weights(path)
        self.languages = self.weights.languages
        controls = self.weights.controls
        self._controls = re.compile("|".join(map(re.escape, controls)) if controls else r"(?!)")
        self._setup = LlamaSetup(self.weights, self.concurrency, config.environ, config.context_length)
        if config.loads:
            self._engine = _start(self._setup)
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()
        self._limit = TokenLimit(config.sampling, only_thoughts=True)
        self.cache_scope = self._limit.scope  # a part of the cache keys that is not in the request
        self._failures = 0

    def request(self, case: Case) -> bytes:
        """Return the request body with the user's seed; each call adds its repeat number to the seed."""
        seed = self._config.sampling.seed
        return canonical(self._body(case, self._limit.first) | ({} if seed is None else {"seed": seed}))

    def _body(self, case: Case, max_tokens: int) -> dict[str, object]:
        sampling = self._config.sampling
        body: dict[str, object] = {
            "messages": [self._escape(message) for message in case.messages],
            "max_tokens": max_tokens,
            "top_p": sampling.top_p,
            # Disable llama.cpp's default sampling filters, which would exclude improbable tokens.
            "top_k": 0,
            "min_p": 0,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.thinking is not None:
            body["chat_template_kwargs"] = {"enable_thinking": sampling.thinking is not False}
        if sampling.choices:
            body["grammar"] = grammar_of(sampling.choices)
        if sampling.schema is not None:
            body |= response_format("response", sampling.schema)
        return body

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Call llama.cpp if the prompt and the longest allowed response fit into the context."""
        seed = (repeat + (self._config.sampling.seed or 0)) % _RANDOM_SEED

        async def call(max_tokens: int) -> Completion:
            return await self._call(canonical(self._body(case, max_tokens) | {"seed": seed}), max_tokens)

        return await self._limit.complete(call)

    async def _call(self, body: bytes, max_tokens: int) -> Completion:
        limit_s = self._config.retry_policy.item_s
        try:
            async with asyncio.timeout(limit_s):
                return await self._complete(body, max_tokens)
        except TimeoutError:
            return failed(Failure("timeout", f"no response within {limit_s:,.6g} s; increase the timeout"))
        except Failure as failure:
            return failed(failure)

    async def identity(self) -> str:
        """Return the hash of the weights and the version of llama.cpp."""
        digest = await asyncio.to_thread(self.weights.sha256)
        return f"sha256 {digest}, xllamacpp {importlib.metadata.version('xllamacpp')}"

    async def count_tokens(self, body: bytes) -> int:
        """Return the number of tokens in a request's prompt."""
        return int(msgspec.json.decode(await self._post("v1/chat/completions/input_tokens", body))["input_tokens"])

    async def close(self) -> None:
        """Stop llama.cpp immediately."""
        if self._session is not None:
            await self._session.close()
        self._engine.stop()

    async def _complete(self, body: bytes, most: int) -> Completion:
        await self._ensure_engine()
        count, context = await self.count_tokens(body), self._engine.context
        if count + most > context:
            limit = f"the context window of {context:,} tokens"
            if context < self.weights.context:
                limit += f" (the model supports {self.weights.context:,}; set {option('context_length')})"
            both = f"the prompt ({count:,} tokens) and the response (up to {most:,} tokens)"
            return failed(Failure("too-long", f"{both} do not fit in {limit}"), 0)
        content = await self._post("v1/chat/completions", body)
        completion = parse_chat(content)
        timings = msgspec.json.decode(content, type=dict[str, Any]).get("timings", {})
        self._failures = 0
        return msgspec.structs.replace(
            completion,
            usage=(completion.usage or {}) | {"cached": timings.get("cache_n", 0)},
            latency_s=round((timings.get("prompt_ms", 0) + timings.get("predicted_ms", 0)) / 1000, 4),
        )

    async def _post(self, path: str, body: bytes) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # llama.cpp closes idle connections after five seconds, possibly while a call is being sent.
                connector=aiohttp.TCPConnector(force_close=True),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Content-Type": "application/json"},
            )
        engine = self._engine
        headers = {"Authorization": f"Bearer {engine.key}"}
        try:
            async with self._session.post(f"{engine.url}/{path}", data=body, headers=headers) as response:
                content = await response.read()
        except aiohttp.ClientError as error:
            await asyncio.sleep(0.1)  # the process closes its connections first, so give it time to exit
            reason = str(error) if engine.is_running else engine.last_words()
            raise Failure("server", f"llama.cpp stopped: {reason}") from None
        if response.status != 200:
            raise from_status(response.status, content.decode("utf-8", "replace"))
        return content

    async def _ensure_engine(self) -> None:
        """Restart llama.cpp after a crash; the case that caused the crash already has its outcome.

        Raises:
            RagbedError: llama.cpp crashed several times in a row.
        """
        async with self._starting:
            if self._engine.is_running:
                return
            self._failures += 1
            if self._failures >= _MAX_RESTARTS:
                raise RagbedError(
                    f"llama.cpp crashed {self._failures} times without returning a response: "
                    f"{self._engine.last_words()}. {self.advice} All responses received so far are stored; rerun the "
                    "same command to resume."
                )
            self._engine.stop()
            self._engine = await asyncio.to_thread(_start, self._setup)

    def _escape(self, message: Message) -> Message:
        """Break up control tokens that appear as text in a message, so that a document cannot end the user's turn."""
        content = self._controls.sub(lambda found: found[0][0] + _BREAK + found[0][1:], message.content)
        return message if content == message.content else msgspec.structs.replace(message, content=content)


def grammar_of(choices: tuple[str, ...]) -> str:
    """Return a GBNF grammar that allows only the given responses."""
    quoted = (choice.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for choice in choices)
    return "root ::= " + " | ".join(f'"{choice}"' for choice in quoted)


def _start(setup: LlamaSetup) -> LlamaProcess:
    try:
        return LlamaProcess.start(setup)
    except LlamaProcessFailed as failure:
        raise UsageError(
            f"llama.cpp cannot load {setup.weights.path} (architecture {setup.weights.architecture}): {failure}. "
            "Check that the file is complete, or upgrade llama.cpp: pip install --upgrade xllamacpp"
        ) from None


def find_weights(name: str, data_root: Path | None = None) -> Path:
    """Return the path of a bundled model's weights file.

    Raises:
        UsageError: The model is unknown, or its weights are not installed.
    """
    models = [entry.name for entry in CATALOG.values() if entry.kind == "model"]
    if name not in models:
        raise UnknownName("bundled model", name, models)
    for path in files_here(CATALOG[name], data_root or default_data_dir()):
        return path
    raise UsageError(f"the weights of bundled/{name} are not installed. Install them: ragbed data get {name}")
