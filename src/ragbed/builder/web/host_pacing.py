"""One request to a host at a time, and a pause between two; different hosts do not wait for each other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class _Lane:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free_at: float = 0.0


class HostPacer:
    """The lanes of all hosts.

    Args:
        interval_s: From the start of one request to a host to the start of the next.
        clock: Seconds that never go back.
    """

    def __init__(self, interval_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval_s, self._clock = interval_s, clock
        self._lanes: dict[str, _Lane] = {}

    @asynccontextmanager
    async def turn(self, host: str, interval_s: float = 0.0) -> AsyncIterator[None]:
        """Waits for a host's turn and holds it; `interval_s` is what the host itself asks for."""
        lane = self._lanes.setdefault(host, _Lane())
        async with lane.lock:
            await asyncio.sleep(max(0.0, lane.free_at - self._clock()))
            lane.free_at = self._clock() + max(self._interval_s, interval_s)
            yield

    def postpone(self, host: str, pause_s: float) -> None:
        """The host wants to be left alone for a while."""
        lane = self._lanes.setdefault(host, _Lane())
        lane.free_at = max(lane.free_at, self._clock() + pause_s)
