"""Estimate the remaining time for a run."""

from __future__ import annotations

import time
from collections.abc import Callable

# Minimum ratio of the largest to the smallest case size. Below this ratio, the fixed time per case cannot be separated
# from the time that depends on the size.
_MIN_SPREAD = 1.5


class TimeLeft:
    """Estimates the time for a model's pending cases from the cases that it has finished in this session.

    Sizes differ widely: a closed-book prompt has one line, and a prompt with documents fills a page. The time for a
    case is modelled as a + b x size with a, b >= 0, fitted to the latencies by least squares. Cached responses take no
    time, so they are ignored.

    Args:
        cases: The number of pending cases.
        size: The sum of their sizes, e.g. in characters of the prompt.
        clock: A monotonic clock in seconds.
    """

    def __init__(self, cases: int, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._cases, self._size = cases, size
        self._clock, self._started = clock, clock()
        self.finished = 0
        self._smallest, self._largest = float("inf"), 0.0
        self._sum_x = self._sum_y = self._sum_xx = self._sum_xy = 0.0

    def add(self, size: int, latency_s: float | None) -> None:
        """Count a case that the model has finished."""
        self.skip(size)
        y = latency_s or 0.0
        self.finished += 1
        self._smallest, self._largest = min(self._smallest, size), max(self._largest, size)
        self._sum_x += size
        self._sum_y += y
        self._sum_xx += size * size
        self._sum_xy += size * y

    def skip(self, size: int) -> None:
        """Count a case with a cached response, which took no time."""
        self._cases -= 1
        self._size -= size

    def seconds(self, in_flight: int = 1) -> float | None:
        """Return the time needed for the pending cases, or None if no case is finished yet.

        Args:
            in_flight: The number of concurrent cases. When a case finishes, the next one has just started, and the
                others are half done on average.
        """
        elapsed = self._clock() - self._started
        if not self.finished or elapsed <= 0:
            return None
        fixed, per_size = self._fit()
        done = fixed * self.finished + per_size * self._sum_x
        started = done / self.finished * max(0, min(in_flight - 1, self._cases)) / 2
        left = max(0.0, fixed * self._cases + per_size * self._size - started)
        return elapsed * left / (done + started)

    def _fit(self) -> tuple[float, float]:
        """Return the fixed time per case and the time per unit of size, up to a common factor."""
        n, mean_x = self.finished, self._sum_x / self.finished
        if self._largest < _MIN_SPREAD * self._smallest or self._sum_y <= 0:
            return mean_x or 1.0, 1.0
        slope = (self._sum_xy - mean_x * self._sum_y) / (self._sum_xx - mean_x * self._sum_x)
        fixed = self._sum_y / n - slope * mean_x
        if slope <= 0:
            return 1.0, 0.0
        return (fixed, slope) if fixed > 0 else (0.0, 1.0)
