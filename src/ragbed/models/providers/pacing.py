"""How fast a model is asked: as many calls at once as help, no faster than its servers allow, and on which of them.

Each server has a lane with its own valves, since one may be slow or strict where another is not. A call goes to the
lane with most room; a lane whose server fails rests, as long as another one works.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ragbed.models.providers.concurrency import ConcurrencyControl
from ragbed.models.providers.rate_limit import RateLimiter

_REST_S, _REST_MOST_S = 1.0, 30.0
"""A lane rests a second after the first failure in a row, twice as long after each further one."""
_TOKENS_PER_BYTE = 0.3
"""Of a request in English or Chinese (four bytes a word piece, three a character), to begin with."""
_LEARN = 0.1


class ServerLane:
    """One server and how it is doing."""

    def __init__(self, width: ConcurrencyControl) -> None:
        self.width, self.valve = width, RateLimiter()
        self.flying = 0
        self.heard = False
        """Whether it ever answered at all."""
        self.rests_until = 0.0
        self._failures = 0

    def replied(self, now: float) -> None:
        """It gave a reply."""
        self.heard, self._failures, self.rests_until = True, 0, 0.0
        if self.valve.rate is None:  # behind a valve more calls at once bring nothing, whatever their number
            self.width.replied(now)

    def refused(self, now: float) -> None:
        """It wants fewer calls."""
        self.heard = True
        self.valve.refused(now)

    def failed(self, now: float, *, late: bool) -> None:
        """It is not well: no connection, no reply, an error of its own."""
        if late:
            self.width.strained()
        self._failures += 1
        self.rests_until = now + min(_REST_MOST_S, _REST_S * 2 ** (self._failures - 1))


class _Meter:
    """A limit that the user sets, in units a second, kept evenly."""

    def __init__(self, per_s: float | None) -> None:
        self._per_s, self.ready_at = per_s, 0.0

    def take(self, now: float, units: float) -> None:
        if self._per_s is not None:
            self.ready_at = max(self.ready_at, now) + units / self._per_s

    def correct(self, units: float) -> None:
        if self._per_s is not None:
            self.ready_at += units / self._per_s


@dataclass(eq=False)
class _Waiter:
    given: asyncio.Future[ServerLane]
    size: int
    avoid: ServerLane | None


class Pacer:
    """The valves of one model.

    Args:
        most: Calls at once at the most, over all servers.
        adaptive: Find out how many help; otherwise always the most.
        per_s: A limit on requests a second that the user sets.
        tokens_per_s: A limit on tokens a second that the user sets.
        servers: How many servers share the work.
        clock: Seconds that only go forwards.
    """

    def __init__(
        self, most: int, *, adaptive: bool = False, per_s: float | None = None, tokens_per_s: float | None = None,
        servers: int = 1, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.most, self.clock = most, clock
        each = -(-most // servers) if adaptive else most
        self.lanes = [ServerLane(ConcurrencyControl(each, adaptive=adaptive)) for _ in range(servers)]
        self._calls, self._tokens = _Meter(per_s), _Meter(tokens_per_s)
        self._counts_tokens, self._tokens_per_byte = tokens_per_s is not None, _TOKENS_PER_BYTE
        self._flying = 0
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, size: int = 0, avoid: ServerLane | None = None) -> ServerLane:
        """Waits until a call may start.

        Args:
            size: Bytes of the request.
            avoid: A lane to take only if no other has room, because it just failed.
        """
        if not self._waiting:
            lane = self._take(self.clock(), size, avoid)
            if lane is not None:
                return lane
        waiter = _Waiter(asyncio.get_running_loop().create_future(), size, avoid)
        self._waiting.append(waiter)
        self._serve()
        try:
            return await waiter.given
        except asyncio.CancelledError:
            if waiter.given.cancelled():
                if waiter in self._waiting:
                    self._waiting.remove(waiter)
            else:
                self.leave(waiter.given.result())
            raise

    def leave(self, lane: ServerLane) -> None:
        """A call ended, however it did."""
        lane.flying -= 1
        self._flying -= 1
        if self._waiting:
            self._serve()

    def spent(self, size: int, tokens: int) -> None:
        """A server says how many tokens a request of that size really took."""
        if self._counts_tokens and tokens > 0 and size > 0:
            self._tokens.correct(tokens - size * self._tokens_per_byte)
            self._tokens_per_byte += _LEARN * (tokens / size - self._tokens_per_byte)

    def _take(self, now: float, size: int, avoid: ServerLane | None) -> ServerLane | None:
        if self._flying >= self.most or self._calls.ready_at > now or self._tokens.ready_at > now:
            return None
        lane = self._choose(now, avoid)
        if lane is not None:
            lane.valve.take(now)
            self._calls.take(now, 1)
            self._tokens.take(now, size * self._tokens_per_byte)
            lane.flying += 1
            self._flying += 1
        return lane

    def _choose(self, now: float, avoid: ServerLane | None) -> ServerLane | None:
        lanes = self.lanes
        if len(lanes) > 1:
            # Where all rest, all are tried: waiting for none would help nobody.
            lanes = [lane for lane in lanes if lane.rests_until <= now] or lanes
        free = [lane for lane in lanes if lane.flying < lane.width.open and lane.valve.ready_at <= now]
        if len(free) > 1:
            return min(free, key=lambda lane: (lane is avoid, lane.flying / lane.width.open))
        return free[0] if free else None

    def _serve(self) -> None:
        """Lets go who can, in the order of coming, and sets a timer for the next."""
        now = self.clock()
        while self._waiting:
            waiter = self._waiting[0]
            if waiter.given.done():
                self._waiting.popleft()
                continue
            lane = self._take(now, waiter.size, waiter.avoid)
            if lane is None:
                self._set_timer(now)
                return
            self._waiting.popleft()
            waiter.given.set_result(lane)

    def _set_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        moments = [max(lane.valve.ready_at, lane.rests_until if len(self.lanes) > 1 else 0.0)
                   for lane in self.lanes if lane.flying < lane.width.open]  # fmt: skip
        if moments and self._flying < self.most:
            moment = max(self._calls.ready_at, self._tokens.ready_at, min(moments))
            if moment > now:
                self._timer = asyncio.get_running_loop().call_later(moment - now, self._serve)
