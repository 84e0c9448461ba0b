"""Measure the quality of a dataset, compare it with RGB's values and check gates (docs/reference/build.md)."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragbed import __version__
from ragbed.analysis.statistics.rates import wilson
from ragbed.analysis.statistics.testing import upper_bound
from ragbed.builder.build_context import listed_files
from ragbed.builder.pipeline import read_state
from ragbed.builder.statements import STANCES, label_again
from ragbed.data import Dataset, kind_of
from ragbed.data.catalog import open_data
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Item, Lang

Passed: TypeAlias = Literal["passed", "failed", "not measured", "no gate"]
# Maximum number of passages to relabel. Relabelling this many takes about two minutes; the report states how many
# were relabelled.
MAX_LABELLED = 50_000


class Measure(Struct, frozen=True):
    """A row in a quality report: the definition of a measure (docs/reference/build.md), and its value if measured."""

    name: str
    meaning: str
    reference: str = ""  # RGB's value, or the reason why there is none
    gate: str | None = None  # limit for the value, e.g. "≥ 99%"
    value: float | None = None  # None if the value cannot be measured; `note` states why
    hits: int | None = None  # numerator of a share; None for other values
    n: int = 0  # denominator, or sample size
    low: float | None = None  # lower limit of the 95% Wilson interval for a share
    high: float | None = None
    passed: Passed = "no gate"
    note: str = ""

    def share(self, hits: int, n: int, note: str = "") -> Measure:
        """Return the measure with the value of a share and its confidence interval; the value is None if n is 0."""
        value, low, high = wilson(hits, n) if n else (None, None, None)
        passed: Passed = "no gate"
        if self.gate is not None:
            sign, bound = self.gate.rstrip("%").split()
            compare = {"≥": operator.ge, "≤": operator.le, "=": operator.eq}[sign]
            is_met = n > 0 and compare(hits / n, float(bound) / 100)
            passed = "not measured" if not n else "passed" if is_met else "failed"
        return replace(self, value=value, hits=hits, n=n, low=low, high=high, passed=passed, note=note)


_GIVES = Measure(
    "label agreement, supporting",
    "supporting passages that state the answer by ragbed's rule: in some form, asserted, and near the question's words",
    "by the same rule zh_refine 2,479/2,571, en_fact 328/395",
    "≥ 95%",
)
_CLEAR = Measure(
    "label agreement, distracting",
    "distracting passages without the answer in any form that the rules recognise ($44bn, 27/10/2017, a family name)",
    "by the same rule zh_refine 5,110/5,144, en_fact 517/594",
    "≥ 99%",
)
_KNOWN = Measure(
    "answers found without documents",
    "base and integration items that a reference model answered without documents during the build",
    "not published for base items",
    "≤ 10%",
)
_LENGTHS: dict[Lang, Measure] = {
    "en": Measure("passage length (en)", "median number of words", "en_fact 28"),
    "zh": Measure("passage length (zh)", "median number of characters", "zh_refine 208; zh_int 215; zh_fact 93"),
}
_DUPLICATES = Measure(
    "duplicate rate",
    "passages that are near or exact duplicates of an earlier one in the item (5-character n-grams, containment ≥ 0.8)",
    "zh_refine 1,070/7,715 = 13.9%; zh_int 941/5,762 = 16.3%; en_fact 5/989; zh_fact 11/948",
    "≤ 2%",
)


class ItemMeasures:
    """The counts for all items of one or more datasets."""

    def __init__(self) -> None:
        self.items = self.passages = 0
        self._counts: Counter[str] = Counter()
        self._lengths: dict[Lang, list[int]] = {"en": [], "zh": []}

    def add(self, item: Item, *, is_probed: bool) -> None:
        """Add one item.

        Args:
            item: The item.
            is_probed: Whether models were asked the question without documents when the dataset was built.
        """
        self.items += 1
        if kind_of(item) != "counterfactual":
            self._counts["probed"] += is_probed or bool(item.known_by)
            self._counts["known"] += bool(item.known_by)
        pooled = [passage for passage in item.passages if passage.stance != "contradicts"]
        for place, near in enumerate(find_near([passage.text for passage in pooled])):
            text = pooled[place].text
            self._lengths[item.lang].append(len(text) if item.lang == "zh" else len(text.split()))
            self._counts["copies"] += any(other < place for other in near)
        for passage in pooled if self.passages < MAX_LABELLED else ():
            self._counts[passage.stance] += 1
            self._counts["reviewed"] += passage.reviewed
            is_right = passage.reviewed or STANCES[label_again(item, passage).label] == passage.stance
            self._counts[f"{passage.stance} right"] += is_right
        self.passages += len(item.passages)

    def labels(self) -> Iterator[Measure]:
        """Yield the measures of labels and prior knowledge."""
        counts = self._counts
        people = f"{counts['reviewed']:,} labels set by people count as correct" if counts["reviewed"] else "by rules"
        yield _GIVES.share(counts["supports right"], counts["supports"], people)
        yield _CLEAR.share(counts["distracts right"], counts["distracts"], people)
        unknown = "" if counts["probed"] else "unknown for this dataset; run the closed-book testbed"
        yield _KNOWN.share(counts["known"], counts["probed"], unknown)

    def pools(self) -> Iterator[Measure]:
        """Yield the measures of lengths and duplicates."""
        for lang, lengths in self._lengths.items():
            if lengths:
                yield replace(_LENGTHS[lang], value=median(lengths), n=len(lengths), note=f"longest {max(lengths):,}")
        yield _DUPLICATES.share(self._counts["copies"], sum(map(len, self._lengths.values())))


class Quality(Struct, frozen=True, kw_only=True):
    """A quality report."""

    version: str  # version of ragbed
    data: dict[str, str]  # SHA-256 hash of each dataset's file, by dataset name
    items: int
    passages: int
    families: dict[str, tuple[Measure, ...]]
    steps: dict[str, tuple[int, int]] = {}  # numbers of input and output records, by build step

    @property
    def failed(self) -> list[Measure]:
        """The measures whose gates failed."""
        return [measure for family in self.families.values() for measure in family if measure.passed == "failed"]


def show_value(measure: Measure) -> str:
    """Format a measure's value."""
    if measure.value is None:
        return "–"
    return f"{measure.value:,.0f}" if measure.hits is None else f"{measure.value:.1%}"


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


def measure(data: str) -> Quality:
    """Measure a dataset or a build folder; for a build, include its step counts and review results."""
    datasets, steps = _open(data)
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
    if (reviewed := read_reviewed(Path(data))) is not None:
        families["people"] = tuple(review_measures(reviewed, hashes))
    return Quality(
        version=__version__, data=hashes, items=counts.items, passages=counts.passages, families=families, steps=steps
    )


def quality_values(quality: Quality) -> dict[str, Any]:
    """Return a quality report as a dictionary."""
    return {"quality": quality, "ok": not quality.failed}


def write_quality(folder: Path) -> str | None:
    """Write quality.json to a build's folder; return a line with the result, or None if the folder has no items."""
    if not any(folder.glob("*.jsonl")):
        return None
    quality, path = measure(str(folder)), folder / "quality.json"
    with write_whole(path) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(quality_values(quality)), indent=1) + b"\n")
    failed = ", ".join(one.name for one in quality.failed)
    return f"{path}: " + (f"failed gates: {failed}." if failed else "all measured gates passed.")


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
