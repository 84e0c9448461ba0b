"""Download pinned files over HTTP and resume interrupted downloads.

Bytes go to a `.part` file next to the target. This file is kept after an interruption and renamed once it matches the
pin. Only the pin decides whether a file is correct, so ETags are ignored, and a complete `.part` file needs no
request. Our own client is needed because no library we know of resumes downloads, checks both kinds of pins and limits
file sizes.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import aiohttp
from yarl import URL

from ragbed.errors import DownloadError, explain_failed_write
from ragbed.io.http import PASSING, REDIRECTS, HttpClient, hide_user, next_hop, parse_url, read_pieces
from ragbed.io.pins import matches_pin, pin_of
from ragbed.io.retry import HttpFailure, RetryPolicy, capped_retry_after_s

_AT_ONCE = 3  # maximum number of concurrent downloads; enough to saturate a connection
_REDIRECTS = 5
_MAX_WRONG = 2  # number of complete files with wrong content after which the download fails
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")
# The limits for one file: the time limit suffices for RGB's largest file (11 MB) at 3 kB/s, and the maximum size of a
# file of unknown size is about six times that of RGB's largest file. Attempts with progress are not counted.
DOWNLOADING = RetryPolicy(connect_s=15, silence_s=30, item_s=3600, attempts=4, max_bytes=64 << 20)


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
    requests: Sequence[DownloadRequest], watcher: Watcher, policy: RetryPolicy = DOWNLOADING
) -> dict[Path, DownloadError]:
    """Download files, a few at a time; a failed download does not stop the others.

    Returns:
        The failures by path. All other files exist and match their pins.
    """
    failures: dict[Path, DownloadError] = {}
    slots, client = asyncio.Semaphore(_AT_ONCE), HttpClient(policy, trust_env=True)

    async def download(request: DownloadRequest) -> None:
        async with slots:
            try:
                await _Download(request, client, policy, watcher).run()
            except DownloadError as error:
                failures[request.path] = error

    try:
        await asyncio.gather(*map(download, requests))
    finally:
        await client.close()
    return failures


class _UselessPart(HttpFailure):
    """A failure after which the bytes received so far are useless."""


@dataclass
class _Download:
    request: DownloadRequest
    client: HttpClient
    policy: RetryPolicy
    watcher: Watcher

    def __post_init__(self) -> None:
        self.part = self.request.path.with_name(f"{self.request.path.name}.part")
        self.max_bytes = self.policy.max_bytes if self.request.size is None else self.request.size

    async def run(self) -> None:
        try:
            async with asyncio.timeout(self.policy.item_s):
                await self._complete_part()
            with open(self.part, "rb+") as complete:
                os.fsync(complete.fileno())
            self.part.replace(self.request.path)
        except HttpFailure as failure:
            raise self._failure(str(failure)) from failure
        except TimeoutError as error:
            raise self._failure(f"the download did not complete within {self.policy.item_s:g} s") from error
        except OSError as error:  # network errors have already been converted to other types
            raise DownloadError(f"{self.part} cannot be written: {explain_failed_write(error)}.") from error

    async def _complete_part(self) -> None:
        """Retry until the partial file matches its pin, or until too many consecutive attempts make no progress."""
        attempts, furthest, wrong = 0, 0, 0
        # Also check the file after a failure, because some servers announce more bytes than the file has.
        while not await self._is_complete():
            try:
                await self._transfer()
                if await self._is_complete():
                    return
                wrong += 1
                found = f"the downloaded file ({self._size():,} bytes, {pin_of(self.part, self.request.pin)})"
                problem = f"{found} did not match its pin ({self.request.pin}) and was deleted"
                cause = "the source or a proxy has modified the file"
                raise _UselessPart("protocol", f"{problem}; {cause}", again=wrong < _MAX_WRONG)
            except HttpFailure as failure:
                size = self._size()
                if isinstance(failure, _UselessPart):
                    self.part.unlink(missing_ok=True)
                attempts, furthest = (1, size) if size > furthest else (attempts + 1, furthest)
                if not failure.again:
                    raise
                if attempts >= self.policy.attempts:
                    raise HttpFailure(failure.kind, f"{failure} ({attempts} attempts)") from failure
                pause_s = self.policy.pause_s(attempts, failure.wait_s)
                self.watcher.stumble(self.request.path.name, str(failure), pause_s)
            await asyncio.sleep(pause_s)

    async def _is_complete(self) -> bool:
        return await asyncio.to_thread(matches_pin, self.part, self.request.pin, self.request.size)

    async def _transfer(self) -> None:
        request, url = self.request, parse_url(self.request.url)
        async with self._open(url) as response:
            done, total = _find_start(response, self._size()), request.size
            if total is None and response.content_length is not None and "Content-Encoding" not in response.headers:
                total = done + response.content_length
                self._check_size(total)
            with open(self.part, "ab" if done else "wb") as sink:
                async for chunk in read_pieces(response, self.max_bytes):
                    done += len(chunk)
                    self._check_size(done)
                    sink.write(chunk)
                    self.watcher.advance(request.path.name, done, total)
        if request.size is not None and done < request.size:
            raise HttpFailure("protocol", f"the response ended after {done:,} of {request.size:,} bytes", again=True)

    @asynccontextmanager
    async def _open(self, url: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """Request the part of the file that is missing, following redirects."""
        have = self._size()
        headers = {"Range": f"bytes={have}-"} if have else {}
        for _ in range(_REDIRECTS + 1):
            async with self.client.open("GET", url, headers) as response:
                if response.status not in REDIRECTS:
                    problem = f"the server returned HTTP {response.status} {response.reason or ''}".rstrip()
                    if response.status == 416:  # the partial download is longer than the file
                        raise _UselessPart("protocol", problem, again=True)
                    if response.status not in (200, 206):
                        is_passing = response.status in PASSING
                        raise HttpFailure(
                            "protocol", problem, again=is_passing, wait_s=capped_retry_after_s(response.headers)
                        )
                    yield response
                    return
                url = next_hop(url, response.headers.get("Location", ""))
        raise HttpFailure("protocol", f"there were more than {_REDIRECTS} redirects")

    def _check_size(self, size: int) -> None:
        if size > self.max_bytes:
            problem = f"the server sent more than {self.max_bytes:,} bytes, so this is not the expected file"
            raise _UselessPart("protocol", problem)

    def _size(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _failure(self, problem: str) -> DownloadError:
        kept = self._size()
        advice = f" The first {kept:,} bytes were kept; rerun the same command to resume." if kept else ""
        name, url = self.request.path.name, hide_user(self.request.url)
        return DownloadError(f"{name} could not be downloaded from {url}: {problem}.{advice}")


def _find_start(response: aiohttp.ClientResponse, have: int) -> int:
    """Return the offset of the first byte of a response, which may contain the whole file."""
    if response.status == 200:
        return 0
    sent = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    # Ranges of a compressed response refer to compressed bytes, which cannot be appended to uncompressed ones.
    if sent is None or int(sent[1]) != have or "Content-Encoding" in response.headers:
        raise _UselessPart("protocol", "the server sent a different byte range from the one requested", again=True)
    return have
