"""Decide when to send a call and to which server.

Each server has a lane with its own concurrency and rate limit, because servers may differ in speed and limits. A call
goes to the lane with the most free capacity; a lane whose server fails is paused while others continue. We implement
this ourselves, because no library supports several servers with unknown limits.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from ragbed.models.providers.concurrency import ConcurrencyControl
from ragbed.models.providers.rate_limit import RateLimiter

# Initial and maximum length of a pause, in seconds, after a server fails. The pause doubles after each further failure.
_PAUSE_S, _MAX_PAUSE_S = 1.0, 30.0
# Initial estimate of the number of tokens per byte of a request: English has about four bytes per token, and Chinese
# has three bytes per character.
_TOKENS_PER_BYTE = 0.3
_LEARNING_RATE = 0.1


class ServerLane:
    """The state of one server; `heard` is true once the server has sent any data."""

    def __init__(self, concurrency: ConcurrencyControl) -> None:
        self.concurrency, self.rate_limiter = concurrency, RateLimiter()
        self.running = 0
        self.heard = False
        self.paused_until = 0.0
        self._failures = 0

    def responded(self, now: float) -> None:
        """Count a response."""
        self.heard, self._failures, self.paused_until = True, 0, 0.0
        if self.rate_limiter.rate is None:  # if the rate is limited, throughput does not depend on the concurrency
            self.concurrency.responded(now)

    def refused(self, now: float) -> None:
        """Count a call that was refused because of a rate limit."""
        self.heard = True
        self.rate_limiter.refused(now)

    def failed(self, now: float, *, late: bool) -> None:
        """Count a server failure: no connection, no response, or a server error."""
        if late:
            self.concurrency.timed_out()
        self._failures += 1
        self.paused_until = now + min(_MAX_PAUSE_S, _PAUSE_S * 2 ** (self._failures - 1))


class _Meter:
    """A rate limit set by the user, in calls or tokens per second."""

    def __init__(self, per_s: float | None) -> None:
        self._per_s, self.ready_at = per_s, 0.0

    def take(self, now: float, units: float) -> None:
        if self._per_s is not None:
            self.ready_at = max(self.ready_at, now) + units / self._per_s

    def least_s(self, units: float) -> float:
        return 0.0 if self._per_s is None else units / self._per_s

    def correct(self, units: float) -> None:
        if self._per_s is not None:
            self.ready_at += units / self._per_s


class _Waiter(Struct, eq=False):
    lane: asyncio.Future[ServerLane]
    size: int
    avoid: ServerLane | None


class Pacer:
    """Enforces the limits for calls to one model.

    Args:
        most: Maximum number of concurrent calls to all servers together.
        adaptive: Whether to search for the best concurrency; otherwise, the maximum is used.
        per_s: The user's limit on requests per second.
        tokens_per_s: The user's limit on tokens per second.
        servers: The number of servers.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self, most: int, *, adaptive: bool = False, per_s: float | None = None, tokens_per_s: float | None = None,
        servers: int = 1, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.most, self.clock = most, clock
        each = -(-most // servers) if adaptive else most
        self.lanes = [ServerLane(ConcurrencyControl(each, adaptive=adaptive)) for _ in range(servers)]
        self._calls, self._tokens = _Meter(per_s), _Meter(tokens_per_s)
        self._tokens_per_byte = _TOKENS_PER_BYTE
        self._running = 0
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, size: int = 0, avoid: ServerLane | None = None) -> ServerLane:
        """Wait until a call may start, and return the `ServerLane` of the server to call.

        Args:
            size: Size of the request in bytes.
            avoid: A lane that has just failed; it is used only if no other lane has free capacity.
        """
        if not self._waiting:
            lane = self._take(self.clock(), size, avoid)
            if lane is not None:
                return lane
        waiter = _Waiter(asyncio.get_running_loop().create_future(), size, avoid)
        self._waiting.append(waiter)
        self._serve()
        try:
            return await waiter.lane
        except asyncio.CancelledError:
            if not waiter.lane.cancelled():
                self.leave(waiter.lane.result())
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def leave(self, lane: ServerLane) -> None:
        """Mark a call as finished."""
        lane.running -= 1
        self._running -= 1
        if self._waiting:
            self._serve()

    def least_s(self, calls: int, tokens: int) -> float:
        """Return the minimum number of seconds that calls take because of the user's rate limits."""
        return max(self._calls.least_s(calls), self._tokens.least_s(tokens))

    def estimate_tokens(self, size: int) -> float:
        """Return the estimated number of tokens of a request and its response; the estimate changes with responses."""
        return size * self._tokens_per_byte

    def correct_tokens(self, size: int, estimate: float, tokens: int) -> None:
        """Replace the number of tokens that was estimated when a request was sent with the number reported for it."""
        if tokens > 0 and size > 0:
            self._tokens.correct(tokens - estimate)
            self._tokens_per_byte += _LEARNING_RATE * (tokens / size - self._tokens_per_byte)

    def _take(self, now: float, size: int, avoid: ServerLane | None) -> ServerLane | None:
        if self._running >= self.most or self._calls.ready_at > now or self._tokens.ready_at > now:
            return None
        lane = self._choose(now, avoid)
        if lane is not None:
            lane.rate_limiter.take(now)
            self._calls.take(now, 1)
            self._tokens.take(now, self.estimate_tokens(size))
            lane.running += 1
            self._running += 1
        return lane

    def _choose(self, now: float, avoid: ServerLane | None) -> ServerLane | None:
        lanes = self.lanes
        if len(lanes) > 1:
            # If all lanes are paused, choose among all of them.
            lanes = [lane for lane in lanes if lane.paused_until <= now] or lanes
        free = [lane for lane in lanes if lane.running < lane.concurrency.open and lane.rate_limiter.ready_at <= now]
        if len(free) > 1:
            return min(free, key=lambda lane: (lane is avoid, lane.running / lane.concurrency.open))
        return free[0] if free else None

    def _serve(self) -> None:
        now = self.clock()
        while self._waiting:
            waiter = self._waiting[0]
            if not waiter.lane.done():
                lane = self._take(now, waiter.size, waiter.avoid)
                if lane is None:
                    self._set_timer(now)
                    return
                waiter.lane.set_result(lane)
            self._waiting.popleft()

    def _set_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ready = [max(lane.rate_limiter.ready_at, lane.paused_until if len(self.lanes) > 1 else 0.0)
                 for lane in self.lanes if lane.running < lane.concurrency.open]  # fmt: skip
        if ready and self._running < self.most:
            next_call = max(self._calls.ready_at, self._tokens.ready_at, min(ready))
            if next_call > now:
                self._timer = asyncio.get_running_loop().call_later(next_call - now, self._serve)
