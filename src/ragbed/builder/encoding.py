"""Encoders at work for a build: opened once, and passages spread over an engine's hands."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ragbed.builder.fetching import at_work
from ragbed.builder.web.ordered_tasks import in_order
from ragbed.errors import UsageError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder, TokenEncoder
from ragbed.runs.engines import Engine


@lru_cache(maxsize=3)  # one for each language, and one for search
def open_once(name: str) -> Encoder | TokenEncoder:
    """The encoder of a name; loading it takes longer than holding it costs."""
    return open_encoder(name)


class EncodingWorker:
    """An encoder as a hand of an engine.

    Args:
        name: Of the encoder.
        cores: It takes what it is given.
    """

    room, spare = 2, 1  # one is encoded, the next one waits

    def __init__(self, name: str, cores: int) -> None:  # noqa: ARG002  # libraries find out by themselves
        encoder = open_once(name)
        if not isinstance(encoder, Encoder):
            raise UsageError(f"{name} makes no vectors of whole texts.")
        self._encoder = encoder

    async def begin(self) -> str:
        """Vectors of two encoders must not mix."""
        return self._encoder.identity()

    async def do(self, texts: list[str]) -> bytes:
        """The vectors of passages, row by row."""
        return self._encoder.encode(texts, "passage").vectors.astype(np.float32).tobytes()

    async def close(self) -> None:
        """Keeps the encoder, for the next step that needs it."""


async def encode_all(engine: Engine, name: str, batches: Iterator[list[str]]) -> AsyncGenerator[bytes, None]:
    """The vectors of batches of texts, in their order."""

    async def lay_out() -> AsyncIterator[Coroutine[Any, Any, bytes]]:
        for texts in batches:
            yield hand.do(texts)

    async with at_work(engine.staff(partial(EncodingWorker, name))) as hand:
        async for rows in in_order(lay_out(), engine.workers + 1):
            yield rows
