"""Bringing pinned files over HTTP: resumed where they were cut, checked, and under their names only when right.

What comes is written to a `.part` file beside the target, and stays there when a download is cut. A server
is believed in nothing: the pin decides. So no ETag is looked at, and a `.part` that is right needs no request.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import aiohttp

from ragbed import __version__
from ragbed.errors import DownloadError
from ragbed.io.http import RequestRefused, TransferInterrupted, hide_user, open_body, parse_url
from ragbed.io.pins import is_right, pin_of

_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class DownloadLimits:
    """How long and how much, for each file."""

    connect_s: float = 15
    """Until a connection stands, name look-up included."""
    idle_s: float = 30
    """Between two pieces of an answer."""
    total_s: float = 3600
    """For one file, all tries together: RGB's largest (11 MB) at 3 kB/s."""
    max_bytes: int = 64 << 20
    """For a file of unknown size: six times RGB's largest."""
    tries: int = 4
    """In a row that bring nothing new."""
    pause_s: float = 0.5
    """Before the second try; doubled before each further one."""
    redirects: int = 5
    at_once: int = 3
    """Files under way at the same time: enough to fill a line, few enough to be polite to one host."""


@dataclass(frozen=True)
class DownloadRequest:
    """One file to bring."""

    url: str
    path: Path
    """Where it goes; its folder exists."""
    pin: str
    """What its bytes must be; see `ragbed.io.pins`."""
    size: int | None = None
    """In bytes, where known."""


class Watcher(Protocol):
    """Who is told how it goes."""

    def advance(self, name: str, done: int, total: int | None) -> None:
        """So many bytes of a file are there, of so many if that is known."""

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        """A try failed; the next one begins after a pause."""


async def download_all(
    wanted: Sequence[DownloadRequest], watcher: Watcher, limits: DownloadLimits | None = None
) -> dict[Path, DownloadError]:
    """Brings files, a few at a time; one that fails does not stop the others.

    Returns:
        The failures, by target. Every other file is there, and is right.
    """
    chosen = limits or DownloadLimits()
    timeout = aiohttp.ClientTimeout(total=None, connect=chosen.connect_s, sock_read=chosen.idle_s)
    # A compressed answer could not be resumed, and its length would not be the file's.
    headers = {"User-Agent": f"ragbed/{__version__}", "Accept-Encoding": "identity"}
    failures: dict[Path, DownloadError] = {}
    gate, dead_hosts = asyncio.Semaphore(chosen.at_once), set[str | None]()

    async def bring(one: DownloadRequest) -> None:
        async with gate:
            try:
                await _Download(one, session, chosen, watcher, dead_hosts).bring()
            except DownloadError as error:
                failures[one.path] = error

    async with aiohttp.ClientSession(trust_env=True, timeout=timeout, headers=headers) as session:
        await asyncio.gather(*map(bring, wanted))
    return failures


@dataclass
class _Download:
    """One file on its way."""

    wanted: DownloadRequest
    session: aiohttp.ClientSession
    limits: DownloadLimits
    watcher: Watcher
    dead_hosts: set[str | None]
    """Hosts that could not be reached; files that have not begun yet do not wait for them again."""
    part: Path = field(init=False)

    def __post_init__(self) -> None:
        self.part = self.wanted.path.with_name(f"{self.wanted.path.name}.part")

    async def bring(self) -> None:
        """Downloads until the part is right, then gives it its name."""
        try:
            async with asyncio.timeout(self.limits.total_s):
                await self._fill_part()
            with open(self.part, "rb+") as whole:
                os.fsync(whole.fileno())
            self.part.replace(self.wanted.path)
        except RequestRefused as refusal:
            if refusal.stale:
                self.part.unlink(missing_ok=True)
            raise self._failure(str(refusal)) from refusal
        except TimeoutError as error:
            raise self._failure(f"it was not finished within {self.limits.total_s:g} s") from error
        except OSError as error:  # the network's errors are all Cut or Refused by now
            raise DownloadError(f"{self.part} cannot be written: {error.strerror or error}.") from error

    async def _fill_part(self) -> None:
        """Tries until the part is right, or too many tries in a row brought nothing new."""
        if await self._is_part_right():
            return
        tries, furthest, wrong = 0, 0, 0
        while True:
            cut = await self._try()
            if await self._is_part_right():  # also after a cut: some servers announce more than there is
                return
            if cut is None:
                wrong += 1
                self._discard_wrong(final=wrong == 2)
            else:
                size = self._size()
                tries, furthest = (1, size) if size > furthest else (tries + 1, furthest)
                await self._pause(cut, tries)

    async def _try(self) -> TransferInterrupted | None:
        try:
            await self._transfer()
        except TransferInterrupted as cut:
            if cut.stale:
                self.part.unlink(missing_ok=True)
            return cut
        return None

    async def _transfer(self) -> None:
        """One request: adds what comes to the part, until the answer ends in good order."""
        url = parse_url(self.wanted.url)
        if url.host in self.dead_hosts:
            raise RequestRefused(f"{url.host} could not be reached a moment ago")
        async with open_body(self.session, url, self._size(), self.limits.redirects) as body:
            done = body.start
            total = self.wanted.size
            if total is None and body.length is not None:
                total = done + body.length
                self._refuse_excess(total)
            # Unbuffered, so that an interrupt loses nothing that came.
            with open(self.part, "ab" if done else "wb", buffering=0) as sink:
                async for chunk in body.response.content.iter_chunked(_CHUNK_BYTES):
                    done += len(chunk)
                    self._refuse_excess(done)
                    rest = memoryview(chunk)
                    while rest:
                        rest = rest[sink.write(rest) :]
                    self.watcher.advance(self.wanted.path.name, done, total)
        if self.wanted.size is not None and done < self.wanted.size:
            raise TransferInterrupted(f"the answer ended after {done:,} of {self.wanted.size:,} bytes")

    async def _pause(self, cut: TransferInterrupted, tries: int) -> None:
        if tries >= self.limits.tries:
            if cut.unreachable:
                self.dead_hosts.add(parse_url(self.wanted.url).host)
            raise RequestRefused(f"{cut} ({tries} tries)") from cut
        pause_s = max(cut.pause_s, self.limits.pause_s * 2 ** (tries - 1))
        self.watcher.stumble(self.wanted.path.name, str(cut), pause_s)
        await asyncio.sleep(pause_s)

    async def _is_part_right(self) -> bool:
        return await asyncio.to_thread(is_right, self.part, self.wanted.pin, self.wanted.size)

    def _discard_wrong(self, *, final: bool) -> None:
        """Removes wrong bytes. Once may be an old part that a changed file was added to; twice is the server."""
        found, size = pin_of(self.part, self.wanted.pin), self._size()
        self.part.unlink()
        problem = f"what came ({size:,} bytes, {found}) is not the pinned file ({self.wanted.pin}) and was removed"
        if final:
            raise RequestRefused(f"{problem}; the source has changed, or something on the way changes it")
        self.watcher.stumble(self.wanted.path.name, problem, 0)

    def _refuse_excess(self, reached: int) -> None:
        most = self.limits.max_bytes if self.wanted.size is None else self.wanted.size
        if reached > most:
            raise RequestRefused(f"the server sends more than {most:,} bytes, so it is another file", stale=True)

    def _size(self) -> int:
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    def _failure(self, problem: str) -> DownloadError:
        kept = self._size()
        advice = f"The first {kept:,} bytes are kept; run the same command again to resume." if kept else ""
        what = f"{self.wanted.path.name} could not be downloaded from {hide_user(self.wanted.url)}"
        return DownloadError(f"{what}: {problem}. {advice}".rstrip())
