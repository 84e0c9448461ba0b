"""The desk of a build: fetching and reading as everywhere, with everything that came of it kept for the next time.

A step that was killed begins again and finds its pages and readings here; a locked build has nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

import msgspec

from ragbed.builder.build_context import Build
from ragbed.builder.sources import DocumentFetcher
from ragbed.builder.web.client import parse_page_url
from ragbed.builder.web.content_types import KINDS
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.fetch import Fetched, Fetcher
from ragbed.builder.web.fetch_errors import FetchFailed
from ragbed.builder.web.page_cache import PageCache
from ragbed.builder.web.reader_process import ReadResult
from ragbed.errors import RagbedError
from ragbed.runs.engines.base import Engine, Worker

_FORMAT = 2
"""Of what is kept; raised when documents are read otherwise than before."""
_READY = 48
"""Documents for each child, of which it reads one: others are there when one is done, however far they come from, and
many travel together, which costs little more than one. A document may be 20 MB, and few are more than 0.1."""
_MOST = 256
"""Documents under way, however many readers there are."""
Given = TypeVar("Given")
Thing = TypeVar("Thing")


class _Ending(msgspec.Struct):
    """How a fetch ended that brought no page."""

    outcome: str
    reason: str


class KeptFetcher(Fetcher):
    """A fetcher whose failures are kept too, and which in a locked build only remembers."""

    def __init__(self, build: Build, keep: PageCache) -> None:
        outside = build.outside
        manners = replace(outside.manners, fresh_s=float("inf")) if outside.locked else outside.manners
        super().__init__(keep, manners, gate=outside.gate)
        self._memory, self._locked = keep, outside.locked

    async def fetch(self, url: str, kinds: frozenset[str] = KINDS) -> Fetched:
        """See `Fetcher`."""
        key = _key(b"fetch", url.encode("utf-8", "replace"), " ".join(sorted(kinds)).encode())
        if self._locked and (ended := self._remember(key)):
            return Fetched(url, ended.outcome, ended.reason)  # type: ignore[arg-type]
        if self._locked and not self._is_kept(url):
            raise RagbedError(f"{url} is not kept, so a locked build cannot have it; build without --locked.")
        fetched = await super().fetch(url, kinds)
        ending = _Ending(fetched.outcome, fetched.reason) if fetched.page is None else None
        if ending != self._remember(key):
            self._memory.keep_answer(key, msgspec.json.encode(ending))
        return fetched

    def _remember(self, key: str) -> _Ending | None:
        """How the last fetch failed; None if it did not, or there was none."""
        kept = self._memory.find_answer(key)
        return None if kept is None else msgspec.json.decode(kept, type=_Ending | None)

    def _is_kept(self, url: str) -> bool:
        """Whether a page is there, or the address is none that anybody would be asked for."""
        try:
            return self._memory.find_page(str(parse_page_url(url))) is not None
        except FetchFailed:
            return True


class ReadingWorker:
    """Children that read documents, as a hand of an engine.

    Args:
        cores: Documents read at the same time.
    """

    def __init__(self, cores: int) -> None:
        self._extractor = Extractor(cores)
        self.room, self.spare = _READY * cores, (_READY - 1) * cores

    async def begin(self) -> str:
        """Reading is the same everywhere."""
        return f"reader {_FORMAT}"

    async def do(self, job: ReadJob) -> ReadResult:
        """Reads a document."""
        return await self._extractor.extract(job)

    async def close(self) -> None:
        """Ends the children."""
        await self._extractor.close()


class KeptExtractor:
    """Reads each document once.

    Args:
        hand: Reads.
        keep: Where readings are kept.
        locked: Whether those that failed are good enough.
    """

    def __init__(self, hand: Worker[ReadJob, ReadResult], keep: PageCache, *, locked: bool) -> None:
        self._hand, self._memory, self._locked = hand, keep, locked

    async def extract(self, job: ReadJob) -> ReadResult:
        """See `Extractor`; what failed is tried again, since a busy machine may be to blame."""
        key = _key(b"reading", msgspec.msgpack.encode(job))
        kept = self._memory.find_answer(key)
        if kept is not None:
            reading = msgspec.msgpack.decode(kept, type=ReadResult)
            if reading.outcome == "ok" or self._locked:
                return reading
        reading = await self._hand.do(job)
        self._memory.keep_answer(key, msgspec.msgpack.encode(reading))
        return reading


@asynccontextmanager
async def at_work(hand: Worker[Given, Thing]) -> AsyncIterator[Worker[Given, Thing]]:
    """A hand that is let go in the end."""
    try:
        yield hand
    finally:
        await hand.close()


@asynccontextmanager
async def open_desk(build: Build) -> AsyncIterator[DocumentFetcher]:
    """The desk, for as long as a step needs it."""
    with PageCache(build.kept / "pages.db") as keep:
        async with KeptFetcher(build, keep) as fetcher, at_work(build.engine.staff(ReadingWorker)) as hand:
            extractor = KeptExtractor(hand, keep, locked=build.outside.locked)
            yield DocumentFetcher(fetcher, extractor, documents_at_once(build.engine))


def documents_at_once(engine: Engine) -> int:
    """As many as wait for hosts; where readers are far away, as they have, and as many again for the next journey.

    Bounded: all are in the memory, and each may be a connection.
    """
    return (
        DocumentFetcher.at_once
        if engine.shares_disk
        else min(_MOST, max(DocumentFetcher.at_once, 2 * _READY * engine.workers))
    )


def drain(stream: AsyncGenerator[Thing, None]) -> Iterator[Thing]:
    """What an asynchronous generator gives, one by one; it is closed in good order whatever happens."""
    came: list[Thing] = []

    async def take_next() -> None:  # gives nothing back: the runner would write out the whole of it, for nobody
        came.append(await anext(stream))

    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    runner.run(take_next())
                except StopAsyncIteration:
                    return
                yield came.pop()
        finally:
            runner.run(stream.aclose())


def _key(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join((str(_FORMAT).encode(), *parts))).hexdigest()
