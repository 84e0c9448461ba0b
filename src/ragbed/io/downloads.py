"""Download pinned files over HTTP and resume interrupted downloads.

Bytes go to a `.part` file next to the target. This file is kept after an interruption and renamed once it matches the
pin. Only the pin decides whether a file is correct, so ETags are ignored, and a complete `.part` file needs no
request. We wrote our own client because no library we know of resumes downloads, checks both kinds of pins and limits
file sizes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp

from ragbed import __version__
from ragbed.errors import DownloadError, explain_failed_write
from ragbed.io.http import RequestRefused, TransferInterrupted, hide_user, open_body, parse_url
from ragbed.io.pins import matches_pin, pin_of

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class DownloadLimits:
    """Limits for the download of a single file."""

    connect_s: float = 15  # connection timeout, including the DNS lookup
    idle_s: float = 30  # maximum pause between two chunks
    total_s: float = 3600  # time limit for all attempts, enough for RGB's largest file (11 MB) at 3 kB/s
    max_bytes: int = 64 << 20  # maximum size of a file of unknown size, about six times that of RGB's largest file
    tries: int = 4  # maximum number of consecutive attempts without progress
    pause_s: float = 0.5  # pause before the second attempt; doubled before each further attempt
    redirects: int = 5
    at_once: int = 3  # maximum number of concurrent downloads; enough to saturate a connection


@dataclass(frozen=True)
class DownloadRequest:
    """A file to download into an existing folder; `size` is in bytes, and `pin` is a hash as in `ragbed.io.pins`."""

    url: str
    path: Path
    pin: str
    size: int | None = None


class Watcher(Protocol):
    """Receives progress updates and errors during downloads."""

    def advance(self, name: str, done: int, total: int | None) -> None:
        """Handle a progress update: `done` bytes of a file have been downloaded, out of `total` if that is known."""

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        """Handle a failed attempt; the next attempt starts after `pause_s` seconds."""


async def download_all(
    requests: Sequence[DownloadRequest], watcher: Watcher, limits: DownloadLimits | None = None
) -> dict[Path, DownloadError]:
    """Download files, a few at a time; a failed download does not stop the others.

    Returns:
        The failures by path. All other files exist and match their pins.
    """
    limits = limits or DownloadLimits()
    timeout = aiohttp.ClientTimeout(total=None, connect=limits.connect_s, sock_read=limits.idle_s)
    # A compressed response could not be resumed, and its length would differ from the file size.
    headers = {"User-Agent": f"ragbed/{__version__}", "Accept-Encoding": "identity"}
    failures: dict[Path, DownloadError] = {}
    slots, dead_hosts = asyncio.Semaphore(limits.at_once), set[str | None]()

    async def download(request: DownloadRequest) -> None:
        async with slots:
            try:
                await _Download(request, session, limits, watcher, dead_hosts).run()
            except DownloadError as error:
                failures[request.path] = error

    async with aiohttp.ClientSession(trust_env=True, timeout=timeout, headers=headers) as session:
        await asyncio.gather(*map(download, requests))
    return failures


@dataclass
class _Download:
    request: DownloadRequest
    session: aiohttp.ClientSession
    limits: DownloadLimits
    watcher: Watcher
    dead_hosts: set[str | None]  # unreachable hosts; pending downloads from them are skipped

    def __post_init__(self) -> None:
        self.part = self.request.path.with_name(f"{self.request.path.name}.part")

    async def run(self) -> None:
        try:
            async with asyncio.timeout(self.limits.total_s):
                await self._complete_part()
            with open(self.part, "rb+") as complete:
                os.fsync(complete.fileno())
            self.part.replace(self.request.path)
        except RequestRefused as refusal:
            if refusal.stale:
                self.part.unlink(missing_ok=True)
            raise self._failure(str(refusal)) from refusal
        except TimeoutError as error:
            raise self._failure(f"the download did not complete within {self.limits.total_s:g} s") from error
        except OSError as error:  # network errors have already been converted to other types
            raise DownloadError(f"{self.part} cannot be written: {explain_failed_write(error)}.") from error

    async def _complete_part(self) -> None:
        """Retry until the partial file matches its pin, or until too many consecutive attempts make no progress."""
        tries, furthest, wrong = 0, 0, 0
        interruption: TransferInterrupted | None = None
        is_first = True
        # Also check the file after an interruption, because some servers announce more bytes than the file has.
        while not await self._is_part_right():
            if interruption is not None:
                size = self._size()
                tries, furthest = (1, size) if size > furthest else (tries + 1, furthest)
                await self._pause(interruption, tries)
            elif not is_first:
                wrong += 1
                self._discard_wrong(final=wrong == 2)
            interruption, is_first = await self._try(), False

    async def _try(self) -> TransferInterrupted | None:
        try:
            await self._transfer()
        except TransferInterrupted as interruption:
            if interruption.stale:
                self.part.unlink(missing_ok=True)
            return interruption
        return None

    async def _transfer(self) -> None:
        request, url = self.request, parse_url(self.request.url)
        if url.host in self.dead_hosts:
            raise RequestRefused(f"{url.host} could not be reached earlier and was not tried again")
        async with open_body(self.session, url, self._size(), self.limits.redirects) as body:
            done, total = body.start, request.size
            if total is None and body.length is not None:
                total = done + body.length
                self._check_size(total)
            # The file is unbuffered, so that no bytes are lost if the download is interrupted.
            with open(self.part, "ab" if done else "wb", buffering=0) as sink:
                async for chunk in body.response.content.iter_chunked(_CHUNK_BYTES):
                    done += len(chunk)
                    self._check_size(done)
                    rest = memoryview(chunk)
                    while rest:
                        rest = rest[sink.write(rest) :]
                    self.watcher.advance(request.path.name, done, total)
        if request.size is not None and done < request.size:
            raise TransferInterrupted(f"the response ended after {done:,} of {request.size:,} bytes")

    async def _pause(self, interruption: TransferInterrupted, tries: int) -> None:
        if tries >= self.limits.tries:
            if interruption.unreachable:
                self.dead_hosts.add(parse_url(self.request.url).host)
            raise RequestRefused(f"{interruption} ({tries} attempts)") from interruption
        pause_s = max(interruption.pause_s, self.limits.pause_s * 2 ** (tries - 1))
        self.watcher.stumble(self.request.path.name, str(interruption), pause_s)
        await asyncio.sleep(pause_s)

    async def _is_part_right(self) -> bool:
        return await asyncio.to_thread(matches_pin, self.part, self.request.pin, self.request.size)

    def _discard_wrong(self, *, final: bool) -> None:
        """Delete a partial file that differs from its pin; report the mismatch, or raise an error if `final` is set."""
        found, size = pin_of(self.part, self.request.pin), self._size()
        self.part.unlink()
        problem = (
            f"the downloaded file ({size:,} bytes, {found}) did not match its pin ({self.request.pin}) and was deleted"
        )
        if final:
            raise RequestRefused(f"{problem}; the source or a proxy has modified the file")
        self.watcher.stumble(self.request.path.name, problem, 0)

    def _check_size(self, size: int) -> None:
        most = self.limits.max_bytes if self.request.size is None else self.request.size
        if size > most:
            raise RequestRefused(
                f"the server sent more than {most:,} bytes, so this is not the expected file",
                stale=True,
            )

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _failure(self, problem: str) -> DownloadError:
        kept = self._size()
        advice = f" The first {kept:,} bytes were kept; rerun the same command to resume." if kept else ""
        name, url = self.request.path.name, hide_user(self.request.url)
        return DownloadError(f"{name} could not be downloaded from {url}: {problem}.{advice}")
