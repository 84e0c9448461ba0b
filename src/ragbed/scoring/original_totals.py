"""Compute a run's totals as the original code defines them, each with its own denominator.

The original code ignores failed calls, adds correct answers to the refusals if all documents are noise, and counts a
refusal as a correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

Label: TypeAlias = Sequence[int]


@dataclass(frozen=True)
class OriginalRate:
    """A rate, given as the number of hits and the denominator."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The rate from 0 to 1, or None if the denominator is 0."""
        return self.hits / self.of if self.of else None


def original_rate(labels: Sequence[Label], noise: float) -> OriginalRate:
    """Return the original code's `all_rate`: the share of correct answers, including refusals at noise ratio 1."""
    hits = [(0 not in label and 1 in label) or (noise == 1 and label[0] == -1) for label in labels]
    return OriginalRate(sum(hits), len(labels))


def original_detection(flags: Sequence[bool]) -> OriginalRate:
    """Return the original code's `fact_check_rate`: the share of responses that contain the error phrase."""
    return OriginalRate(sum(flags), len(flags))


def original_correction(labels: Sequence[Label], flags: Sequence[bool]) -> OriginalRate:
    """Return the original code's `correct_rate`: the share of flagged responses that are correct or refusals."""
    flagged = [label for label, flag in zip(labels, flags, strict=True) if flag]
    return OriginalRate(sum(0 not in label for label in flagged), len(flagged))
