"""Measure the quality of a dataset, compare it with RGB's values and check gates (docs/reference/build.md)."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
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
from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.funnel import draw_samples
from ragbed.builder.pipeline import read_state
from ragbed.builder.pools import find_shortcuts
from ragbed.builder.statements import STANCES, contains_answer, label_again
from ragbed.data import Dataset, kind_of
from ragbed.data.catalog import open_data
from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import read_regular
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Item, Lang

Unit: TypeAlias = Literal["share", "count", "number"]
Passed: TypeAlias = Literal["passed", "failed", "not measured", "no gate"]
# Maximum number of passages to relabel. Relabelling this many takes about two minutes; the report states how many
# were relabelled.
MAX_LABELLED = 50_000
_ENOUGH = 5  # number of passages that fill a prompt in the paper


class Measure(Struct, frozen=True):
    """A row in a quality report: the definition of a measure (docs/reference/build.md), and its value if measured."""

    name: str
    meaning: str
    reference: str = ""  # RGB's value, or the reason why there is none
    gate: str | None = None  # limit for the value, e.g. "≥ 99%"
    unit: Unit = "number"
    value: float | None = None  # None if the value cannot be measured; `note` states why
    hits: int | None = None  # numerator of a share
    n: int = 0  # denominator, or sample size
    low: float | None = None  # lower limit of the 95% Wilson interval for a share
    high: float | None = None
    passed: Passed = "no gate"
    note: str = ""

    def share(self, hits: int, n: int, note: str = "") -> Measure:
        """Return the measure with the value of a share and its confidence interval; the value is None if n is 0."""
        _, low, high = wilson(hits, n) if n else (None, None, None)
        return replace(self._with("share", hits / n if n else None, n, note), hits=hits, low=low, high=high)

    def count(self, value: int, n: int, note: str = "") -> Measure:
        """Return the measure with the value of a count out of n; the value is None if n is 0."""
        return self._with("count", value if n else None, n, note)

    def number(self, value: float | None, n: int, note: str = "") -> Measure:
        """Return the measure with the value of a plain number."""
        return self._with("number", value, n, note)

    def _with(self, unit: Unit, value: float | None, n: int, note: str) -> Measure:
        passed: Passed = "no gate"
        if self.gate is not None:
            sign, bound = self.gate.split()
            limit = float(bound.rstrip("%")) / (100 if bound.endswith("%") else 1)
            compare = {"≥": operator.ge, "≤": operator.le, "=": operator.eq}[sign]
            passed = "not measured" if value is None else "passed" if compare(value, limit) else "failed"
        return replace(self, unit=unit, value=value, n=n, passed=passed, note=note)


_HOLDS = Measure(
    "label fidelity, supporting",
    "supporting passages that contain the answer, ignoring case",
    "zh_refine 2,566/2,571; en_fact 395/395; zh_fact 418/418",
    "≥ 99%",
)
_LACKS = Measure(
    "label fidelity, distracting",
    "distracting passages that do not contain the answer",
    "zh_refine 5,142/5,144; en_fact 594/594; zh_fact 530/530",
    "≥ 99.9%",
)
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
_TELLS = Measure(
    "answers in questions", "questions that contain their answer", "0 in the Chinese files and en_fact",
    "= 0",
)  # fmt: skip
_AGAIN = Measure(
    "repeated questions",
    "questions that also appear in an earlier item; minimal pairs of synthetic items do not count",
    "0 within a file; 15 questions of zh_int are also in zh",
    "= 0",
)
_KNOWN = Measure(
    "answers found without documents",
    "base and integration items that a reference model answered without documents during the build",
    "not published for base items",
    "≤ 10%",
)
_GATED = Measure(
    "known counterfactual items",
    "counterfactual items that a reference model answered without documents, so that it can detect the error",
    "the paper uses models that know 70% of them",
    "= 100%",
)
_SIZE = Measure(
    "pool size",
    "median number of supporting and distracting passages per item",
    "zh_refine 10–42 (median 26); zh_int 18–80; en_fact 6–10; zh_fact 3–10",
)
_FILLS = Measure(
    "fills every ratio",
    "items with at least 5 supporting and 5 distracting passages",
    "zh_refine 100%; en_fact 38% and 72%; zh_fact 41% and 63%",
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
_CROSS = Measure(
    "cross-label duplicates",
    "distracting passages that are near-duplicates of a supporting one",
    "zh_refine 95; zh_int 61",
    "= 0",
)
_SHORTCUTS = Measure(
    "integration shortcuts",
    "supporting passages of integration items that state all parts of the answer",
    "zh_int 13 of 1,578 by these rules, 7 of them confirmed by reading",
    "= 0",
)
_FAKES = Measure(
    "unusable false answers",
    "false answers that are equal to the true answer, contain it or are contained in it, or of another kind or size",
    "zh_fact 1 identical, 2 superstrings; en_fact 0",
    "= 0",
)
_EDITS = Measure(
    "unusable edits",
    "edited passages that are unchanged, still contain the true answer in some form, or do not give the false one",
    "en_fact 17 of 395 by these rules; zh_fact 2 that still contain the true answer",
    "= 0",
)


class ItemMeasures:
    """The counts for all items of one or more datasets."""

    def __init__(self) -> None:
        self.items = self.passages = 0
        self._counts: Counter[str] = Counter()
        self._sizes: list[int] = []
        self._lengths: dict[Lang, list[int]] = {"en": [], "zh": []}
        self._seen: set[int] = set()  # hashes of the questions seen so far

    def add(self, item: Item, *, is_probed: bool) -> None:
        """Add one item.

        Args:
            item: The item.
            is_probed: Whether models were asked the question without documents when the dataset was built.
        """
        self.items += 1
        question = " ".join(item.question.split())
        is_told = all(any(alias.lower() in question.lower() for alias in aliases) for aliases in item.answer)
        self._counts["told"] += is_told
        self._counts["again"] += hash(question) in self._seen and item.twin is None
        self._seen.add(hash(question))
        kind = kind_of(item)
        group = "gated" if kind == "counterfactual" else "fresh"
        self._counts[group] += is_probed or bool(item.known_by)
        self._counts[f"{group} known"] += bool(item.known_by)
        self._add_passages(item)
        if self.passages < MAX_LABELLED:
            self._add_labels(item)
        self.passages += len(item.passages)
        if kind == "integration":
            supports = [passage.text for passage in item.passages if passage.stance == "supports"]
            self._counts["evidence"] += len(supports)
            self._counts["shortcuts"] += len(find_shortcuts(item, supports))
        if kind == "counterfactual" and item.fake is not None:
            self._add_edits(item)

    def _add_passages(self, item: Item) -> None:
        pooled = [passage for passage in item.passages if passage.stance != "contradicts"]
        near = find_near([passage.text for passage in pooled])
        supports = {place for place, passage in enumerate(pooled) if passage.stance == "supports"}
        self._sizes.append(len(pooled))
        self._counts["filled"] += min(len(supports), len(pooled) - len(supports)) >= _ENOUGH
        for place, passage in enumerate(pooled):
            self._lengths[item.lang].append(len(passage.text) if item.lang == "zh" else len(passage.text.split()))
            self._counts["copies"] += any(other < place for other in near[place])
            self._counts["crossed"] += place not in supports and bool(near[place] & supports)

    def _add_labels(self, item: Item) -> None:
        for passage in item.passages:
            stance = passage.stance
            if stance == "contradicts":
                continue
            self._counts[stance] += 1
            self._counts["reviewed"] += passage.reviewed
            holds = contains_answer(item, passage.text)
            self._counts[f"{stance} plain"] += passage.reviewed or holds == (stance == "supports")
            self._counts[f"{stance} support"] += passage.reviewed or STANCES[label_again(item, passage).label] == stance

    def _add_edits(self, item: Item) -> None:
        fake = tuple(tuple(alias.strip() for alias in aliases) for aliases in item.fake or ())
        self._counts["fakes"] += 1
        self._counts["bad fakes"] += bool(check_fake(item, fake))
        for passage in item.passages:
            if passage.stance == "contradicts" and passage.edit_of is not None:
                self._counts["edits"] += 1
                original = item.passages[passage.edit_of].text
                self._counts["bad edits"] += bool(check_edit(item, fake, original, passage.text))

    def labels(self) -> Iterator[Measure]:
        """Yield the measures of labels, questions and prior knowledge."""
        counts = self._counts
        people = f"{counts['reviewed']:,} labels set by people count as correct" if counts["reviewed"] else "by rules"
        yield _HOLDS.share(counts["supports plain"], counts["supports"])
        yield _LACKS.share(counts["distracts plain"], counts["distracts"])
        yield _GIVES.share(counts["supports support"], counts["supports"], people)
        yield _CLEAR.share(counts["distracts support"], counts["distracts"], people)
        yield _TELLS.count(counts["told"], self.items)
        yield _AGAIN.count(counts["again"], self.items)
        unknown = "" if counts["fresh"] + counts["gated"] else "unknown for this dataset; run the closed-book testbed"
        yield _KNOWN.share(counts["fresh known"], counts["fresh"], unknown)
        if counts["gated"]:
            yield _GATED.share(counts["gated known"], counts["gated"])

    def pools(self) -> Iterator[Measure]:
        """Yield the measures of lengths and duplicates, and those of integration and counterfactual items."""
        counts, pooled = self._counts, sum(self._sizes)
        spread = f"{min(self._sizes)}–{max(self._sizes)}" if self._sizes else ""
        yield _SIZE.number(median(self._sizes) if self._sizes else None, self.items, spread)
        yield _FILLS.share(counts["filled"], self.items)
        for lang, lengths in self._lengths.items():
            if lengths:
                yield _LENGTHS[lang].number(median(lengths), len(lengths), f"longest {max(lengths):,}")
        yield _DUPLICATES.share(counts["copies"], pooled)
        yield _CROSS.count(counts["crossed"], pooled)
        if counts["evidence"]:
            yield _SHORTCUTS.count(counts["shortcuts"], counts["evidence"])
        if counts["fakes"]:
            yield _FAKES.count(counts["bad fakes"], counts["fakes"])
            yield _EDITS.count(counts["bad edits"], counts["edits"])


class Quality(Struct, frozen=True, kw_only=True):
    """A quality report."""

    version: str  # version of ragbed
    data: dict[str, str]  # SHA-256 hash of each dataset's file, by dataset name
    items: int
    passages: int
    families: dict[str, tuple[Measure, ...]]
    steps: dict[str, tuple[int, int]] = {}  # numbers of input and output records, by build step
    # For each sample: "accepted" or the failed check, the question, and the answer or the reason for the rejection.
    samples: tuple[tuple[str, str, str], ...] = ()

    @property
    def failed(self) -> list[Measure]:
        """The measures whose gates failed."""
        return [measure for family in self.families.values() for measure in family if measure.passed == "failed"]


def show_value(measure: Measure) -> str:
    """Format a measure's value."""
    if measure.value is None:
        return "–"
    if measure.unit == "share":
        return f"{measure.value:.1%}"
    if measure.unit == "count":
        return f"{measure.value:,.0f}"
    # Omit the thousands separator, because the value may be a year.
    return f"{measure.value:.0f}" if measure.value >= 10 else f"{measure.value:.3g}"


PLACE = Path("review") / "reviewed.json"
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
    return msgspec.structs.replace(quality, samples=tuple(draw_samples(Path(data), _SHOWN))) if steps else quality


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
