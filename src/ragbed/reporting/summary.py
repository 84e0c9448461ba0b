"""The leaderboard, with a row per model, and the summary of a report, with a paragraph per model and language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragbed.analysis.locale import Locale
from ragbed.analysis.metrics.cells import Cell
from ragbed.reporting.numbers import FEW, RowCounts, count_cases
from ragbed.schema import Estimate
from ragbed.testbeds.prompts.strategies import MARK


class LeaderboardColumn(NamedTuple):
    """A leaderboard column. For metrics with several noise ratios, `end` selects the `first` or `last` ratio."""

    name: str
    table: str
    metric: str
    end: str = ""


COLUMNS = (
    LeaderboardColumn("noise_first", "noise", "accuracy", "first"),
    LeaderboardColumn("noise_last", "noise", "accuracy", "last"),
    LeaderboardColumn("noise_mean", "noise", "auc"),
    LeaderboardColumn("refuses", "rejection", "refusal_recall"),
    LeaderboardColumn("refuses_wrongly", "rejection", "false_refusal"),
    LeaderboardColumn("integration", "integration", "accuracy", "first"),
    LeaderboardColumn("false_right", "counterfactual", "accuracy", "first"),
    LeaderboardColumn("misled", "counterfactual", "misled_at_all", "first"),
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

    @property
    def counts(self) -> RowCounts:
        """Return the numbers of cases, failed, truncated and filtered ones, as ranges over the cells."""
        return count_cases(self.cells.values())


def make_standings(cells: Sequence[Cell], scorer: str) -> list[LeaderboardRow]:
    """Return one row per model, language, profile and number of documents.

    Datasets for different abilities share a row. If two datasets test the same ability, e.g. the refined and the
    original files, the second one gets a separate row. All values of a dataset are in the same row.
    """
    shown = [
        cell
        for cell in cells
        if cell.scorer == scorer and cell.scope == "all" and not cell.place.get("arm") and not cell.place.get("correct")
    ]
    found: dict[LeaderboardEntry, dict[str, dict[str, Estimate]]] = {}
    for column in COLUMNS:
        for entrant, data, estimate in _find(shown, column):
            found.setdefault(entrant, {}).setdefault(data, {})[column.name] = estimate
    ranked = [pair for entrant, datasets in found.items() for pair in enumerate(_make_rows(entrant, datasets))]
    return [row for _, row in sorted(ranked, key=lambda pair: (pair[1].entrant.lang, pair[0]))]


def _make_rows(entrant: LeaderboardEntry, datasets: dict[str, dict[str, Estimate]]) -> list[LeaderboardRow]:
    """Put each dataset into the first row that has none of its columns, or into a new row."""
    rows: list[LeaderboardRow] = []
    for data, cells in datasets.items():
        row = next((row for row in rows if row.cells.keys().isdisjoint(cells)), None)
        if row is None:
            row = LeaderboardRow(entrant)
            rows.append(row)
        row.data.append(data)
        row.cells |= cells
    return rows


def _find(cells: Sequence[Cell], column: LeaderboardColumn) -> Iterator[tuple[LeaderboardEntry, str, Estimate]]:
    """Yield a column's value for each model and dataset."""
    # Closed-book cells have no document count, so they are shown in the noise testbed's rows for the same data.
    documents = dict.fromkeys((cell.key, cell.place.get("k")) for cell in cells if cell.table == "noise")
    found: dict[LeaderboardEntry, dict[str, list[tuple[float, Estimate]]]] = {}
    for cell in cells:
        if (cell.table, cell.estimate.metric) == (column.table, column.metric):
            ks = [cell.place["k"]] if cell.place.get("k") else [k for key, k in documents if key == cell.key]
            for k in ks:
                entrant = LeaderboardEntry(cell.key.model, cell.key.lang, cell.key.profile, k or 0)
                points = found.setdefault(entrant, {}).setdefault(cell.key.data, [])
                points.append((cell.place.get("noise") or 0.0, cell.estimate))
    index = -1 if column.end == "last" else 0
    for entrant, datasets in found.items():
        for data, points in datasets.items():
            # Ratios at which all cases are infeasible have no value.
            measured = [point for point in points if point[1].value is not None]
            yield entrant, data, sorted(measured or points, key=lambda point: point[0])[index][1]


_HALF = 0.5


class Paragraph(NamedTuple):
    """A paragraph about one model; `lang` is the data language, or empty if the model has data in only one language."""

    model: str
    lang: str
    text: str


def summarise(cells: Sequence[Cell], scorer: str, words: Locale) -> list[Paragraph]:
    """Return one paragraph for each model and data language, with models in leaderboard order."""
    rows: dict[str, dict[str, list[LeaderboardRow]]] = {}
    for row in make_standings(cells, scorer):
        rows.setdefault(row.entrant.model, {}).setdefault(row.entrant.lang, []).append(row)
    paragraphs = []
    for model, by_lang in rows.items():
        for lang, standings in by_lang.items():
            plain = [row for row in standings if MARK not in row.entrant.profile]
            row = max(plain or standings, key=_measured)
            sentences = [*_sentences(row, _noise_cells(cells, scorer, row), words)]
            if not sentences:
                continue
            if len(plain) > 1:
                others = "summary.others" if row.entrant.k else "summary.others_one"
                sentences.append(words(others, data=", ".join(row.data), k=row.entrant.k))
            name = words(f"summary.lang.{lang}") if len(by_lang) > 1 else ""
            paragraphs.append(Paragraph(model, name, ("" if words.lang == "zh" else " ").join(sentences)))
    return paragraphs


def _measured(row: LeaderboardRow) -> int:
    """Return how many headline metrics a row has. The row with the most metrics represents its model."""
    return sum(cell.value is not None for cell in row.cells.values())


def _noise_cells(cells: Sequence[Cell], scorer: str, row: LeaderboardRow) -> list[Cell]:
    found = [
        cell
        for cell in cells
        if (cell.table, cell.scorer, cell.scope) == ("noise", scorer, "all")
        and (cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")) == row.entrant
        and cell.key.data == row.data[0]
        and not cell.place.get("arm")
        and cell.place.get("noise") is not None
    ]
    return sorted(found, key=lambda cell: cell.place.get("noise") or 0.0)


def _sentences(row: LeaderboardRow, noise: Sequence[Cell], words: Locale) -> Iterator[str]:
    if all(cell.asked and cell.errors + cell.filtered == cell.asked for cell in row.cells.values()):
        yield words("summary.no_responses")
        return
    yield from _noise(noise, words)
    yield from _rate(row, "closed_book", words)  # The closed-book rate covers the same questions as the noise rates.
    yield from _rate(row, "refuses", words)
    if (needless := row.cells.get("refuses_wrongly")) is not None and needless.value:
        yield words("summary.refuses_wrongly", rate=_percent(needless.value))
    yield from _rate(row, "integration", words)
    yield from _rate(row, "misled", words)
    rates = [cell for cell in row.cells.values() if cell.metric != "auc" and cell.asked]  # auc combines many conditions
    for name in ("errors", "truncated", "filtered"):
        worst = max(rates, key=lambda cell: getattr(cell, name) / cell.asked, default=None)
        if worst is not None and getattr(worst, name):
            yield words(f"summary.{name}", count=f"{getattr(worst, name):,}", n=f"{worst.asked:,}")
    fewest = min((cell.questions for cell in row.cells.values() if cell.value is not None), default=FEW)
    if fewest < FEW:
        yield words("summary.few" if fewest != 1 else "summary.one", n=fewest)


def _noise(cells: Sequence[Cell], words: Locale) -> Iterator[str]:
    """Compare accuracy at the lowest and highest noise ratios; state a direction only if the change is significant.

    The change is paired. If the two accuracies cover different questions and differ in the other direction, no
    direction is stated.
    """
    points = [cell for cell in cells if cell.estimate.metric == "accuracy" and cell.estimate.value is not None]
    if not points:
        return
    first, last = (point.place.get("noise") or 0.0 for point in (points[0], points[-1]))
    rates = [_percent(point.estimate.value or 0.0) for point in (points[0], points[-1])]
    share = words("summary.half") if last == _HALF else _percent(last)
    if len(points) == 1:
        yield words("summary.accuracy" if last else "summary.accuracy_clean", rate=rates[0], share=share)
        return
    before = words("summary.at", rate=rates[0], share=_percent(first)) if first else rates[0]
    change = next(
        (cell for cell in cells if cell.estimate.metric == "change" and cell.place.get("noise") == last), None
    )
    verb = "stays" if rates[0] == rates[1] else _direction(None if change is None else change.estimate)
    is_higher = (points[-1].estimate.value or 0.0) > (points[0].estimate.value or 0.0)
    if verb == ("falls" if is_higher else "rises"):
        verb = "goes"
    yield words(f"summary.{verb}", first=before, last=rates[1], share=share)


def _direction(change: Estimate | None) -> str:
    if change is None or change.low is None or change.high is None:
        return "goes"
    return "falls" if change.high < 0 else "rises" if change.low > 0 else "same"


def _rate(row: LeaderboardRow, name: str, words: Locale) -> Iterator[str]:
    cell = row.cells.get(name)
    if cell is not None and cell.value is not None:
        end = {0.0: "_never", 1.0: "_always"}.get(cell.value, "")
        yield words(f"summary.{name}{end}", rate=_percent(cell.value))


def _percent(value: float) -> str:
    """Return a share as a whole-number percentage. Only shares of exactly 0 and 1 are shown as 0% and 100%."""
    rounded = round(100 * value)
    if rounded == 0 and value > 0:
        return "<1%"
    return ">99%" if rounded == 100 and value < 1 else f"{rounded}%"
