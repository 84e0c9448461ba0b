"""Extract text in child processes, so that a hostile document can crash only its own process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

import msgspec

from ragbed import environment
from ragbed.builder.web import MAX_PAGE_BYTES, need_extra
from ragbed.builder.web.documents import ReadJob, ReadResult
from ragbed.builder.web.reader_process import LENGTH_BYTES

_KILLED = -9
# Exit codes of a process that exceeded its CPU limit; SIGXCPU does not exist on Windows.
_TIME_IS_OVER = [-signal.Signals[name] for name in ("SIGXCPU",) if name in signal.Signals.__members__]
_EXIT_S = 5.0  # seconds to wait for the process to exit after its pipe has broken


@dataclass(frozen=True)
class ReaderLimits:
    """Resource limits for reading one document.

    Attributes:
        memory_bytes: Maximum address space of the child process. The libraries use 70 MB, and a 2 MB page another 60.
        cpu_s: Maximum CPU time per document. A 100 kB page takes 0.02 s.
        clock_s: Maximum wall-clock time, for busy machines and for documents that wait without using the CPU.
        max_bytes: Maximum size of a document.
        pages: Number of documents after which a child process is replaced, because parsers leak a little memory.
    """

    memory_bytes: int = 320 << 20
    cpu_s: int = 8
    clock_s: float = 60
    max_bytes: int = MAX_PAGE_BYTES
    pages: int = 2000


class _Child:
    """A child process that is started for the first document and restarted whenever it has exited."""

    def __init__(self, bounds: ReaderLimits) -> None:
        self._bounds = bounds
        self._process: Process | None = None
        self._read = 0

    async def read(self, job: bytes) -> ReadResult:
        """Read a document. If a reused child process crashes, retry in a fresh process."""
        used = self._process is not None
        reading = await self._try(job)
        if reading.outcome == "memory":
            await self.stop()  # use a new process for the next document, because memory may be fragmented
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
            return ReadResult(outcome="time", reason=f"reading took more than {self._bounds.clock_s:g} s")
        except (OSError, asyncio.IncompleteReadError):
            return await self._describe_exit(self._process)
        except asyncio.CancelledError:
            await self.stop()  # a process that keeps running would return this document's text for the next document
            raise

    async def _describe_exit(self, process: Process) -> ReadResult:
        try:
            async with asyncio.timeout(_EXIT_S):
                code = await process.wait()
            self._process = None
        except TimeoutError:  # the process closed its pipes but is still running
            await self.stop()
            code = _KILLED
        if code in _TIME_IS_OVER:
            return ReadResult(outcome="time", reason=f"reading took more than {self._bounds.cpu_s} s of CPU time")
        return ReadResult(outcome="crashed", reason=f"the document crashed the reader (exit code {code})")

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
        # Pass no other environment variables, because a process that reads hostile documents must not see API keys.
        env={
            **environment.required(),
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
    """A pool of child processes. Use it as `async with Extractor() as extractor`.

    Args:
        children: Number of documents to read at the same time, or None for the number of cores.
        bounds: Resource limits for one document.
    """

    def __init__(self, children: int | None = None, bounds: ReaderLimits | None = None) -> None:
        need_extra("trafilatura", "feedparser", "pypdf")
        self._bounds = bounds or ReaderLimits()
        self._all = [_Child(self._bounds) for _ in range(children or os.cpu_count() or 1)]
        self._free: asyncio.Queue[_Child] = asyncio.Queue()
        for child in self._all:
            self._free.put_nowait(child)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the child processes."""
        for child in self._all:
            await child.stop()

    async def extract(self, job: ReadJob) -> ReadResult:
        """Read a document; failures are reported as outcomes, not raised."""
        if len(job.body) > self._bounds.max_bytes:
            return ReadResult(outcome="size", reason=f"the document is larger than {self._bounds.max_bytes:,} bytes")
        child = await self._free.get()
        try:
            return await child.read(msgspec.msgpack.encode(job))
        finally:
            self._free.put_nowait(child)
