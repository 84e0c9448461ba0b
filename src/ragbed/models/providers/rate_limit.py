"""Find the request rate that a server allows.

The rate is unlimited until the server refuses a call with status 429. The limit is then set slightly below the rate of
accepted calls. After that, it grows slowly, because the server's limit is probably unchanged, and grows faster the
longer no call is refused, because the limit may have been lifted.
"""

from __future__ import annotations

# After a refusal, the rate is set to this share of the accepted rate, so that it stays below the limit for a few
# seconds.
_CUT = 0.96
# Initial relative growth of the rate per second. If the server's limit does not change, the rate reaches the limit
# every four seconds, and one or two calls are refused: about 1% of the calls at 50 calls per second. Below 25 calls
# per second, the rate grows by 1/2,500 per call instead, so that refusals are equally rare.
_GROW, _GROW_CALLS = 0.01, 2500
# The relative growth doubles every time this many seconds pass without a refusal. The request rate therefore increases
# tenfold within 18 s after a limit is lifted.
_DOUBLE_S = 3.0
_MAX_GROW = 0.5
# Relative growth of the rate per second while the rate is less than half of what it was before the refusals.
_CATCH_UP = 1.0
# The rate before the refusals is stored, and is multiplied by this factor after each further refusal.
_FORGET = 0.8
# Minimum rate, in calls per second. It applies even if all calls are refused, so that the server's recovery is
# detected. It is close to the lowest limits of providers, about 10 calls per minute: at a much higher rate, cases would
# run out of attempts.
_MIN_RATE = 0.2
# A limit that exceeds the actual rate by more than this factor has no effect, so it is removed.
_LOOSE = 4.0
# Up to this many refusals in the counting period are attributed to chance.
_CHANCE = 1
# Refusals within this many seconds count as one, because the refused calls were sent before the rate was reduced.
_SAME_REFUSAL_S = 0.5
# Calls are counted over three seconds, which is long enough for a stable rate and short enough to follow changes. At
# the start, they are counted over at least half a second, because the first calls are sent together.
_BUCKET_S, _BUCKETS, _MIN_SPAN_S = 0.25, 12, 0.5
# A call may be sent this many seconds early, to compensate for timers that fire late.
_SLACK_S = 0.05
# If five rate reductions follow each other quickly while at most a fifth of the calls are refused, refusals do not
# depend on the rate, e.g. because the server is faulty or shared. Ignore them for 30 seconds unless the refusal rate
# doubles.
_USELESS_CUTS, _SOON_S, _NOISE, _IGNORE_S = 5, 2.0, 0.2, 30.0


class RateLimiter:
    """Limits the calls per second to one server; the rate is None while no limit is known."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._next = 0.0
        self._sent, self._refused = [0] * _BUCKETS, [0] * _BUCKETS
        self._bucket, self._first = -1, 0.0
        self._cut_at = self._grown_at = self._ignore_until = -1e9
        self._best = self._noise = 0.0
        self._useless, self._before = 0, 0.0

    @property
    def ready_at(self) -> float:
        """The time at which the next call may be sent."""
        return 0.0 if self.rate is None else self._next - _SLACK_S

    def take(self, now: float) -> None:
        """Count a call. It counts as accepted unless it is refused later, because a response may take a long time."""
        self._advance(now)
        self._sent[self._bucket % _BUCKETS] += 1
        if self.rate is not None:
            self._grow(now, self.rate)
        if self.rate is not None:
            self._next = max(self._next, now) + 1 / self.rate

    def refused(self, now: float) -> None:
        """Count a call that was refused because of a rate limit."""
        self._advance(now)
        self._refused[self._bucket % _BUCKETS] += 1
        sent, refused = sum(self._sent), sum(self._refused)
        if now - self._cut_at < _SAME_REFUSAL_S or (refused <= _CHANCE and self.rate is None):
            return
        share = refused / max(sent, refused)
        if now < self._ignore_until and share <= 2 * self._noise:
            return
        if now - self._cut_at < _SOON_S and share <= _NOISE:
            self._useless += 1
        else:
            self._useless, self._before = 0, self.rate or 0.0
        if self._useless >= _USELESS_CUTS:
            self._ignore_until, self._noise, self._useless = now + _IGNORE_S, share, 0
            self.rate = self._before or None
        else:
            self._cut(now, max(0, sent - refused) / self._span(now))

    def _cut(self, now: float, accepted: float) -> None:
        if self.rate is None:
            self.rate, self._next = max(accepted, 1.0), now
        cut = min(accepted, self.rate) * _CUT if accepted else self.rate / 2
        self.rate = max(_MIN_RATE, cut)
        self._best = max(accepted, self._best * _FORGET)
        self._cut_at = self._grown_at = now

    def _grow(self, now: float, rate: float) -> None:
        span = now - self._grown_at
        if span < _BUCKET_S / 4:
            return
        slow = min(_GROW, rate / _GROW_CALLS)
        growth = min(_MAX_GROW, slow * 2.0 ** min(20.0, (now - self._cut_at) / _DOUBLE_S))
        if rate < self._best / 2:
            growth = _CATCH_UP
        rate *= 1 + growth * min(1 / _MIN_RATE, span)
        self._grown_at = now
        is_loose = rate > _LOOSE * max(_MIN_RATE, sum(self._sent) / self._span(now))
        self.rate = None if is_loose else rate

    def _span(self, now: float) -> float:
        return min((_BUCKETS - 1) * _BUCKET_S + now % _BUCKET_S, max(_MIN_SPAN_S, now - self._first))

    def _advance(self, now: float) -> None:
        """Clear the time buckets between the last call and now."""
        bucket = int(now / _BUCKET_S)
        if bucket == self._bucket:
            return
        if self._bucket < 0:
            self._first = now
        for stale in range(max(self._bucket + 1, bucket - _BUCKETS + 1), bucket + 1):
            self._sent[stale % _BUCKETS] = self._refused[stale % _BUCKETS] = 0
        self._bucket = bucket
