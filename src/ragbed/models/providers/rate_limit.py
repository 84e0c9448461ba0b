"""How many calls a second a server lets through: free until it says 429, then just under what it let through.

After a refusal the rate becomes a little less than what got through lately. It then grows, slowly at first, since
the limit is most likely where it was, and ever faster the longer nothing is refused, since then it is not.
"""

from __future__ import annotations

_CUT = 0.96
"""After a refusal, of what was let through: the first seconds of growth then stay below the limit."""
_GROW, _GROW_CALLS = 0.01, 2500
"""By this share the rate grows in a second at first: it meets the same limit again after four seconds, with one
or two refusals, which is about one call in a hundred at fifty calls a second. Where fewer go it grows more slowly,
by one in 2,500 for each call, so that the share of refusals stays small there too."""
_DOUBLE_S = 3.0
"""Without a refusal for so long, growth doubles: ten times the rate is reached 18 s after a limit was lifted."""
_FASTEST = 0.5
_CATCH_UP = 1.0
"""Growth in a second while the rate is less than half of what was let through before the refusals."""
_FORGET = 0.8
"""What was let through before counts by so much less after each further refusal."""
_LEAST = 1.0
"""One call a second goes out even where all are refused, or nobody would notice the end of it."""
_LOOSE = 4.0
"""A valve that would let so many times more through than go is of no use, and is taken off."""
_CHANCE = 1
"""So many refusals among all that are counted are chance."""
_ONE_MESSAGE_S = 0.5
"""Refusals within so long are one message: they answer calls that were on their way already."""
_BUCKET_S, _BUCKETS, _SPAN_S = 0.25, 12, 0.5
"""What was let through is counted over three seconds: long enough for a stable rate, short enough to follow. At the
start at least half a second is taken, since the first calls go all at once."""
_SLACK_S = 0.05
"""A call may go so much early to make up for a late one; timers are never early, so the rate would not be reached."""
_USELESS, _SOON_S, _NOISE, _DEAF_S = 5, 2.0, 0.2, 30.0
"""Five cuts on each other's heels, and still some are refused, but no more than a fifth: then refusals have nothing
to do with the rate (a faulty server, or one that is shared), and slowing down is no use. For half a minute they
are not listened to unless they become twice as many."""


class RateLimiter:
    """The rate of one server."""

    def __init__(self) -> None:
        self.rate: float | None = None
        """Calls a second; None: no limit is known."""
        self._next = 0.0
        self._gone, self._refused = [0] * _BUCKETS, [0] * _BUCKETS
        self._bucket, self._first = -1, 0.0
        self._cut_at = self._grown_at = self._deaf_until = -1e9
        self._best = self._noise = 0.0
        self._useless, self._before = 0, 0.0

    @property
    def ready_at(self) -> float:
        """When the next call may go."""
        return 0.0 if self.rate is None else self._next - _SLACK_S

    def take(self, now: float) -> None:
        """A call goes. It counts as let through until it is refused: refusals come at once, replies may take long."""
        self._turn_to(now)
        self._gone[self._bucket % _BUCKETS] += 1
        if self.rate is not None:
            self._grow(now)
        if self.rate is not None:
            self._next = max(self._next, now) + 1 / self.rate

    def refused(self, now: float) -> None:
        """A call was refused for the rate."""
        self._turn_to(now)
        self._refused[self._bucket % _BUCKETS] += 1
        gone, refused = sum(self._gone), sum(self._refused)
        if now - self._cut_at < _ONE_MESSAGE_S or (refused <= _CHANCE and self.rate is None):
            return
        share = refused / max(gone, refused)
        if now < self._deaf_until and share <= 2 * self._noise:
            return
        if now - self._cut_at < _SOON_S and share <= _NOISE:
            self._useless += 1
        else:
            self._useless, self._before = 0, self.rate or 0.0
        if self._useless >= _USELESS:
            self._deaf_until, self._noise, self._useless = now + _DEAF_S, share, 0
            self.rate = self._before or None
        else:
            self._cut(now, max(0, gone - refused) / self._span(now))

    def _cut(self, now: float, measured: float) -> None:
        if self.rate is None:
            self.rate, self._next = max(measured, 1.0), now
        cut = min(measured, self.rate) * _CUT if measured else self.rate / 2
        self.rate = max(_LEAST, cut)
        self._best = max(measured, self._best * _FORGET)
        self._cut_at = self._grown_at = now

    def _grow(self, now: float) -> None:
        span = now - self._grown_at
        if self.rate is None or span < _BUCKET_S / 4:
            return
        slow = min(_GROW, self.rate / _GROW_CALLS)
        growth = min(_FASTEST, slow * 2.0 ** min(20.0, (now - self._cut_at) / _DOUBLE_S))
        if self.rate < self._best / 2:
            growth = _CATCH_UP
        self.rate *= 1 + growth * min(1.0, span)
        self._grown_at = now
        if self.rate > _LOOSE * max(_LEAST, sum(self._gone) / self._span(now)):
            self.rate = None

    def _span(self, now: float) -> float:
        """Seconds that the counts are about."""
        return min((_BUCKETS - 1) * _BUCKET_S + now % _BUCKET_S, max(_SPAN_S, now - self._first))

    def _turn_to(self, now: float) -> None:
        """Empties the buckets that time has passed over."""
        bucket = int(now / _BUCKET_S)
        if bucket == self._bucket:
            return
        if self._bucket < 0:
            self._first = now
        for stale in range(max(self._bucket + 1, bucket - _BUCKETS + 1), bucket + 1):
            self._gone[stale % _BUCKETS] = self._refused[stale % _BUCKETS] = 0
        self._bucket = bucket
