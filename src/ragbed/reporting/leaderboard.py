"""The leaderboard, with one row per model and the headline metric for each ability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ragbed.analysis.metrics.cells import Cell
from ragbed.reporting.numbers import RowCounts, count_cases
from ragbed.schema import Estimate


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
