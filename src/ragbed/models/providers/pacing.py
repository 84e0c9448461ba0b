"""Decide when a call to a model's server may start.

Two limits adapt to the server:

    window   concurrent calls:

             maximum ──── a tenth of the calls time out or take very long ────► 0.7 × as large
                 ▲                                                                  │
                 └────────── one more after as many calls in time ◄─────────────────┘

    rate     calls per second; there is no limit until the server refuses calls:

             unlimited ──── a fifth of the recent calls get status 429 ────► the rate that was accepted
                 ▲                                                              │    ▲
                 │                                                              ▼    │ again 429
                 └─── no refusals for a long time ◄─── grows slowly near the accepted rate, then ever faster

The user's limits on connections and on calls per minute apply as well.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

_DOWN = 0.7  # factor by which a window is reduced
_MAX_LATE = 0.1  # if at least this share of the calls time out or take very long, the server is overloaded
# Windows are not reduced below this number because of slow responses, which may be slow for another reason.
_MIN_SLOW_WINDOW = 8
# The rate is reduced if more than this share of the recent calls are refused. Fewer refusals may be independent of the
# rate, because other clients share the server.
_MAX_REFUSED = 0.2
_MAX_REFUSED_AGAIN = 0.12  # the same after a first reduction, so that the rate stays close to what is accepted
_CUT = 0.85
_MAX_GROWTH = 1.3  # the number of periods after which the limit has no effect any more
# Refusals within this many seconds count as one, because the refused calls were sent before the rate was reduced.
_SAME_REFUSAL_S = 0.5
_MEASURED_S = 2.0  # seconds over which the rate is measured while there is no limit
# The rate returns to the accepted rate after about half a period and reaches twice that after one and a half. A period
# has this many seconds and at least this many calls, so that refusals are rare at low rates, too.
_PERIOD_S, _PERIOD_CALLS = 10.0, 75.0
_MIN_RATE = 0.2  # calls per second, even if all calls are refused; close to the lowest limits of providers
_SLACK_S = 0.05  # a call may be sent this many seconds early, to compensate for timers that fire late


class Pacer:
    """Enforces the limits for calls to one model.

    Args:
        most: Maximum number of concurrent calls.
        slow_s: The time in seconds after which a response is very late, so that fewer concurrent calls are made; None
            to make as many concurrent calls as allowed in any case.
        per_s: The user's limit on requests per second.
        clock: A monotonic clock in seconds.

    Attributes:
        window: The number of concurrent calls that the server can handle.
        heard: Whether the server has ever sent any data.
    """

    def __init__(
        self, most: int, *, slow_s: float | None = None, per_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.most = self.window = most
        self.clock, self.heard = clock, False
        self._slow_s, self._fastest_s = slow_s, float("inf")
        self._late = self._in_time = self._grown = 0
        # The accepted rate, or None if no limit is known, and the time at which the next call may be sent.
        self._accepted: float | None = None
        self._ready_at = self._cut_at = 0.0
        self._refused = 0.0  # the share of refused calls among the recent ones
        self._sent, self._since = 0, 0.0  # calls sent since a time, while no limit is known
        self._call_s = 0.0 if per_s is None else 1 / per_s
        self._calls_at = 0.0  # the time at which the user's limit allows the next call
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self) -> None:
        """Wait until a call may start."""
        if not self._waiting and self._may_start(self.clock()):
            self._start(self.clock())
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    self._waiting.remove(turn)
            else:
                self.leave()
            raise

    def leave(self) -> None:
        """Mark a call as finished."""
        self._running -= 1
        if self._waiting:
            self._serve()

    def responded(self, took_s: float = 0.0) -> None:
        """Count a response and the time that it took."""
        self.heard = True
        self._count_refusal(self.clock(), 0.0)
        self._fastest_s = min(self._fastest_s, took_s)
        # If even the fastest response takes long, slow responses are normal for the model.
        if self._slow_s is not None and took_s > max(self._slow_s, 2 * self._fastest_s):
            self.count_late(least=min(self.window, _MIN_SLOW_WINDOW))
            return
        self._in_time += 1
        self._grown += 1
        if self.window < self.most and self._grown >= self.window:
            self.window, self._grown = self.window + 1, 0

    def refused(self) -> None:
        """Count a call that was refused because of a rate limit."""
        self.heard, now = True, self.clock()
        self._count_refusal(now, 1.0)
        most = _MAX_REFUSED if self._accepted is None else _MAX_REFUSED_AGAIN
        if self._refused <= most or now - self._cut_at < _SAME_REFUSAL_S:
            return
        rate = self._rate(now) or self._sent / max(_SAME_REFUSAL_S, now - self._since)
        self._accepted = max(_MIN_RATE, rate * (1 - self._refused))
        self._ready_at, self._cut_at, self._refused = max(self._ready_at, now), now, 0.0

    def count_late(self, least: int = 1) -> None:
        """Count a call that timed out or took very long, which may mean that the server is overloaded."""
        self._late += 1
        if self._slow_s is not None and self._late >= _MAX_LATE * (self._late + self._in_time):
            self.window = max(least, int(self.window * _DOWN))
            self._late = self._in_time = self._grown = 0

    def _rate(self, now: float) -> float | None:
        """Return the current limit in calls per second, or None if there is none."""
        if self._accepted is None:
            return None
        period_s = max(_PERIOD_S, _PERIOD_CALLS / self._accepted)
        growth = (now - self._cut_at) / period_s - (1 - _CUT) ** (1 / 3)
        if growth > _MAX_GROWTH:
            self._accepted, self._ready_at = None, 0.0
            return None
        return float(max(_MIN_RATE, self._accepted * (1 + growth**3)))

    def _count_refusal(self, now: float, refused: float) -> None:
        recent = min(50.0, max(8.0, self._rate(now) or 50.0))  # the calls of about a second
        self._refused += (refused - self._refused) / recent

    def _may_start(self, now: float) -> bool:
        return self._running < self.window and max(self._ready_at, self._calls_at) <= now

    def _start(self, now: float) -> None:
        self._running += 1
        self._calls_at = max(self._calls_at, now) + self._call_s
        if (rate := self._rate(now)) is not None:
            self._ready_at = max(self._ready_at, now - _SLACK_S) + 1 / rate
            return
        if now - self._since > _MEASURED_S:
            self._sent, self._since = 0, now
        self._sent += 1

    def _serve(self) -> None:
        now = self.clock()
        while self._waiting:
            turn = self._waiting[0]
            if not turn.done():
                if not self._may_start(now):
                    self._set_timer(now)
                    return
                self._start(now)
                turn.set_result(None)
            self._waiting.popleft()

    def _set_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_call = max(self._ready_at, self._calls_at)
        if self._running < self.window and next_call > now:
            self._timer = asyncio.get_running_loop().call_later(next_call - now, self._serve)
