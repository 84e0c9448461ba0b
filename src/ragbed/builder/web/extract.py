"""Documents to text in child processes, so that one that is hostile costs a child and nothing else."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import msgspec

from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.extra import need_extra
from ragbed.builder.web.limits import MAX_PAGE_BYTES
from ragbed.builder.web.reader_process import LENGTH_BYTES, ReadResult

_DYING_S = 5.0
"""After a pipe broke, until the process has ended."""


@dataclass(frozen=True)
class ReaderLimits:
    """What one document may cost."""

    memory_bytes: int = 320 << 20
    """Address space of the child process. The libraries take 70 MB of it, and a page of 2 MB takes 60 MB more."""
    cpu_s: int = 8
    """CPU time for one document. A page of 100 kB takes 0.02 s."""
    clock_s: float = 60
    """On a busy machine; what waits without using the CPU ends here."""
    max_bytes: int = MAX_PAGE_BYTES
    pages: int = 2000
    """A child is replaced after so many, since parsers lose a little memory over time."""


class _Child:
    """One process, started when the first document comes and again after each death."""

    def __init__(self, bounds: ReaderLimits) -> None:
        self._bounds = bounds
        self._process: Process | None = None
        self._read = 0

    async def read(self, job: bytes) -> ReadResult:
        """Reads a document, in a fresh process if the used one ends: it may have died of another document."""
        used = self._process is not None
        reading = await self._try(job)
        if reading.outcome == "memory":
            await self.stop()  # what is left of its memory may be in pieces
        return await self._try(job) if reading.outcome == "crashed" and used else reading

    async def _try(self, job: bytes) -> ReadResult:
        if self._read >= self._bounds.pages:
            await self.stop()
        if self._process is None:
            self._process, self._read = await _start(self._bounds), 0
        self._read += 1
        try:
            async with asyncio.timeout(self._bounds.clock_s):
                return await _exchange(self._process, job)
        except TimeoutError:
            await self.stop()
            return ReadResult(outcome="time", reason=f"it was not read within {self._bounds.clock_s:g} s")
        except (OSError, asyncio.IncompleteReadError):
            return await self._tell_death(self._process)
        except asyncio.CancelledError:
            await self.stop()  # or the next document would be given this one's text
            raise

    async def _tell_death(self, process: Process) -> ReadResult:
        try:
            async with asyncio.timeout(_DYING_S):
                code = await process.wait()
            self._process = None
        except TimeoutError:  # it only closed its pipes
            await self.stop()
            code = -signal.SIGKILL
        if code == -signal.SIGXCPU:
            return ReadResult(outcome="time", reason=f"reading it takes more than {self._bounds.cpu_s} s of CPU")
        return ReadResult(outcome="crashed", reason=f"it brought the reader down (exit code {code})")

    async def stop(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None


async def _start(bounds: ReaderLimits) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "ragbed.builder.web.reader_process", str(bounds.memory_bytes), str(bounds.cpu_s)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # Nothing else of the environment: keys are not for a process that reads hostile documents.
        env={
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONHASHSEED": "0",
            "PYTHONSAFEPATH": "1",
        },
    )


async def _exchange(process: Process, job: bytes) -> ReadResult:
    sink, source = process.stdin, process.stdout
    if sink is None or source is None:
        raise BrokenPipeError
    sink.write(len(job).to_bytes(LENGTH_BYTES, "big") + job)
    await sink.drain()
    head = await source.readexactly(LENGTH_BYTES)
    return msgspec.msgpack.decode(await source.readexactly(int.from_bytes(head, "big")), type=ReadResult)


class Extractor:
    """A pool of children. Used as `async with Extractor() as extractor`.

    Args:
        children: Documents read at the same time.
        bounds: What one document may cost.
    """

    def __init__(self, children: int = 2, bounds: ReaderLimits | None = None) -> None:
        need_extra("trafilatura", "feedparser", "pypdf")
        self._bounds = bounds or ReaderLimits()
        self._all = [_Child(self._bounds) for _ in range(children)]
        self._free: asyncio.Queue[_Child] = asyncio.Queue()
        for child in self._all:
            self._free.put_nowait(child)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the children."""
        for child in self._all:
            await child.stop()

    async def extract(self, job: ReadJob) -> ReadResult:
        """Reads one document; every one ends in a named outcome."""
        if len(job.body) > self._bounds.max_bytes:
            return ReadResult(outcome="size", reason=f"the document is larger than {self._bounds.max_bytes:,} bytes")
        child = await self._free.get()
        try:
            return await child.read(msgspec.msgpack.encode(job))
        finally:
            self._free.put_nowait(child)
