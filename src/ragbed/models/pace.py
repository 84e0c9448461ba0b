"""How fast a model is asked: as many calls at once as help, and no faster than the server allows.

Two valves. The number of calls in flight grows while more of them bring more replies, and shrinks when replies
only get slower. The rate is free until the server says 429; then it is what the server let through, and creeps up again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

START = 16
"""Calls in flight to begin with where the user named no number."""
_CUT = 0.97
"""After a 429 the rate becomes this share of what was let through: just under the limit, so that few are refused."""
_CREEP = 0.01
"""By this share the rate grows in a second without refusal: room that was added by half is found in forty seconds."""
_WINDOW_S = 2.0
"""Over this long the let-through rate is measured."""
_HELPS = 1.1
"""So much more must come through for a larger number of calls in flight to be kept."""


class Pace:
    """The valves of one model.

    Args:
        most: Calls in flight at the most.
        adaptive: Begin with few and find out how many help; otherwise begin with the most.
        per_s: A limit on requests per second that the user sets.
    """

    def __init__(self, most: int, *, adaptive: bool, per_s: float | None = None) -> None:
        self.most = most
        self._adaptive, self._ceiling = adaptive and most > START, per_s
        self._open = float(START if self._adaptive else most)
        self._flying = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._rate = per_s
        self._next_start = 0.0
        self._done: deque[float] = deque()
        self._last_cut = self._last_creep = 0.0
        self._round = (0.0, 0, 0.0)  # begun at, replies since, best rate so far

    async def enter(self) -> None:
        """Waits until a call may start."""
        while self._flying >= int(self._open):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                self._wake()
                raise
        self._flying += 1
        if self._rate is not None:
            try:
                await self._wait_turn()
            except asyncio.CancelledError:
                self.leave()
                raise

    def leave(self) -> None:
        """A call ended, however it did."""
        self._flying -= 1
        self._wake()

    def replied(self) -> None:
        """A call brought a reply."""
        now = time.monotonic()
        self._done.append(now)
        while self._done[0] < now - _WINDOW_S:
            self._done.popleft()
        if self._rate is not None:
            self._creep(now)
        elif self._adaptive:
            self._widen(now)

    def throttled(self) -> None:
        """The server refused a call for its rate."""
        now = time.monotonic()
        if now - self._last_cut < _WINDOW_S / 4:
            return  # one burst of refusals is one message
        let_through = [moment for moment in self._done if moment > now - _WINDOW_S]
        span = min(_WINDOW_S, max(0.25, now - let_through[0])) if let_through else _WINDOW_S
        measured = max(1.0, len(let_through)) / span
        self._rate = max(0.2, min(measured * _CUT, (self._rate or measured) * _CUT))
        self._last_cut = self._last_creep = now

    async def _wait_turn(self) -> None:
        now = time.monotonic()
        self._next_start = max(self._next_start, now) + 1 / (self._rate or 1.0)
        delay = self._next_start - 1 / (self._rate or 1.0) - now
        if delay > 0:
            await asyncio.sleep(delay)

    def _creep(self, now: float) -> None:
        if self._rate is not None and now > self._last_creep:
            self._rate *= 1 + _CREEP * min(1.0, now - self._last_creep)
            self._last_creep = now
            if self._ceiling is not None:
                self._rate = min(self._rate, self._ceiling)

    def _widen(self, now: float) -> None:
        """Once as many replies came as calls were open: keep the larger number if it helped."""
        begun, replies, best = self._round
        replies += 1
        if begun and replies < self._open:
            self._round = (begun, replies, best)
            return
        rate = replies / (now - begun) if begun and now > begun else 0.0
        if rate > best * _HELPS:
            self._open = min(self.most, self._open * 1.5)
            best = rate
            self._wake()
        elif rate and rate < best / _HELPS**2:
            self._open = max(START / 2, self._open * 0.8)
            best = rate
        self._round = (now, 0, best)

    def _wake(self) -> None:
        free = int(self._open) - self._flying
        while self._waiting and free > 0:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1
