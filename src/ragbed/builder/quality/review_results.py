"""What people found when they looked: read from what `ragbed review --apply` leaves beside the files it writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.analysis.statistics.binomial import upper_bound
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.locations import read_regular

PLACE = Path("review") / "reviewed.json"


class ReviewSample(Struct, frozen=True, kw_only=True):
    """How one dataset was looked at, before anything was fixed in it."""

    sha256: str
    """Of the file that came of it."""
    items: int
    flagged: int
    flagged_done: int
    drawn: int
    """Items that were not flagged, of which some were drawn."""
    sampled: int
    wrong: int
    """Of those that were drawn and looked at, those that had to be fixed or rejected."""


class Reviewed(Struct, frozen=True, kw_only=True):
    """A review that was applied."""

    people: tuple[str, ...]
    raters: int
    """How many decided each item."""
    kappa: float | None
    """Cohen's, of whether an item can stay as it is; None with one rater, and where both say the same of all."""
    datasets: dict[str, ReviewSample]


def read_reviewed(folder: Path) -> Reviewed | None:
    """What people found in a folder's data; None if they did not look."""
    path = folder / PLACE
    try:
        return msgspec.json.decode(read_regular(path), type=Reviewed)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except MALFORMED_JSON as error:
        raise DataError(path, f"{error}; move it away, or apply the review again") from error


def tell_people(reviewed: Reviewed, hashes: Mapping[str, str]) -> Iterator[Measure]:
    """The figures of every dataset that is still what the review left."""
    for name, one in reviewed.datasets.items():
        if hashes.get(name) == one.sha256:
            yield _wrong(name).share(one.wrong, one.sampled, _note(one, reviewed))
            yield _looked_at(name).share(one.flagged_done, one.flagged)


def _wrong(name: str) -> MeasureSpec:
    meaning = "items of a random sample of those that no rule flagged, that people had to fix or reject; they did"
    return MeasureSpec(f"wrong items by people, {name}", meaning, "RGB's documents were not reviewed (its issue 12)")


def _looked_at(name: str) -> MeasureSpec:
    return MeasureSpec(
        f"flagged items reviewed, {name}", "items that a rule flagged, and that people decided", "", QualityGate("=", 1)
    )


def _note(one: ReviewSample, reviewed: Reviewed) -> str:
    agreed = "" if reviewed.kappa is None else f"; κ {reviewed.kappa:.2f}"
    if not one.sampled:
        return f"nobody has looked yet{agreed}"
    if one.sampled == one.drawn:
        return f"all {one.drawn} were looked at{agreed}"
    bound = upper_bound(one.wrong, one.sampled)
    return f"at most {bound:.1%} of the {one.drawn} (one-sided 95 %){agreed}"
