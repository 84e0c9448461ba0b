"""Cells arranged as tables: the paper's four, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragbed.metrics.cells import Cell
from ragbed.metrics.sheet import Key
from ragbed.paper.tables import read_tables
from ragbed.schema import Estimate

PAPER_DATA = {
    "noise": ("en", "zh"),
    "rejection": ("en", "zh"),
    "integration": ("en_int", "zh_int"),
    "counterfactual": ("en_fact", "zh_fact"),
}
"""The files that the paper's numbers are of; those ending in _refine were corrected afterwards."""
_PAPER_PROFILE, _PAPER_TRACK, _PAPER_DOCS = "code-2023", "code", 5


class Column(NamedTuple):
    """One column: its heading, and which cells stand in it."""

    heading: str
    metric: str
    noise: float | None = None
    is_share: bool = True
    """Shown in per cent."""


@dataclass(frozen=True)
class Row:
    """One model on one dataset with one number of documents."""

    key: Key
    docs: int | None
    cells: tuple[Estimate | None, ...]
    comparable: bool
    """With the paper: same files, same layout, same way of counting."""

    @property
    def asked(self) -> int:
        """Cases behind the cell with the most."""
        return max((cell.asked for cell in self.cells if cell is not None), default=0)

    @property
    def errors(self) -> int:
        """Of them, those without a reply, in the cell with the most."""
        return max((cell.errors for cell in self.cells if cell is not None), default=0)


@dataclass(frozen=True)
class PaperRow:
    """A row that the paper prints."""

    model: str
    lang: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    paper: tuple[PaperRow, ...] = ()


@dataclass(frozen=True)
class Report:
    """What all formats are drawn from."""

    runs: tuple[str, ...]
    track: str
    cells: tuple[Cell, ...]
    """Of all tracks and scopes; tables show one track."""
    tables: tuple[Table, ...]


def make_report(runs: Sequence[str], cells: Sequence[Cell], track: str) -> Report:
    """Arranges the cells of a track."""
    shown = [cell for cell in cells if cell.track == track and cell.scope == "all"]
    tables = [_arrange(name, title, columns, shown, track) for name, title, columns in _layout(shown)]
    return Report(tuple(runs), track, tuple(cells), tuple(table for table in tables if table.rows))


def _layout(cells: Sequence[Cell]) -> Iterable[tuple[str, str, tuple[Column, ...]]]:
    yield "noise", "Noise robustness: accuracy by noise ratio", _by_noise(cells, "noise")
    yield "noise curve", "Noise robustness: the curve as a whole", _CURVE
    yield "rejection", "Negative rejection", _REJECTION
    yield "integration", "Information integration: accuracy by noise ratio", _by_noise(cells, "integration")
    yield "integration parts", "Information integration: sub-answers, without noise", _PARTS
    yield "counterfactual", "Counterfactual robustness: all documents false", _COUNTERFACTUAL
    yield "closed-book", "Closed book", _CLOSED


_CURVE = (
    Column("ρ10", "rho10", is_share=False),
    Column("mean", "auc"),
    Column("kept", "retention"),
    Column("slope", "slope", is_share=False),
    Column("declines from", "first_decline", is_share=False),
)
_REJECTION = (
    Column("refuses", "refusal_recall"),
    Column("refuses wrongly", "false_refusal"),
    Column("F1", "refusal_f1"),
    Column("balanced", "balanced_accuracy"),
    Column("right without evidence", "correct_without_evidence"),
)
_PARTS = (
    Column("sub-answers", "sub_answer_recall", 0.0),
    Column("bound rightly", "aligned_recall", 0.0),
    Column("all parts", "accuracy", 0.0),
    Column("every part alone", "every_part_alone", 0.0),
    Column("tax", "integration_tax", 0.0),
)
_COUNTERFACTUAL = (
    Column("right", "accuracy", 0.0),
    Column("detects", "error_detection", 0.0),
    Column("corrects, of detected", "corrected_of_flagged", 0.0),
    Column("misled", "misled_at_all", 0.0),
)
_CLOSED = (
    Column("right", "accuracy"),
    Column("declines", "refusal"),
    Column("right, instructed", "accuracy_instructed"),
    Column("declines, instructed", "refusal_instructed"),
)


def _by_noise(cells: Sequence[Cell], table: str) -> tuple[Column, ...]:
    ratios = {
        cell.place.get("noise")
        for cell in cells
        if cell.table == table and cell.estimate.metric == "accuracy" and cell.place.get("arm") is None
    }
    return tuple(Column(f"{ratio:.3g}", "accuracy", ratio) for ratio in sorted(r for r in ratios if r is not None))


def _arrange(name: str, title: str, columns: tuple[Column, ...], cells: Sequence[Cell], track: str) -> Table:
    source = name.partition(" ")[0]
    found: dict[tuple[Key, int | None], dict[tuple[str, float | None], Estimate]] = {}
    for cell in cells:
        if cell.table == source and cell.place.get("arm") is None and not cell.place.get("correct"):
            row = found.setdefault((cell.key, cell.place.get("k")), {})
            row[cell.estimate.metric, cell.place.get("noise")] = cell.estimate
    if name not in PAPER_DATA:  # what nobody was asked has no column
        metrics = {metric for row in found.values() for metric, _ in row}
        columns = tuple(column for column in columns if column.metric in metrics)
    rows = []
    for (key, docs), row in found.items():
        picked = tuple(_pick(row, column) for column in columns)
        if any(cell is not None for cell in picked):
            rows.append(Row(key, docs, picked, _is_comparable(source, key, docs, track)))
    return Table(name, title, columns, tuple(rows), _paper_rows(name, columns))


def _pick(row: dict[tuple[str, float | None], Estimate], column: Column) -> Estimate | None:
    """The cell at the column's ratio; a column without one takes the metric wherever it stands."""
    if column.noise is not None:
        return row.get((column.metric, column.noise))
    return next((cell for (metric, _), cell in row.items() if metric == column.metric), None)


def _is_comparable(table: str, key: Key, docs: int | None, track: str) -> bool:
    same_files = key.data in PAPER_DATA.get(table, ())
    return same_files and key.profile == _PAPER_PROFILE and track == _PAPER_TRACK and docs == _PAPER_DOCS


_PAPER_COLUMNS = {
    "rejection": {"refusal_recall": "Rej"},
    "counterfactual": {"accuracy": "Acc_doc", "error_detection": "ED", "corrected_of_flagged": "CR"},
}
"""What the paper calls our metrics, where a table has more than one."""


def _paper_rows(name: str, columns: Sequence[Column]) -> tuple[PaperRow, ...]:
    if name not in PAPER_DATA:
        return ()
    printed = getattr(read_tables(), name)
    names = _PAPER_COLUMNS.get(name)
    headings = [column.heading if names is None else names.get(column.metric) for column in columns]
    rows = []
    for lang, model, values in printed.rows():
        by_name = dict(zip(printed.columns, values, strict=True))
        rows.append(PaperRow(model, lang, tuple(by_name.get(heading or "") for heading in headings)))
    return tuple(rows)
