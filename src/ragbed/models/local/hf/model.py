"""A transformers model that runs in batches in its own thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random

import torch
import transformers
from msgspec import structs

from ragbed.errors import RagbedError
from ragbed.io.threads import in_daemon_thread, resolve
from ragbed.models.base import Sampling, canonical, completed
from ragbed.models.failures import Failure, failed
from ragbed.models.local.hf import loading
from ragbed.models.local.hf.batch_engine import BatchEngine
from ragbed.models.local.hf.prompt import PromptEncoder
from ragbed.models.local.hf.sequence import Sequence, StopCondition
from ragbed.models.local.hf.weights import WeightSource, fingerprint, get_folder
from ragbed.models.presets import Preset
from ragbed.models.token_limit import TokenLimit
from ragbed.schema import Case, Completion

# Maximum number of concurrent cases: those being decoded, plus enough waiting cases for full prefill batches.
_WINDOW = 1024
_CLOSE_S = 1.5


class HFModel:
    """A model from the transformers library: `hf/<repo or folder>`.

    Args:
        source: The location of the weights.
        environ: The environment variables with the Hub's URL, token and cache.
        sampling: Sampling parameters.
        preset: The prompt format, if it is not the chat template.
        window: Maximum number of concurrent cases.
        context_length: The context length, if the user set it.
    """

    advice = "Check the model's folder or repository; `ragbed doctor` lists the installed packages."

    def __init__(
        self,
        source: WeightSource,
        environ: Mapping[str, str],
        sampling: Sampling,
        preset: Preset | None = None,
        window: int | None = None,
        context_length: int | None = None,
    ) -> None:
        self.name = f"hf/{source.name}" + (f"@{source.revision}" if source.revision else "")
        self.concurrency = window or _WINDOW
        if sampling.temperature is None:  # use the library's default
            sampling = structs.replace(sampling, temperature=1.0)
        self._context = context_length
        self._source, self._environ, self._sampling, self._preset = source, environ, sampling, preset
        self._encoding = ThreadPoolExecutor(1)  # use a single thread, because tokenizers are not thread-safe
        self._engine: BatchEngine | None = None
        self._limit = TokenLimit(sampling, only_thoughts=True)
        self.cache_scope = self._limit.scope  # a part of the cache keys that is not in the request

    def request(self, case: Case) -> bytes:
        """Return the prompt and all parameters that determine the response, apart from the model itself."""
        prompt = None if self._preset is None else self._preset.prompt(case)
        body: dict[str, object] = {"messages": case.messages} if prompt is None else {"prompt": prompt}
        stop = () if self._preset is None else self._preset.stop
        sampling = {name: getattr(self._sampling, name) for name in ("temperature", "top_p", "max_tokens", "choices")}
        seed = {} if self._sampling.seed is None else {"seed": self._sampling.seed}
        return canonical(body | {"sampling": sampling | seed, "stop": stop})

    async def identity(self) -> str:
        """Return the precision, the library versions, and the hash or revision of the model's files."""
        weights = await in_daemon_thread(lambda: fingerprint(self._prepare()))
        numbers = str(loading.precision()).removeprefix("torch.")
        return f"{weights};{numbers};torch={torch.__version__};transformers={transformers.__version__}"

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Submit the case to the engine and wait for the result."""
        if self._engine is None:
            await in_daemon_thread(self._prepare)
        engine = self._engine
        assert engine is not None  # noqa: S101  # for the type checker: `_prepare` sets it
        loop = asyncio.get_running_loop()
        context = copy_context()  # messages name options as the command line does
        tokens = await loop.run_in_executor(self._encoding, context.run, self._encode, case)

        async def call(max_tokens: int) -> Completion:
            return await self._generate(engine, tokens, max_tokens, self.request(case) + repeat.to_bytes(4, "big"))

        return await self._limit.complete(call)

    async def _generate(self, engine: BatchEngine, tokens: list[int], max_tokens: int, seed: bytes) -> Completion:
        context = self._context or self._tokenizer.context
        if context is not None and len(tokens) + max_tokens > context:
            both = f"the prompt of {len(tokens):,} tokens and a response of up to {max_tokens:,}"
            return failed(Failure("too-long", f"{both} do not fit in the context of {context:,} tokens"), 0)
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sequence = Sequence(tokens, max_tokens, Random(sha256(seed).digest()), done=lambda _: resolve(ended, None))
        started = time.monotonic()
        engine.submit(sequence)
        await ended
        return self._completion(sequence, engine, time.monotonic() - started)

    async def close(self) -> None:
        """Stop the engine's thread."""
        if self._engine is not None:
            self._engine.close()
            await asyncio.to_thread(self._engine.join, _CLOSE_S)
        self._encoding.shutdown(wait=False, cancel_futures=True)

    def _prepare(self) -> Path:
        folder = get_folder(self._source, self._environ)
        self._tokenizer = loading.load_tokenizer(folder, self._source)
        self._encoder = PromptEncoder(self._tokenizer.tokenizer, self.name)
        if self._preset is None or self._preset.own is None:
            self._encoder.check_template()
        batching = replace(loading.GPU if loading.device().type == "cuda" else loading.CPU)
        self._engine = self._engine or BatchEngine(
            lambda: loading.open_runner(folder, self._source, batching), batching, self._sampling, self._stop()
        )
        return folder

    def _stop(self) -> StopCondition:
        """Return the model's end tokens and the preset's stop strings; convert the strings to tokens where possible."""
        vocabulary = self._tokenizer.tokenizer.get_vocab()
        texts = () if self._preset is None else self._preset.stop
        tokens = self._tokenizer.ends | {vocabulary[text] for text in texts if text in vocabulary}
        return StopCondition(tokens, tuple(text for text in texts if text not in vocabulary), self._encoder.decode)

    def _encode(self, case: Case) -> list[int]:
        prompt = None if self._preset is None else self._preset.prompt(case)
        if prompt is None:
            return self._encoder.encode_messages(case.messages)
        return self._encoder.encode_prompt(prompt, [message.content for message in case.messages])

    def _completion(self, sequence: Sequence, engine: BatchEngine, seconds: float) -> Completion:
        if sequence.failure is not None:
            return failed(sequence.failure)
        if sequence.finish is None:
            if isinstance(engine.broken, RagbedError):
                raise engine.broken
            raise RagbedError(
                f"{self.name} stopped: {engine.broken or 'the engine was closed'}. All responses so far are stored; "
                "rerun the same command to resume."
            ) from engine.broken
        text = self._encoder.decode(sequence.written)
        if sequence.finish == "length":  # the response may have ended inside a thought that the prompt opened
            text = self._encoder.find_opened(sequence.prompt) + text
        stops = [text.index(stop) for stop in self._preset.stop if stop in text] if self._preset else []
        usage = {"in": len(sequence.prompt), "out": len(sequence.written)}
        done = completed(text[: min(stops)] if stops else text, sequence.finish, usage)
        return structs.replace(done, latency_s=round(seconds, 4))
