"""What the tests of downloads share: one file, its pin, and how it is asked for."""

from __future__ import annotations

import asyncio
import hashlib
import random
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.errors import DownloadError
from ragbed.io.downloads import DownloadRequest, download_all
from ragbed.io.retry import RetryPolicy
from tests.servers.faulty_site import FaultServer

CONTENT = random.Random(0).randbytes(200_000)
SIZE = len(CONTENT)
PIN = "git:" + hashlib.sha1(b"blob 200000\0" + CONTENT).hexdigest()
QUICK = RetryPolicy(silence_s=10, item_s=30, max_bytes=2 * SIZE, attempts=3, first_pause_s=0.001)


@dataclass
class Notes:
    """A watcher that remembers."""

    steps: list[tuple[str, int, int | None]] = field(default_factory=list)
    stumbles: list[str] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def advance(self, name: str, done: int, total: int | None) -> None:
        self.steps.append((name, done, total))
        self.moved.set()

    def stumble(self, name: str, problem: str, pause_s: float) -> None:
        self.stumbles.append(f"{name}: {problem}")


def want(server: FaultServer, folder: Path, size: int | None = None) -> DownloadRequest:
    return DownloadRequest(server.url("en.json"), folder / "en.json", PIN, size)


def bring(wanted: DownloadRequest, notes: Notes | None = None, limits: RetryPolicy = QUICK) -> DownloadError | None:
    return asyncio.run(download_all([wanted], notes or Notes(), limits)).get(wanted.path)
