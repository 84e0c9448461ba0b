"""Measure a dataset or build folder, include the results of its review, and write quality reports to files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ragbed import __version__
from ragbed.analysis.statistics.testing import upper_bound
from ragbed.builder.build_context import listed_files
from ragbed.builder.funnel import draw_samples
from ragbed.builder.pipeline import read_state
from ragbed.builder.quality.measures import ItemMeasures, Measure, Quality
from ragbed.builder.quality.page import write_page
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular

PLACE = Path("review") / "reviewed.json"
SUFFIXES = (".html", ".json")
_SHOWN = 10  # maximum number of questions to show in each group (accepted, rejected)


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
            right = Measure(
                f"right items in review, {name}",
                "items in a random sample of unflagged items that the rater accepted unchanged",
                "RGB's documents were not reviewed (its issue 12)",
            )
            yield right.share(sample.sampled - sample.wrong, sample.sampled, _note(sample))
            meaning = "flagged items that the rater has reviewed"
            flagged = Measure(f"flagged items reviewed, {name}", meaning, "", "= 100%")
            yield flagged.share(sample.flagged_done, sample.flagged)


def _note(sample: ReviewSample) -> str:
    if not sample.sampled:
        return "no items reviewed yet"
    if sample.sampled == sample.drawn:
        return f"all {sample.drawn} reviewed"
    bound = 1 - upper_bound(sample.wrong, sample.sampled)
    return f"at least {bound:.1%} of the {sample.drawn} (one-sided 95%)"


def measure_quality(
    datasets: Iterable[Dataset], steps: Mapping[str, tuple[int, int]] | None = None, reviewed: Reviewed | None = None
) -> Quality:
    """Measure several datasets together in a single pass, one item at a time.

    Args:
        datasets: Datasets to measure.
        steps: Numbers of input and output records for each build step.
        reviewed: Results of a human review.
    """
    counts, hashes = ItemMeasures(), {}
    for dataset in datasets:
        hashes[dataset.name] = digest = dataset.sha256()
        # A build tests whether models know the answers to its questions. Files that have changed since the build, and
        # data from other sources, may be untested.
        path = dataset.path
        is_probed = isinstance(path, Path) and listed_files(path.parent).get(path.name) == digest
        for item in dataset.items():
            counts.add(item, is_probed=is_probed)
    families = {"labels": tuple(counts.labels()), "pools": tuple(counts.pools())}
    if reviewed is not None:
        families["people"] = tuple(review_measures(reviewed, hashes))
    return Quality(
        version=__version__,
        data=hashes,
        items=counts.items,
        passages=counts.passages,
        families=families,
        steps=dict(steps or {}),
    )


def measure(data: str) -> Quality:
    """Measure a dataset or a build folder; for a build, include its step counts and review results."""
    datasets, steps = _open(data)
    quality = measure_quality(datasets, steps, read_reviewed(Path(data)))
    return msgspec.structs.replace(quality, samples=_samples(Path(data))) if steps else quality


def _samples(folder: Path) -> tuple[tuple[str, str, str], ...]:
    accepted, rejected = draw_samples(folder, _SHOWN)
    rows = [("accepted", sample.question, sample.answer) for sample in accepted]
    return (*rows, *((sample.check, sample.question, sample.reason) for sample in rejected))


def check_report_path(path: Path) -> None:
    """Raise an error if a report path has a suffix other than .html or .json."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"out={path}: the name of the report file must end in {' or '.join(SUFFIXES)}.")


def write_quality(path: Path, quality: Quality) -> None:
    """Write a report as JSON or HTML, depending on the file's suffix."""
    with write_whole(path) as sink:
        if path.suffix.lower() == ".json":
            encoded = msgspec.json.encode(quality_values(quality))
            sink.write(msgspec.json.format(encoded, indent=1) + b"\n")
        else:
            sink.write(write_page(quality).encode())


def quality_values(quality: Quality) -> dict[str, Any]:
    """Return a quality report as a dictionary."""
    return {"quality": quality, "ok": not quality.failed}


def write_build_quality(folder: Path) -> Quality | None:
    """Write quality.html and quality.json to a build's folder; return None if the folder has no items."""
    if not any(folder.glob("*.jsonl")):
        return None
    quality = measure(str(folder))
    for suffix in SUFFIXES:
        write_quality(folder / f"quality{suffix}", quality)
    return quality


def _open(data: str) -> tuple[list[Dataset], dict[str, tuple[int, int]]]:
    """Return the datasets for a name or build folder, and the input and output counts of the build's steps."""
    folder = Path(data)
    if not folder.is_dir():
        return open_data([data]), {}
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{folder} contains no item files (*.jsonl). Choose a dataset or a build folder.")
    state = read_state(folder)
    steps = {name: (done.entered, done.made) for name, done in state.steps.items()} if state else {}
    return open_data([str(file) for file in files]), steps
