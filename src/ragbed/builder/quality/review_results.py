"""Compute measures from a human review, whose results `ragbed review --apply` stores next to its output files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.analysis.statistics.testing import upper_bound
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.locations import read_regular

PLACE = Path("review") / "reviewed.json"


class ReviewSample(Struct, frozen=True, kw_only=True):
    """The results of reviewing one dataset, counted before fixes are applied.

    Attributes:
        sha256: Hash of the file that the review wrote.
        drawn: Number of items that no rule flagged, from which the sample was drawn.
        sampled: Number of sampled items that were reviewed.
        wrong: Number of sampled items that the rater fixed or rejected.
    """

    sha256: str
    items: int
    flagged: int
    flagged_done: int
    drawn: int
    sampled: int
    wrong: int


class Reviewed(Struct, frozen=True, kw_only=True):
    """The results of applying a review."""

    rater: str
    datasets: dict[str, ReviewSample]


def read_reviewed(folder: Path) -> Reviewed | None:
    """Return a folder's review results, or None if there was no review."""
    path = folder / PLACE
    try:
        return msgspec.json.decode(read_regular(path), type=Reviewed)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except MALFORMED_JSON as error:
        raise DataError(path, f"{error}; delete the file, or rerun `ragbed review --apply`") from error


def review_measures(reviewed: Reviewed, hashes: Mapping[str, str]) -> Iterator[Measure]:
    """Yield the measures for every dataset that has not changed since the review."""
    for name, sample in reviewed.datasets.items():
        if hashes.get(name) == sample.sha256:
            right = MeasureSpec(
                f"right items in review, {name}",
                "items in a random sample of unflagged items that the rater accepted unchanged",
                "RGB's documents were not reviewed (its issue 12)",
            )
            yield right.share(sample.sampled - sample.wrong, sample.sampled, _note(sample))
            meaning = "flagged items that the rater have reviewed"
            flagged = MeasureSpec(f"flagged items reviewed, {name}", meaning, "", QualityGate("=", 1))
            yield flagged.share(sample.flagged_done, sample.flagged)


def _note(sample: ReviewSample) -> str:
    if not sample.sampled:
        return "no items reviewed yet"
    if sample.sampled == sample.drawn:
        return f"all {sample.drawn} reviewed"
    bound = 1 - upper_bound(sample.wrong, sample.sampled)
    return f"at least {bound:.1%} of the {sample.drawn} (one-sided 95%)"
