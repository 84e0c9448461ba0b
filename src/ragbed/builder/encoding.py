"""Encode passages for a build on the workers of an engine; each encoder is opened once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ragbed.builder.fetching import closing_worker
from ragbed.builder.web.ordered_tasks import in_order
from ragbed.errors import UsageError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder, TokenEncoder
from ragbed.runs.engines import Engine


@lru_cache(maxsize=3)  # one for each language, and one for search
def open_once(name: str) -> Encoder | TokenEncoder:
    """Return the encoder of a name, which stays loaded."""
    return open_encoder(name)


class EncodingWorker:
    """A worker that encodes passages.

    Args:
        name: Name of the encoder.
        cores: Unused; the encoders' libraries choose their number of threads.
    """

    room, spare = 2, 1  # one batch is encoded while the next one waits

    def __init__(self, name: str, cores: int) -> None:  # noqa: ARG002
        encoder = open_once(name)
        if not isinstance(encoder, Encoder):
            raise UsageError(f"{name} produces token-level embeddings only; choose a passage encoder.")
        self._encoder = encoder

    async def begin(self) -> str:
        """Return the identity of the encoder, so that vectors of two encoders do not mix."""
        return self._encoder.identity()

    async def do(self, texts: list[str]) -> bytes:
        """Return the vectors of passages, row by row."""
        return self._encoder.encode(texts, "passage").vectors.astype(np.float32).tobytes()

    async def close(self) -> None:
        """Keep the encoder for the next step that needs it."""


async def encode_all(engine: Engine, name: str, batches: Iterator[list[str]]) -> AsyncGenerator[bytes, None]:
    """Yield the vectors of batches of texts, in order."""

    async def tasks() -> AsyncIterator[Coroutine[Any, Any, bytes]]:
        for texts in batches:
            yield worker.do(texts)

    async with closing_worker(engine.staff(partial(EncodingWorker, name))) as worker:
        async for rows in in_order(tasks(), engine.workers + 1):
            yield rows
