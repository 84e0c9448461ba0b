"""A run's totals as the original code and the paper define them, each with its own denominator.

The original code leaves failed calls out before it counts, adds right answers to the refusals where all documents are
noise, and counts a refusal as a correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Label = Sequence[int]


@dataclass(frozen=True)
class OriginalRate:
    """A share and what it is a share of."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """Between 0 and 1; None of nothing."""
        return self.hits / self.of if self.of else None


def original_rate(labels: Sequence[Label], noise: float) -> OriginalRate:
    """The original's `all_rate`: right answers; at noise 1 refusals and right answers together."""
    return OriginalRate(sum(is_right(label) or (noise == 1 and label[0] == -1) for label in labels), len(labels))


def original_detection(flags: Sequence[bool]) -> OriginalRate:
    """The original's `fact_check_rate`: replies with the phrase for factual errors."""
    return OriginalRate(sum(flags), len(flags))


def original_correction(labels: Sequence[Label], flags: Sequence[bool]) -> OriginalRate:
    """`correct_rate` of the original's first script: flagged replies without a missed slot, refusals included."""
    flagged = [label for label, flag in zip(labels, flags, strict=True) if flag]
    return OriginalRate(sum(0 not in label for label in flagged), len(flagged))


def correction(labels: Sequence[Label], detected: Sequence[bool]) -> OriginalRate:
    """CR of the paper: right answers among the replies in which an error was detected, by a judge (ED*) there."""
    found = [label for label, flag in zip(labels, detected, strict=True) if flag]
    return OriginalRate(sum(map(is_right, found)), len(found))


def share(marks: Sequence[bool]) -> OriginalRate:
    """Acc, Rej, Rej*, ED and ED* of the paper: marks among all replies."""
    return OriginalRate(sum(marks), len(marks))


def is_right(label: Label) -> bool:
    """Whether every slot was matched and nothing refused."""
    return 0 not in label and 1 in label
