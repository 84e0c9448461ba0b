"""Fetch and read documents for a build, and store every result for reuse.

If a step is killed, it starts again with its stored pages and texts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import msgspec

from ragbed.builder.build_context import Build
from ragbed.builder.sources import DocumentFetcher
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.fetch import Fetcher
from ragbed.builder.web.page_cache import PageCache
from ragbed.builder.web.reader_process import ReadResult
from ragbed.runs.engines import Engine, Worker

_FORMAT = 5  # version of the stored results; increase it when documents are read differently
# Number of documents queued per child process, which reads one at a time. The queue keeps the process busy, and sending
# many documents together costs little more than sending one. A document may be as large as 20 MB, but few exceed
# 0.1 MB.
_QUEUED = 48
_MAX_QUEUED = 256  # maximum number of documents in progress, regardless of the number of readers
Given = TypeVar("Given")
Thing = TypeVar("Thing")


class ReadingWorker:
    """A worker that reads documents in child processes.

    Args:
        cores: Number of documents to read at the same time.
    """

    def __init__(self, cores: int) -> None:
        self._extractor = Extractor(cores)
        self.room = _QUEUED * cores

    async def begin(self) -> str:
        """Return the version of the reader."""
        return f"reader {_FORMAT}"

    async def do(self, job: ReadJob) -> ReadResult:
        """Read a document."""
        return await self._extractor.extract(job)

    async def close(self) -> None:
        """Stop the child processes."""
        await self._extractor.close()


class _StoringExtractor:
    """A reader that reads each document once and stores the result."""

    def __init__(self, hand: Worker[ReadJob, ReadResult], keep: PageCache) -> None:
        self._hand, self._memory = hand, keep

    async def extract(self, job: ReadJob) -> ReadResult:
        key = hashlib.sha256(b"\0".join((str(_FORMAT).encode(), b"reading", msgspec.msgpack.encode(job)))).hexdigest()
        stored = self._memory.find_answer(key)
        if stored is not None:
            result = msgspec.msgpack.decode(stored, type=ReadResult)
            if result.outcome == "ok":  # failures are retried, because the machine may have been busy
                return result
        result = await self._hand.do(job)
        self._memory.keep_answer(key, msgspec.msgpack.encode(result))
        return result


@asynccontextmanager
async def closing_worker(worker: Worker[Given, Thing]) -> AsyncIterator[Worker[Given, Thing]]:
    """Yield a worker, and close it on exit."""
    try:
        yield worker
    finally:
        await worker.close()


@asynccontextmanager
async def open_fetcher(build: Build) -> AsyncIterator[DocumentFetcher]:
    """Yield a document fetcher for a step, and close it on exit."""
    with PageCache(build.kept / "pages.db") as keep:
        outside = build.outside
        fetching = Fetcher(keep, outside.manners, gate=outside.gate)
        async with fetching as fetcher, closing_worker(build.engine.staff(ReadingWorker)) as worker:
            extractor = _StoringExtractor(worker, keep)
            yield DocumentFetcher(fetcher, extractor, documents_at_once(build.engine))


def documents_at_once(engine: Engine) -> int:
    """Return the maximum number of documents to process concurrently.

    On this machine, most documents in progress are waiting for hosts. Remote readers get as many as they can hold,
    plus the same number in transit. There is a maximum because each document takes memory and may need a connection.
    """
    if engine.shares_disk:
        return DocumentFetcher.at_once
    return min(_MAX_QUEUED, max(DocumentFetcher.at_once, 2 * _QUEUED * engine.workers))


def drain(stream: AsyncGenerator[Thing, None]) -> Iterator[Thing]:
    """Yield an asynchronous generator's items synchronously, and close the generator at the end."""
    received: list[Thing] = []

    # Do not return the item: `asyncio.Runner` calls `repr` on a task's result, which is slow for a large item.
    async def receive() -> None:
        received.append(await anext(stream))

    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    runner.run(receive())
                except StopAsyncIteration:
                    return
                except (SystemExit, KeyboardInterrupt):
                    _end_tasks(runner)
                    raise
                yield received.pop()
        finally:
            runner.run(stream.aclose())


def _end_tasks(runner: asyncio.Runner) -> None:
    """Cancel the tasks of an event loop that a signal handler interrupted, so that the loop can close its resources."""

    async def cancel_others() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    with suppress(RuntimeError):  # a callback that the interrupted task left behind may stop the loop's next run
        runner.run(asyncio.sleep(0))
    runner.run(cancel_others())
