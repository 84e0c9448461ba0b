"""The leaderboard, with a row per model, and the findings of a report: one sentence each, the biggest failure first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ragbed.analysis.causes import show_percent, show_rate
from ragbed.analysis.locale import Locale
from ragbed.analysis.metrics.cells import Cell
from ragbed.reporting.table import group_by
from ragbed.schema import Estimate
from ragbed.testbeds.prompts.strategies import MARK


class LeaderboardColumn(NamedTuple):
    """A leaderboard column. Of several noise ratios, it shows the lowest or, if `is_last`, the highest."""

    name: str
    table: str
    metric: str
    is_last: bool = False


COLUMNS = (
    LeaderboardColumn("noise_first", "noise", "accuracy"),
    LeaderboardColumn("noise_last", "noise", "accuracy", is_last=True),
    LeaderboardColumn("noise_mean", "noise", "auc"),
    LeaderboardColumn("refuses", "rejection", "refusal_recall"),
    LeaderboardColumn("refuses_wrongly", "rejection", "false_refusal"),
    LeaderboardColumn("integration", "integration", "accuracy"),
    LeaderboardColumn("false_right", "counterfactual", "accuracy"),
    LeaderboardColumn("misled", "counterfactual", "misled_at_all"),
    LeaderboardColumn("closed_book", "closed-book", "accuracy"),
)


class LeaderboardEntry(NamedTuple):
    """The model and the setting of a leaderboard row."""

    model: str
    lang: str
    profile: str
    k: int


@dataclass
class LeaderboardRow:
    """A leaderboard row with its datasets and one cell per column."""

    entrant: LeaderboardEntry
    data: list[str] = field(default_factory=list)
    cells: dict[str, Estimate] = field(default_factory=dict)


def make_standings(cells: Sequence[Cell], scorer: str) -> list[LeaderboardRow]:
    """Return one row per model, language, profile and number of documents.

    Datasets for different abilities share a row. If two datasets test the same ability, e.g. the refined and the
    original files, the second one gets a separate row. All values of a dataset are in the same row.
    """
    found: dict[tuple[LeaderboardEntry, str], dict[str, Estimate]] = {}
    shown = list(_usual(cells, scorer))
    # Closed-book cells have no document count, so they are shown in the noise testbed's rows for the same data.
    documents = dict.fromkeys((cell.key, cell.place.get("k")) for cell in shown if cell.table == "noise")
    for column in COLUMNS:
        for cell in sorted(shown, key=lambda cell: (cell.place.get("noise") or 0.0) * (-1 if column.is_last else 1)):
            if (cell.table, cell.estimate.metric) != (column.table, column.metric):
                continue
            for k in [cell.place["k"]] if cell.place.get("k") else [k for key, k in documents if key == cell.key]:
                entrant = LeaderboardEntry(cell.key.model, cell.key.lang, cell.key.profile, k or 0)
                here = found.setdefault((entrant, cell.key.data), {})
                # Ratios at which all cases are infeasible have no value.
                if column.name not in here or here[column.name].value is None:
                    here[column.name] = cell.estimate
    order = {cell.key: number for number, cell in reversed([*enumerate(shown)])}
    models = dict.fromkeys(key.model for key in sorted(order, key=order.__getitem__))
    ranks = {model: number for number, model in enumerate(models)}
    rows: list[LeaderboardRow] = []
    for entrant, places in group_by(found, lambda place: place[0]).items():
        own: list[LeaderboardRow] = []
        for place in places:
            # Each dataset is added to the first row that has none of its columns, or to a new row.
            row = next((row for row in own if row.cells.keys().isdisjoint(found[place])), None)
            if row is None:
                own.append(row := LeaderboardRow(entrant))
            row.data.append(place[1])
            row.cells |= found[place]
        rows += own
    return sorted(rows, key=lambda row: (row.entrant.lang, ranks[row.entrant.model]))


def _usual(cells: Iterable[Cell], scorer: str) -> Iterator[Cell]:
    """Yield the cells for all questions, with the default distractors and without true documents."""
    for cell in cells:
        is_usual = not cell.place.get("arm") and not cell.place.get("correct")
        if (cell.scorer, cell.scope) == (scorer, "all") and is_usual:
            yield cell


class Finding(NamedTuple):
    """A sentence about one model.

    Attributes:
        model: The model.
        lang: The language of the data in words, or empty if the model has data in only one language.
        text: The sentence.
        failure: The share of failures that it reports; 0 for a remark.
        testbed: The testbed whose trials show the failure.
        verdicts: The verdicts or outcomes of these trials.
    """

    model: str
    lang: str
    text: str
    failure: float = 0.0
    testbed: str = ""
    verdicts: tuple[str, ...] = ()


_HALF = 0.5
_WRONG = ("incorrect", "partial")


def summarise(cells: Sequence[Cell], scorer: str, words: Locale) -> list[Finding]:
    """Return a report's findings on each model and data language, the biggest failure first."""
    rows = group_by(make_standings(cells, scorer), lambda row: row.entrant[:2])
    findings: list[Finding] = []
    for (model, lang), standings in rows.items():
        plain = [row for row in standings if MARK not in row.entrant.profile]
        # The row with the most values represents its model.
        row = max(plain or standings, key=lambda row: sum(cell.value is not None for cell in row.cells.values()))
        name = words(f"summary.lang.{lang}") if len({lang for one, lang in rows if one == model}) > 1 else ""
        found = [Finding(model, name, *one) for one in _find(row, [*_usual(cells, scorer)], words)]
        if found and len(plain) > 1:
            others = "summary.others" if row.entrant.k else "summary.others_one"
            found.append(Finding(model, name, words(others, data=", ".join(row.data), k=row.entrant.k)))
        findings += found
    findings += _find_given([cell for cell in _usual(cells, scorer) if cell.estimate.metric == "expected"], words)
    return sorted(findings, key=lambda one: -one.failure)


def _find_given(cells: Sequence[Cell], words: Locale) -> Iterator[Finding]:
    """Yield a finding for each dataset with given documents."""
    for cell in cells:
        (model, data, lang, profile), rate = cell.key, cell.estimate
        if rate.value is not None and MARK not in profile:
            has_several = len({other.key.lang for other in cells if other.key.model == model}) > 1
            name = words(f"summary.lang.{lang}") if has_several else ""
            yield Finding(model, name, _state("expected", rate, words, data=data), 1 - rate.value, "given", _WRONG)


def group_findings(findings: Iterable[Finding]) -> dict[str, dict[str, list[str]]]:
    """Return the sentences about each model and language of the data."""
    return {
        model: {lang: [one.text for one in of_lang] for lang, of_lang in group_by(found, lambda one: one.lang).items()}
        for model, found in group_by(findings, lambda one: one.model).items()
    }


_Found: TypeAlias = tuple[str, float, str, tuple[str, ...]]


def _find(row: LeaderboardRow, cells: Sequence[Cell], words: Locale) -> Iterator[_Found]:
    """Yield the text of each finding about a row and, for failures, the other fields of `Finding`."""
    if all(cell.asked and cell.errors + cell.filtered == cell.asked for cell in row.cells.values()):
        yield words("summary.no_responses"), 1.0, "", ("error", "filtered")
        return
    yield from _find_noise(row, cells, words)
    for name, testbed, is_failure, verdicts in (
        ("closed_book", "", False, ()),
        ("refuses", "rejection", False, ("correct", *_WRONG)),
        ("refuses_wrongly", "noise", True, ("refused",)),
        ("integration", "integration", False, (*_WRONG, "refused")),
        ("misled", "counterfactual", True, _WRONG),
    ):
        rate = row.cells.get(name)
        if rate is not None and rate.value is not None and (rate.value or name != "refuses_wrongly"):
            failure = (rate.value if is_failure else 1 - rate.value) if testbed else 0.0
            yield _state(name, rate, words), failure, testbed, verdicts
    rates = [cell for cell in row.cells.values() if cell.metric != "auc" and cell.asked]  # auc combines many conditions
    for name, outcome in (("errors", "error"), ("truncated", "truncated"), ("filtered", "filtered")):
        worst = max(rates, key=lambda cell: getattr(cell, name) / cell.asked, default=None)
        if worst is not None and (count := getattr(worst, name)):
            text = words(f"summary.{name}", count=f"{count:,}", n=f"{worst.asked:,}")
            yield text, count / worst.asked, "", (outcome,)


def _state(name: str, rate: Estimate, words: Locale, **values: str) -> str:
    """Return a sentence about a rate, with its interval and the number of questions or cases that it is based on."""
    unit = "question" if rate.n == rate.questions else "case"
    counts = words(f"summary.{unit}" if rate.n == 1 else f"summary.{unit}s", n=f"{rate.n:,}")
    return words(f"summary.{name}", rate=show_rate(rate), counts=counts, **values)


def _find_noise(row: LeaderboardRow, cells: Sequence[Cell], words: Locale) -> Iterator[_Found]:
    """Compare accuracy at the lowest and highest noise ratios; state a direction only if the change is significant.

    The change is paired. If the two accuracies cover different questions and differ in the other direction, no
    direction is stated.
    """
    found = {
        (cell.estimate.metric, cell.place.get("noise") or 0.0): cell.estimate
        for cell in cells
        if (cell.table, cell.key.data) == ("noise", row.data[0])
        and (cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")) == row.entrant
        and cell.place.get("noise") is not None
    }
    points = sorted(
        (at, rate.value, rate)
        for (metric, at), rate in found.items()
        if metric == "accuracy" and rate.value is not None
    )
    if not points:
        return
    (first, least, before), (last, most, rate) = points[0], points[-1]
    share = words("summary.half") if last == _HALF else show_percent(last)
    if len(points) == 1:
        text = _state("accuracy" if last else "accuracy_clean", rate, words, share=share)
    else:
        start = show_rate(before)
        start = words("summary.at", rate=start, share=show_percent(first)) if first else start
        verb = "stays" if show_percent(least) == show_percent(most) else _direction(found.get(("change", last)))
        if verb == ("falls" if most > least else "rises"):
            verb = "goes"
        text = _state(verb, rate, words, first=start, share=share)
    yield text, 1 - most, "noise", _WRONG


def _direction(change: Estimate | None) -> str:
    if change is None or change.low is None or change.high is None:
        return "goes"
    return "falls" if change.high < 0 else "rises" if change.low > 0 else "same"
