"""Find the best concurrency for calls to a server by trying higher and lower limits.

The number of responses per second is measured. A higher concurrency is kept if throughput clearly grows. A lower one is
kept if throughput hardly drops, because the additional calls would only wait in the server's queue and might time out.
"""

from __future__ import annotations

# The initial concurrency: half of the default maximum, so that a single trial shows whether the maximum is better.
START = 32
_UP, _DOWN = 2.0, 0.7
# Throughput must grow by this factor to justify higher concurrency; smaller differences are noise.
_MIN_GAIN = 1.1
# A lower concurrency is kept if at least this share of the previous throughput remains.
_MAX_LOSS = 0.95
# At first, throughput is measured over as many responses as there are concurrent calls, for a quick start. After the
# first failed trial, it is measured over twice as many responses and at least one second, because responses arrive in
# bursts.
_LONG_ROUND, _LONG_ROUND_S = 2, 1.0
# If at least this share of the calls time out, the server is considered overloaded, and the concurrency is reduced.
_MAX_LATE = 0.1
# Initial and maximum number of measurements between a failed trial and the next trial. The number doubles after each
# failed trial, so that trials become rarer.
_HOLD, _MAX_HOLD = 4, 64


class ConcurrencyControl:
    """Controls the number of concurrent calls to one server.

    Args:
        most: Maximum number of concurrent calls.
        adaptive: Whether to search for the best number; otherwise, the maximum is used.
    """

    def __init__(self, most: int, *, adaptive: bool) -> None:
        self.open, self._most = (min(START, most) if adaptive else most), most
        self._adaptive = adaptive and most > 1
        self._kept, self._kept_rate = self.open, 0.0
        self._trial, self._next_trial = 1.0, _UP
        self._hold, self._hold_for = 0, _HOLD
        self._found = False
        self._late = self._in_time = 0
        self._start_round(0.0, settle=False)

    def responded(self, now: float) -> None:
        """Count a response."""
        if not self._adaptive:
            return
        self._count += 1
        self._in_time += 1
        if self._count == self._settle:
            self._started = now
        elif self._is_round_complete(now):
            before = self.open
            self._judge((self._count - self._settle) / (now - self._started))
            self._start_round(now, settle=self.open != before)

    def timed_out(self) -> None:
        """Count a timeout, which may mean that the server is overloaded."""
        self._late += 1
        if self._adaptive and self._late >= _MAX_LATE * (self._late + self._in_time):
            self._late = self._in_time = self._count = 0
            self.open = self._kept = max(1, int(self.open * _DOWN))
            self._kept_rate, self._trial, self._hold = 0.0, 1.0, self._hold_for

    def _is_round_complete(self, now: float) -> bool:
        responses, span = self._count - self._settle, now - self._started
        if self._found:
            return responses >= _LONG_ROUND * self.open and span >= _LONG_ROUND_S
        return responses >= self.open and span > 0

    def _start_round(self, now: float, *, settle: bool) -> None:
        # The first responses after a change in concurrency are ignored, because their calls were sent before the
        # change.
        self._count, self._settle, self._started = 0, self.open if settle else 1, now

    def _judge(self, rate: float) -> None:
        if self._trial > 1 and rate >= self._kept_rate * _MIN_GAIN:
            self._keep(rate)
        elif self._trial < 1 and rate >= self._kept_rate * _MAX_LOSS:
            self._keep(max(rate, self._kept_rate))
        elif self._trial != 1:
            self._revert()
        else:
            self._kept_rate = rate
            self._hold -= 1
            if self._hold <= 0:
                self._try(self._next_trial)

    def _keep(self, rate: float) -> None:
        self._kept, self._kept_rate, self._hold_for = self.open, rate, _HOLD
        self._try(self._trial)

    def _revert(self) -> None:
        """Restore the previous concurrency, and try the opposite direction in the next trial.

        After the first failed trial, the next one starts without a pause.
        """
        self.open, self._next_trial = self._kept, _DOWN if self._trial > 1 else _UP
        self._hold = self._hold_for if self._found else 1
        self._hold_for = min(_MAX_HOLD, 2 * self._hold_for) if self._found else _HOLD
        self._trial, self._found = 1.0, True

    def _try(self, factor: float) -> None:
        self.open = min(self._most, max(1, int(self.open * factor)))
        self._trial = factor
        if self.open == self._kept:
            self._revert()
