"""How many calls at once help: found by trying more and fewer, and keeping what brings the same for less.

The measure is replies a second. A larger number is kept if clearly more replies come; a smaller one if hardly
fewer do, because then the others only waited in the server's queue, where they run into deadlines.
"""

from __future__ import annotations

START = 32
"""Calls at once to begin with: half of the default at the most, so that one trial shows whether the rest helps."""
_UP, _DOWN = 2.0, 0.7
_HELPS = 1.1
"""So many times the replies a second make a larger number worth keeping; less is within the noise."""
_COSTS = 0.95
"""Of the replies a second, a smaller number may lose so few."""
_LONG, _LONG_S = 2, 1.0
"""A round is as many replies as calls are open at first, to begin quickly; after the first trial that failed twice as
many and a second at least: replies come in bursts, and half a burst more or less must not decide."""
_LATE = 0.1
"""So large a share of calls without a reply in time means that there are too many; fewer are the server's faults."""
_HOLD, _HOLD_MOST = 4, 64
"""Rounds without a trial after one that failed; twice as many each time, so that trials cost less and less."""


class ConcurrencyControl:
    """The number of calls at once for one server.

    Args:
        most: It never becomes larger.
        adaptive: Whether it is looked for; otherwise it is always the most.
    """

    def __init__(self, most: int, *, adaptive: bool) -> None:
        self.open, self._most = (min(START, most) if adaptive else most), most
        self._adaptive = adaptive and most > 1
        self._kept, self._kept_rate = self.open, 0.0
        self._trial, self._next_trial = 1.0, _UP
        self._hold, self._hold_for = 0, _HOLD
        self._found = False
        self._late = self._in_time = 0
        self._begin(0.0, settle=False)

    def replied(self, now: float) -> None:
        """A reply came."""
        if not self._adaptive:
            return
        self._count += 1
        self._in_time += 1
        if self._count == self._settle:
            self._begun = now
        elif self._is_round(now):
            before = self.open
            self._judge((self._count - self._settle) / (now - self._begun))
            self._begin(now, settle=self.open != before)

    def strained(self) -> None:
        """A call got no reply in time: the server may have too much to do."""
        self._late += 1
        if self._adaptive and self._late >= _LATE * (self._late + self._in_time):
            self._late = self._in_time = 0
            self.open = self._kept = max(1, int(self.open * _DOWN))
            self._kept_rate, self._trial, self._hold = 0.0, 1.0, self._hold_for
            self._count = 0

    def _is_round(self, now: float) -> bool:
        replies, span = self._count - self._settle, now - self._begun
        if self._found:
            return replies >= _LONG * self.open and span >= _LONG_S
        return replies >= self.open and span > 0

    def _begin(self, now: float, *, settle: bool) -> None:
        # The first replies after a change answer calls that went out before it.
        self._count, self._settle, self._begun = 0, self.open if settle else 1, now

    def _judge(self, rate: float) -> None:
        if self._trial > 1 and rate >= self._kept_rate * _HELPS:
            self._keep(rate)
        elif self._trial < 1 and rate >= self._kept_rate * _COSTS:
            self._keep(max(rate, self._kept_rate))
        elif self._trial != 1:
            self._give_up()
        else:
            self._kept_rate = rate
            self._hold -= 1
            if self._hold <= 0:
                self._try(self._next_trial)

    def _keep(self, rate: float) -> None:
        self._kept, self._kept_rate, self._hold_for = self.open, rate, _HOLD
        self._try(self._trial)

    def _give_up(self) -> None:
        """Back to what was kept; the other direction is next, at once after the first failure of all."""
        self.open, self._next_trial = self._kept, _DOWN if self._trial > 1 else _UP
        self._hold = self._hold_for if self._found else 1
        self._hold_for = min(_HOLD_MOST, 2 * self._hold_for) if self._found else _HOLD
        self._trial, self._found = 1.0, True

    def _try(self, factor: float) -> None:
        self.open = min(self._most, max(1, int(self.open * factor)))
        self._trial = factor
        if self.open == self._kept:
            self._give_up()
