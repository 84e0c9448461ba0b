"""A model of the transformers library as the runner asks it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from threading import Thread
from typing import TypeVar

import torch
import transformers

from ragbed.errors import RagbedError, UsageError
from ragbed.models.base import Sampling, canonical
from ragbed.models.failures import Failure, failed
from ragbed.models.local.hf import loading
from ragbed.models.local.hf.batch_engine import BatchEngine
from ragbed.models.local.hf.prompt import PromptEncoder
from ragbed.models.local.hf.sequence import Sequence, StopCondition
from ragbed.models.local.hf.weights import WeightSource, bring, fingerprint
from ragbed.models.presets import Preset
from ragbed.models.reasoning import split_thinking
from ragbed.schema import Case, Completion

_WINDOW = 1024
"""Cases it takes at once: those being written to, and enough more to fill batches for reading from."""
_CLOSE_S = 1.5
T = TypeVar("T")


class HFModel:
    """`hf/<repo or folder>`: asked in batches, in a thread of its own.

    Args:
        source: Where the weights are.
        environ: For the hub's address, token and cache.
        sampling: How to write.
        preset: How to prompt, where it is not by the model's chat template.
        window: Cases at once.
    """

    advice = "Check the model's folder or repository; `ragbed doctor` tells what is installed."

    def __init__(
        self,
        source: WeightSource,
        environ: Mapping[str, str],
        sampling: Sampling,
        preset: Preset | None = None,
        window: int | None = None,
    ) -> None:
        if preset is not None and preset.hf_problem:
            raise UsageError(f"hf/{source.name}: {preset.hf_problem}.")
        self.name = f"hf/{source.name}" + (f"@{source.revision}" if source.revision else "")
        self.concurrency = window or _WINDOW
        self._source, self._environ, self._sampling, self._preset = source, environ, sampling, preset
        self._reading = ThreadPoolExecutor(1)  # a tokenizer is no matter for two threads
        self._text: loading.LoadedTokenizer
        self._reader: PromptEncoder
        self._engine: BatchEngine | None = None

    def request(self, case: Case) -> bytes:
        """All that decides the reply beside the model itself."""
        prompt = None if self._preset is None else self._preset.prompt(case)
        body: dict[str, object] = {"messages": case.messages} if prompt is None else {"prompt": prompt}
        stop = () if self._preset is None else self._preset.stop
        return canonical(body | {"sampling": self._sampling, "stop": stop})

    async def identity(self) -> str:
        """Hash of the files, or the revision; precision and versions, which change replies in small ways."""
        weights = await _in_thread(lambda: fingerprint(self._prepare()))
        numbers = str(loading.precision()).removeprefix("torch.")
        return f"{weights};{numbers};torch={torch.__version__};transformers={transformers.__version__}"

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Hands the case to the engine and waits."""
        if self._engine is None:
            await _in_thread(self._prepare)
        engine = self._engine
        assert engine is not None  # noqa: S101  # for the type checker: `_prepare` sets it
        loop = asyncio.get_running_loop()
        try:
            tokens = await loop.run_in_executor(self._reading, self._read, case)
        except Failure as failure:
            return failed(failure, 1, Counter())
        answered: asyncio.Future[None] = loop.create_future()
        seed = sha256(self.request(case) + repeat.to_bytes(4, "big")).digest()
        sequence = Sequence(
            tokens, self._sampling.max_tokens, Random(seed), done=lambda _: _settle(answered, lambda: None)
        )
        begun = time.monotonic()
        engine.submit(sequence)
        await answered
        return self._completion(sequence, engine, time.monotonic() - begun)

    async def close(self) -> None:
        """Ends the engine's thread."""
        if self._engine is not None:
            self._engine.close()
            await asyncio.to_thread(self._engine.join, _CLOSE_S)
        self._reading.shutdown(wait=False, cancel_futures=True)

    def _prepare(self) -> Path:
        folder = bring(self._source, self._environ)
        self._text = loading.load_text(folder, self._source)
        self._reader = PromptEncoder(self._text.tokenizer, self.name)
        if self._preset is None or self._preset.own is None:
            self._reader.check_template()
        batching = replace(loading.GPU if loading.device().type == "cuda" else loading.CPU)
        self._engine = self._engine or BatchEngine(
            lambda: loading.open_runner(folder, self._source, batching), batching, self._sampling, self._ending()
        )
        return folder

    def _ending(self) -> StopCondition:
        """Where a reply ends: the model's own tokens, and the preset's texts, as tokens where they are such."""
        known = self._text.tokenizer.get_vocab()
        named = () if self._preset is None else self._preset.stop
        tokens = self._text.ends | {known[text] for text in named if text in known}
        return StopCondition(tokens, tuple(text for text in named if text not in known), self._reader.write)

    def _read(self, case: Case) -> list[int]:
        prompt = None if self._preset is None else self._preset.prompt(case)
        if prompt is None:
            tokens = self._reader.read_messages(case.messages)
        else:
            tokens = self._reader.read_prompt(prompt, [message.content for message in case.messages])
        limit, context = self._sampling.max_tokens, self._text.context
        if context is not None and len(tokens) + limit > context:
            raise Failure(
                "too-long", f"{len(tokens)} tokens and up to {limit} of a reply, and the model takes {context} in all"
            )
        return tokens

    def _completion(self, sequence: Sequence, engine: BatchEngine, seconds: float) -> Completion:
        if sequence.failure is not None:
            return failed(sequence.failure, 1, Counter())
        if sequence.finish is None:
            if isinstance(engine.broken, RagbedError):
                raise engine.broken
            raise RagbedError(f"{self.name} stopped: {engine.broken or 'it was closed'}.") from engine.broken
        text = self._reader.write(sequence.written)
        stops = [text.index(stop) for stop in self._preset.stop if stop in text] if self._preset else []
        thought, answer = split_thinking(text[: min(stops)] if stops else text)
        return Completion(
            outcome="ok",
            reply=answer,
            reasoning=thought,
            finish=sequence.finish,
            usage={"in": len(sequence.prompt), "out": len(sequence.written)},
            latency_s=round(seconds, 4),
        )


async def _in_thread(work: Callable[[], T]) -> T:
    """Does work in a thread that nobody waits for when the user ends the run, unlike asyncio's own."""
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    Thread(target=_settle, args=(done, work), daemon=True).start()
    return await done


def _settle(future: asyncio.Future[T], work: Callable[[], T]) -> None:
    """Does work and tells a future of another thread what came of it; who waited may have gone."""
    result: T
    failure: Exception | None = None
    try:
        result = work()
    except Exception as error:
        failure = error

    def tell() -> None:
        if future.done():
            return
        if failure is None:
            future.set_result(result)
        else:
            future.set_exception(failure)

    with suppress(RuntimeError):  # the loop has ended
        future.get_loop().call_soon_threadsafe(tell)
