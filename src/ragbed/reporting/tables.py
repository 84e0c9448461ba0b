"""Cells arranged as tables: the paper's four, and what goes beyond them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from ragbed.analysis.claims import ClaimFinding, ClaimInputs, check_claims
from ragbed.analysis.diagnosis.causes import Cause
from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import JUDGED, Cell
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.runs.display_names import short_names
from ragbed.schema import Estimate

PAPER_DATA = {
    "noise": ("en", "zh"),
    "rejection": ("en", "zh"),
    "integration": ("en_int", "zh_int"),
    "counterfactual": ("en_fact", "zh_fact"),
}
"""The files that the paper's numbers are of; those ending in _refine were corrected afterwards."""
PAPER_PROFILE, PAPER_TRACK, PAPER_DOCS = "code-2023", "code", 5


class TableColumn(NamedTuple):
    """One column: its heading, and which cells stand in it."""

    heading: str
    metric: str
    noise: float | None = None
    is_share: bool = True
    """Shown in per cent."""


_DIFFERENCES = ("_gap", "_gain")
"""How metrics end that compare two conditions."""


@dataclass(frozen=True)
class TableRow:
    """One model on one dataset with one number of documents."""

    key: TrialGroup
    docs: int | None
    cells: tuple[Estimate | None, ...]
    comparable: bool
    """With the paper: same files, same layout, same way of counting."""
    condition: str = ""
    """What else tells it from other rows, as `arm=random`."""

    @property
    def data(self) -> str:
        """The dataset, and how it was asked."""
        return ", ".join(filter(None, (self.key.data, self.key.profile, self.condition)))

    @property
    def asked(self) -> int:
        """Cases behind the cell with the most; a difference has those of both its sides, and does not count."""
        return max((cell.asked for cell in self._rates), default=0)

    @property
    def errors(self) -> int:
        """Of them, those without a reply, in the cell with the most."""
        return max((cell.errors for cell in self._rates), default=0)

    @property
    def _rates(self) -> list[Estimate]:
        there = [cell for cell in self.cells if cell is not None]
        return [cell for cell in there if not cell.metric.endswith(_DIFFERENCES)] or there


@dataclass(frozen=True)
class ReportTable:
    """A table of a report."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True)
class Report:
    """What all formats are drawn from."""

    runs: tuple[str, ...]
    track: str
    cells: tuple[Cell, ...]
    """Of all tracks and scopes; tables show one track."""
    tables: tuple[ReportTable, ...]
    findings: tuple[ClaimFinding, ...]
    """The paper's claims; they need the cells of the robust track."""
    causes: tuple[Cause, ...] = ()
    """Why answers are wrong, where that was looked into."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Under which models are shown, by model string; tables and findings have these names."""

    @cached_property
    def shown(self) -> list[Cell]:
        """Return the cells with the names under which models are shown."""
        return [_renamed(cell, self.names) for cell in self.cells]

    @cached_property
    def shown_causes(self) -> list[Cause]:
        """Return the causes with the names under which models are shown."""
        return [cause._replace(model=self.names.get(cause.model, cause.model)) for cause in self.causes]


def make_report(
    runs: Sequence[str],
    cells: Sequence[Cell],
    track: str,
    causes: Sequence[Cause] = (),
    names: Mapping[str, str] | None = None,
) -> Report:
    """Arrange the cells of a track, and check claims against all.

    Args:
        runs: Names of the runs.
        cells: Of all tracks.
        track: Which the tables show.
        causes: Why answers are wrong.
        names: Under which models are shown; derived from the model strings if None.
    """
    names = short_names(cell.key.model for cell in cells) if names is None else names
    named = [_renamed(cell, names) for cell in cells]
    shown = [cell for cell in named if cell.track == track and cell.scope == "all"]
    tables = [_arrange(name, title, columns, shown, track) for name, title, columns in _layout(shown)]
    findings = [_with_names(finding, names) for finding in check_claims(ClaimInputs(cells, causes))]
    tables.append(_arrange_judged(_with_judges_named(named)))
    kept = tuple(table for table in tables if table.rows)
    return Report(tuple(runs), track, tuple(cells), kept, tuple(findings), tuple(causes), names)


def _renamed(cell: Cell, names: Mapping[str, str]) -> Cell:
    model = cell.key.model
    return cell if names.get(model, model) == model else replace(cell, key=cell.key._replace(model=names[model]))


def _with_names(finding: ClaimFinding, names: Mapping[str, str]) -> ClaimFinding:
    """Claims are checked by model string, which says what is a language model, and shown by name."""
    rows = [
        replace(row, key=row.key._replace(model=names.get(row.key.model, row.key.model))) for row in finding.evidence
    ]
    return replace(finding, evidence=tuple(rows))


def _layout(cells: Sequence[Cell]) -> Iterable[tuple[str, str, tuple[TableColumn, ...]]]:
    yield "noise", "Noise robustness: accuracy by noise ratio", _by_noise(cells, "noise")
    yield (
        "noise arms",
        "Noise robustness: other distractor conditions, by noise ratio",
        _by_noise(cells, "noise", other_arms=True),
    )
    yield "noise length", "Noise robustness: one supporting document among so many", _by_documents(cells)
    yield "noise curve", "Noise robustness: the curve as a whole", _CURVE
    yield "rejection", "Negative rejection", _REJECTION
    yield "integration", "Information integration: accuracy by noise ratio", _by_noise(cells, "integration")
    yield "integration parts", "Information integration: sub-answers, without noise", _PARTS
    yield "counterfactual", "Counterfactual robustness: all documents false", _COUNTERFACTUAL
    yield "counterfactual true", "Counterfactual robustness: some documents true", _COUNTERFACTUAL
    yield "closed-book", "Closed book", _CLOSED
    yield "remedies", "Prompting strategies: against the plain prompt, on the same questions and documents", _REMEDIES
    yield "own-retrieval", "Own retrieval: what is found, and what is lost against given documents", _RETRIEVAL
    noise = _by_noise(cells, "own-retrieval", "accuracy_by_retrieved_noise")
    yield "own-retrieval noise", "Own retrieval: accuracy by the share of noise among what was found", noise
    for testbed in dict.fromkeys(cell.table for cell in cells if cell.table not in (*METRICS, "remedies")):
        yield testbed, f"Testbed {testbed}", _OTHER


_CURVE = (
    TableColumn("ρ10", "rho10", is_share=False),
    TableColumn("mean", "auc"),
    TableColumn("kept", "retention"),
    TableColumn("slope", "slope", is_share=False),
    TableColumn("declines from", "first_decline", is_share=False),
)
_REJECTION = (
    TableColumn("refuses", "refusal_recall"),
    TableColumn("refuses wrongly", "false_refusal"),
    TableColumn("F1", "refusal_f1"),
    TableColumn("balanced", "balanced_accuracy"),
    TableColumn("right without evidence", "correct_without_evidence"),
)
_PARTS = (
    TableColumn("sub-answers", "sub_answer_recall", 0.0),
    TableColumn("bound rightly", "aligned_recall", 0.0),
    TableColumn("all parts", "accuracy", 0.0),
    TableColumn("every part alone", "every_part_alone", 0.0),
    TableColumn("tax", "integration_tax", 0.0),
)
_COUNTERFACTUAL = (
    TableColumn("right", "accuracy", 0.0),
    TableColumn("detects", "error_detection", 0.0),
    TableColumn("corrects, of detected", "corrected_of_flagged", 0.0),
    TableColumn("misled", "misled_at_all", 0.0),
)
_OTHER = (
    TableColumn("right", "accuracy"),
    TableColumn("declines", "refusal"),
    TableColumn("detects", "error_detection"),
)
"""Of a testbed that a plug-in brings."""
_CLOSED = (
    TableColumn("right", "accuracy"),
    TableColumn("declines", "refusal"),
    TableColumn("right, instructed", "accuracy_instructed"),
    TableColumn("declines, instructed", "refusal_instructed"),
)
_REMEDIES = (
    TableColumn("noise, right", "noise_rate"),
    TableColumn("noise, gain", "noise_gain"),
    TableColumn("rejection, refuses", "rejection_rate"),
    TableColumn("rejection, gain", "rejection_gain"),
    TableColumn("integration, right", "integration_rate"),
    TableColumn("integration, gain", "integration_gain"),
    TableColumn("counterfactual, right", "counterfactual_rate"),
    TableColumn("counterfactual, gain", "counterfactual_gain"),
    TableColumn("calls", "calls", is_share=False),
    TableColumn("tokens in", "tokens_in", is_share=False),
    TableColumn("tokens out", "tokens_out", is_share=False),
    TableColumn("seconds", "seconds", is_share=False),
)
_RETRIEVAL = (
    TableColumn("recall", "retrieval_recall"),
    TableColumn("distracting", "retrieved_distracts"),
    TableColumn("false", "retrieved_contradicts"),
    TableColumn("unknown", "retrieved_unknown"),
    TableColumn("told", "retrieval_told"),
    TableColumn("right", "accuracy"),
    TableColumn("right, given", "accuracy_given"),
    TableColumn("gap", "retrieval_gap"),
    TableColumn("refuses, withheld", "refusal_withheld"),
    TableColumn("citations support", "cited_supports"),
)


_JUDGED = (
    TableColumn("declines", "refusal"),
    TableColumn("says wrong", "flag"),
    TableColumn("then corrects", "flag_then_correct"),
    TableColumn("right", "correct"),
    TableColumn("suffices", "sufficient"),
    TableColumn("backed", "supported"),
    TableColumn("Rej*", "code.rej_star"),
    TableColumn("ED*", "code.ed_star"),
    TableColumn("CR", "code.ed_star_then_correct"),
)
"""What judges are asked (`ragbed judge`)."""


def _by_noise(
    cells: Sequence[Cell], table: str, metric: str = "accuracy", *, other_arms: bool = False
) -> tuple[TableColumn, ...]:
    ratios = {
        cell.place.get("noise")
        for cell in cells
        if cell.table == table and cell.estimate.metric == metric and bool(cell.place.get("arm")) == other_arms
    }
    return tuple(TableColumn(f"{ratio:.3g}", metric, ratio) for ratio in sorted(r for r in ratios if r is not None))


def _by_documents(cells: Sequence[Cell]) -> tuple[TableColumn, ...]:
    counts = {cell.place.get("k") for cell in cells if cell.table == "noise" and _place(cell, "noise length")}
    return tuple(TableColumn(str(count), "accuracy", float(count)) for count in sorted(k for k in counts if k))


def _spot(cell: Cell, table: str) -> float | None:
    """What a cell's column goes by: the noise ratio, or the number of documents."""
    return float(cell.place.get("k") or 0) if table == "noise length" else cell.place.get("noise")


def _arrange(name: str, title: str, columns: tuple[TableColumn, ...], cells: Sequence[Cell], track: str) -> ReportTable:
    source = name.partition(" ")[0]
    found: dict[tuple[TrialGroup, int | None, str], dict[tuple[str, float | None], Estimate]] = {}
    for cell in cells:
        if cell.table == source and (place := _place(cell, name)) is not None:
            row = found.setdefault((cell.key, *place), {})
            row[cell.estimate.metric, _spot(cell, name)] = cell.estimate
    if name not in PAPER_DATA:  # what nobody was asked has no column
        metrics = {metric for row in found.values() for metric, _ in row}
        columns = tuple(column for column in columns if column.metric in metrics)
    rows = []
    for (key, docs, condition), row in found.items():
        picked = tuple(_pick(row, column) for column in columns)
        if any(cell is not None for cell in picked):
            comparable = not condition and _is_comparable(source, key, docs, track)
            rows.append(TableRow(key, docs, picked, comparable, condition))
    return ReportTable(name, title, columns, tuple(rows))


def _arrange_judged(cells: Sequence[Cell]) -> ReportTable:
    """Arrange the judges' rates, a row for each judge and condition, whatever track the other tables show."""
    found: dict[tuple[TrialGroup, int | None, str], dict[str, Estimate]] = {}
    for cell in cells:
        if cell.scope == "all":
            row = found.setdefault((cell.key, cell.place.get("k"), _judged_condition(cell)), {})
            row[cell.estimate.metric] = cell.estimate
    columns = tuple(column for column in _JUDGED if any(column.metric in row for row in found.values()))
    rows = [
        TableRow(key, docs, tuple(row.get(column.metric) for column in columns), False, condition + _undecided(row))
        for (key, docs, condition), row in found.items()
    ]
    return ReportTable("judged", "What judges say", columns, tuple(rows))


def _with_judges_named(cells: Sequence[Cell]) -> list[Cell]:
    """Return the judges' cells, with the short names of the judges."""
    judged = [cell for cell in cells if cell.track.startswith(JUDGED)]
    names = short_names(cell.track.removeprefix(JUDGED) for cell in judged)
    return [replace(cell, track=JUDGED + names[cell.track.removeprefix(JUDGED)]) for cell in judged]


def _judged_condition(cell: Cell) -> str:
    told = {"noise": cell.place.get("noise"), "true": cell.place.get("correct") or None, "arm": cell.place.get("arm")}
    some = [f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}" for name, value in told.items()
            if value is not None]  # fmt: skip
    return ", ".join([cell.table, *some, cell.track])


def _undecided(row: dict[str, Estimate]) -> str:
    """Cases on which a judge gave no verdict that can be read: they are asked, and no yes."""
    most = max(cell.asked - cell.n for cell in row.values())
    return f", {most} undecided" if most else ""


def _place(cell: Cell, table: str) -> tuple[int | None, str] | None:
    """Documents and condition of the row in which a cell stands; None if it does not stand in this table."""
    arm, true = cell.place.get("arm"), cell.place.get("correct")
    if table in ("noise arms", "noise length"):
        is_here = arm and (cell.place.get("noise") is None) == (table == "noise length")
        return (None if table == "noise length" else cell.place.get("k"), f"arm={arm}") if is_here else None
    if table == "counterfactual true":
        return (cell.place.get("k"), f"true={true:.3g}") if true and not arm else None
    return None if arm or true else (cell.place.get("k"), "")


def _pick(row: dict[tuple[str, float | None], Estimate], column: TableColumn) -> Estimate | None:
    """The cell at the column's ratio; a column without one takes the metric wherever it stands."""
    if column.noise is not None:
        return row.get((column.metric, column.noise))
    return next((cell for (metric, _), cell in row.items() if metric == column.metric), None)


def _is_comparable(table: str, key: TrialGroup, docs: int | None, track: str) -> bool:
    same_files = key.data in PAPER_DATA.get(table, ())
    return same_files and key.profile == PAPER_PROFILE and track == PAPER_TRACK and docs == PAPER_DOCS
