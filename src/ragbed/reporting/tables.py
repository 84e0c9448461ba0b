"""Arrange cells in tables: the paper's four tables and additional ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

from ragbed.analysis.claims import ClaimFinding, ClaimInputs, check_claims
from ragbed.analysis.claims.base import ClaimEvidence
from ragbed.analysis.diagnosis.causes import Cause
from ragbed.analysis.diagnosis.examples import ErrorRow, read_error_rows
from ragbed.analysis.locale import Locale, read_words
from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import JUDGED, Cell
from ragbed.analysis.metrics.length import PARTS
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.paper.tables import PaperTable, inferred_rows, read_tables
from ragbed.reporting.decision_texts import as_record
from ragbed.reporting.numbers import PAIRED, RowCounts, count_cases
from ragbed.runs.decided import DecidedInterval
from ragbed.runs.display_names import short_names
from ragbed.schema import Estimate
from ragbed.scoring.citations import CITATION_SCORES
from ragbed.scoring.version import scorer_hash

# The datasets on which the paper's numbers are based. Those ending in _refine are later corrections.
PAPER_DATA = {
    "noise": ("en", "zh"),
    "rejection": ("en", "zh"),
    "integration": ("en_int", "zh_int"),
    "counterfactual": ("en_fact", "zh_fact"),
}
_Keyed = TypeVar("_Keyed", Cell, ClaimEvidence)
PAPER_PROFILE, PAPER_TRACK, PAPER_DOCS = "code-2023", "code", 5
_Condition: TypeAlias = tuple[tuple[str, str], ...]  # Names in the locale section `conditions`, with values.
_PRIOR = "_prior_"  # Separates the metric from the prior in the names of conflict metrics.


def tell_condition(name: str, value: str, words: Locale) -> str:
    """Return one part of a condition, e.g. `distractors=random`; values without a text are shown unchanged."""
    return words(f"conditions.{name}", value=words.section(f"values.{name}").get(value, value))


class TableColumn(NamedTuple):
    """A column and the metric and noise ratio of its cells; `is_share` means that values are shown as percentages."""

    heading: str
    metric: str
    noise: float | None = None
    is_share: bool = True


@dataclass(frozen=True)
class TableRow:
    """A table row for a model, a dataset and a number of documents.

    A `comparable` row uses the paper's files, document layout and scoring. `condition` distinguishes rows
    further, by names and values, e.g. `distractors` and `random`.
    """

    key: TrialGroup
    docs: int | None
    cells: tuple[Estimate | None, ...]
    comparable: bool
    condition: _Condition = ()
    printed: bool = False  # whether the row is from the paper

    @property
    def data(self) -> str:
        """Return the name of the dataset, followed by the profile and the condition."""
        return self.tell_data(read_words("en"))

    def tell_data(self, words: Locale) -> str:
        """Return the data, the profile and the condition in the language of the texts."""
        condition = [tell_condition(name, value, words) for name, value in self.condition]
        return ", ".join(filter(None, (self.key.data, self.key.profile, *condition)))

    @property
    def counts(self) -> RowCounts:
        """Return the numbers of cases, failed, truncated and filtered ones, as ranges over the cells."""
        return count_cases(self.cells)


@dataclass(frozen=True)
class ReportTable:
    """A table in a report."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


class IncompleteRun(NamedTuple):
    """A run in which some cases have no result yet."""

    run: str
    finished: int
    planned: int

    def describe(self, words: Locale) -> str:
        """Return a sentence that gives the number of results and says how to complete the run."""
        counts = {name: f"{getattr(self, name):,}" for name in ("finished", "planned")}
        return words("page.unfinished", run=self.run, **counts)


@dataclass(frozen=True)
class Report:
    """The content of a report, from which all formats are written.

    `cells` has all tracks and scopes; tables show one track. `findings` concern the paper's claims and use the robust
    track. `causes` are the diagnosed errors, and `errors` are their types with examples. `names` maps model strings to
    display names, which tables, findings and errors use. `is_monitored` is set if a run has a stopping
    condition (`--until`); its intervals are then valid at any stopping time. `incomplete` lists the unfinished runs.
    `conditions` are the outcomes of the stopping conditions. `scorer` is the hash of the scorer whose values the
    tables show.
    """

    runs: tuple[str, ...]
    track: str
    cells: tuple[Cell, ...]
    tables: tuple[ReportTable, ...]
    findings: tuple[ClaimFinding, ...]
    causes: tuple[Cause, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    is_monitored: bool = False
    errors: tuple[ErrorRow, ...] = ()
    incomplete: tuple[IncompleteRun, ...] = ()
    conditions: tuple[DecidedInterval, ...] = ()
    scorer: str = field(default_factory=scorer_hash)

    def notes(self, words: Locale) -> list[str]:
        """Return notes on the whole report: incomplete runs, a different scorer version, and excluded responses."""
        notes = [run.describe(words) for run in self.incomplete]
        if self.scorer != scorer_hash():
            notes.append(words("page.other_scorer", scorer=self.scorer or "–", current=scorer_hash()))
        if unscored := sum(cell.estimate.asked - cell.estimate.n for cell in self.cells if self._has_excluded(cell)):
            notes.append(words("page.unscored", count=f"{unscored:,}"))
        return notes

    def _has_excluded(self, cell: Cell) -> bool:
        """Return whether a cell shows the accuracy under one condition and excludes responses that cannot be scored."""
        is_condition = cell.table == "closed-book" or cell.place.get("noise") is not None
        is_shown = (cell.track, cell.scope, cell.estimate.metric) == (self.track, "all", "accuracy")
        return is_shown and is_condition and cell.estimate.asked > cell.estimate.n

    def records(self) -> list[dict[str, object]]:
        """Return one record per cell, and one per stopping condition with `until` as the table name."""
        return [*(cell.as_json() for cell in self.cells), *map(as_record, self.conditions)]

    @property
    def has_printed(self) -> bool:
        """Return whether any table has rows from the paper."""
        return any(row.printed for table in self.tables for row in table.rows)

    @property
    def table_notes(self) -> list[str]:
        """Return the keys of the table notes about served models, paired differences and the paper's rows."""
        cells = [cell for table in self.tables for row in table.rows for cell in row.cells if cell is not None]
        notes = {
            # `asked` does not include failed and filtered calls whose served model is unknown.
            "served": any(cell.errors + cell.filtered > cell.asked for cell in cells),
            "paired": any(column.metric.endswith(PAIRED) for table in self.tables for column in table.columns),
            "printed": self.has_printed,
        }
        return [name for name, is_needed in notes.items() if is_needed]

    @cached_property
    def shown(self) -> list[Cell]:
        """Return the cells with the models' display names."""
        return [_renamed(cell, self.names) for cell in self.cells]

    @cached_property
    def shown_causes(self) -> list[Cause]:
        """Return the diagnosed errors with the models' display names."""
        return [cause._replace(model=self.names.get(cause.model, cause.model)) for cause in self.causes]


def make_report(
    runs: Sequence[str],
    cells: Sequence[Cell],
    track: str,
    causes: Sequence[Cause] = (),
    names: Mapping[str, str] | None = None,
) -> Report:
    """Arrange a track's cells in tables, and check the paper's claims against all cells.

    Args:
        runs: Names of the runs.
        cells: Cells of all tracks.
        track: Track shown in the tables.
        causes: Diagnosed errors.
        names: Display names by model string; derived from the model strings if None.
    """
    names = short_names(cell.key.model for cell in cells) if names is None else names
    errors = tuple(row._replace(model=names.get(row.model, row.model)) for row in read_error_rows(causes))
    named = [_renamed(cell, names) for cell in cells]
    shown = [cell for cell in named if cell.track == track and cell.scope == "all"]
    common = [cell for cell in named if cell.track == track and cell.scope == "common"]
    tables = [
        _arrange(name, columns, common if name == "conflict common" else shown, track)
        for name, columns in _layout(shown)
    ]
    tables.append(_arrange_judged(_with_judges_named(named)))
    # Claims apply only to language models, and the model string shows whether a model is a baseline.
    findings = [
        replace(finding, evidence=tuple(_renamed(row, names) for row in finding.evidence))
        for finding in check_claims(ClaimInputs(cells, causes))
    ]
    kept = tuple(beside_paper(table) for table in tables if table.rows)
    return Report(tuple(runs), track, tuple(cells), kept, tuple(findings), tuple(causes), names, errors=errors)


def _renamed(keyed: _Keyed, names: Mapping[str, str]) -> _Keyed:
    model = keyed.key.model
    return keyed if names.get(model, model) == model else replace(keyed, key=keyed.key._replace(model=names[model]))


def _columns(metrics: str, noise: float | None = None, *, is_share: bool = True) -> tuple[TableColumn, ...]:
    headings = read_words("en").section("columns")
    return tuple(TableColumn(headings[metric], metric, noise, is_share) for metric in metrics.split())


_CURVE = (
    *_columns("rho10", is_share=False),
    *_columns("auc retention slope"),
    *_columns("first_decline", is_share=False),
)
_PARTS = (
    *_columns("sub_answer_recall aligned_recall", 0.0),
    TableColumn("all parts", "accuracy", 0.0),
    *_columns("every_part_alone integration_tax", 0.0),
)
_STRATEGIES = (
    *_columns("noise_rate noise_gain rejection_rate rejection_gain integration_rate integration_gain"),
    *_columns("counterfactual_rate counterfactual_gain"),
    *_columns("calls tokens_in tokens_out seconds", is_share=False),
)
_RETRIEVAL = _columns(
    "retrieval_recall ndcg mrr recall_at_k precision_at_k "
    "retrieved_distracts retrieved_contradicts retrieved_unknown retrieval_told "
    "accuracy accuracy_given retrieval_gap refusal_withheld cited_supports"
)
_CONFLICT = (
    *_columns("prior_right prior_wrong prior_none conflict_accuracy prior_bias context_bias"),
    *_columns("context_bias_subtle context_bias_plausible context_bias_blatant"),
    *_columns("flip_point", is_share=False),
)
_LENGTH_CURVE = (
    *_columns("retention slope_per_doubling"),
    *_columns("docs10", is_share=False),
)
_CITATIONS = _columns(" ".join(CITATION_SCORES))
_SEARCH = (
    *_columns("accuracy refusal error_detection misled_at_all false_refusal fair_refusal given_rate search_gap"),
    *_columns("search_recall"),
    *_columns("tokens_per_correct dollars_per_correct", is_share=False),
)
_SEARCHES = (
    *_columns("searches", is_share=False),
    *_columns("search_recall_1 search_recall_2 search_recall_3 search_repeated search_useless search_invalid"),
    *_columns("never_searched stopped_early searched_too_long search_limit"),
    *_columns("poor_query found_but_ignored trusted_false"),
)
_SELECTIVE = (
    *_columns("coverage_at_5"),
    *_columns("threshold_at_5 aurc brier", is_share=False),
    *_columns("no_confidence"),
)
_REJECTION = _columns("refusal_recall false_refusal refusal_f1 balanced_accuracy correct_without_evidence")
_COUNTERFACTUAL = _columns("accuracy error_detection corrected_of_flagged misled_at_all", 0.0)
_CLOSED = _columns("accuracy refusal accuracy_instructed refusal_instructed")
_COST = _columns("cost cost_per_case cost_per_correct", is_share=False)
_OTHER = _columns("accuracy refusal error_detection")  # Columns for plug-in testbeds.
_JUDGED = _columns(
    "refusal flag flag_then_correct correct sufficient supported code.rej_star code.ed_star code.ed_star_then_correct"
)


def _layout(cells: Sequence[Cell]) -> Iterator[tuple[str, tuple[TableColumn, ...]]]:
    yield "noise", _by_noise(cells, "noise")
    yield "noise arms", _by_noise(cells, "noise", other_arms=True)
    counts = {cell.place.get("k") for cell in cells if cell.table == "noise" and _place(cell, "noise length")}
    yield "noise length", tuple(TableColumn(str(k), "accuracy", float(k)) for k in sorted(k for k in counts if k))
    yield "noise curve", _CURVE
    yield "rejection", _REJECTION
    yield "integration", _by_noise(cells, "integration")
    yield "integration parts", _PARTS
    yield "counterfactual", _COUNTERFACTUAL
    yield "counterfactual true", _COUNTERFACTUAL
    yield "conflict", _CONFLICT
    yield "conflict common", _CONFLICT
    shares = sorted({cell.place.get("correct") or 0.0 for cell in cells if cell.table == "conflict"})
    yield "conflict prior", tuple(TableColumn(f"{share:.3g}", "accuracy", share) for share in shares)
    counts = {cell.place.get("k") for cell in cells if cell.table == "length"}
    yield "length", tuple(TableColumn(str(k), "accuracy", float(k)) for k in sorted(k for k in counts if k))
    yield "length curve", _LENGTH_CURVE
    yield (
        "length parts",
        (
            *_columns("prompt_tokens", is_share=False),
            *(TableColumn(str(part + 1), "accuracy_by_part", float(part)) for part in range(PARTS)),
            *_columns("middle_loss"),
        ),
    )
    yield "closed-book", _CLOSED
    yield "remedies", _STRATEGIES
    yield "own-retrieval", _RETRIEVAL
    yield "own-retrieval noise", _by_noise(cells, "own-retrieval", "accuracy_by_retrieved_noise")
    yield "citations", _CITATIONS
    yield "citations noise", _by_noise(cells, "citations", "citation_f1")
    yield "search", _SEARCH
    yield "search turns", _SEARCHES
    yield "selective", _SELECTIVE
    yield "cost", _COST
    for testbed in dict.fromkeys(cell.table for cell in cells if cell.table not in (*METRICS, "remedies", "cost")):
        yield testbed, _OTHER


def _by_noise(
    cells: Sequence[Cell], table: str, metric: str = "accuracy", *, other_arms: bool = False
) -> tuple[TableColumn, ...]:
    ratios = {
        cell.place.get("noise")
        for cell in cells
        if cell.table == table and cell.estimate.metric == metric and bool(cell.place.get("arm")) == other_arms
    }
    return tuple(TableColumn(f"{ratio:.3g}", metric, ratio) for ratio in sorted(r for r in ratios if r is not None))


def _arrange(name: str, columns: tuple[TableColumn, ...], cells: Sequence[Cell], track: str) -> ReportTable:
    source = name.partition(" ")[0]
    found: dict[tuple[TrialGroup, int | None, _Condition], dict[tuple[str, float | None], Estimate]] = {}
    for cell in cells:
        if cell.table == source and (place := _place(cell, name)) is not None:
            metric = cell.estimate.metric.partition(_PRIOR)[0] if name == "conflict prior" else cell.estimate.metric
            found.setdefault((cell.key, *place), {})[metric, _column_of(cell, name)] = cell.estimate
    if name not in PAPER_DATA:  # Tables that are not in the paper omit columns without measurements.
        metrics = {metric for row in found.values() for metric, _ in row}
        columns = tuple(column for column in columns if column.metric in metrics)
    rows = []
    for (key, docs, condition), row in found.items():
        picked = tuple(_pick(row, column) for column in columns)
        if any(cell is not None for cell in picked):
            same_setup = (key.profile, track, docs) == (PAPER_PROFILE, PAPER_TRACK, PAPER_DOCS)
            comparable = not condition and same_setup and key.data in PAPER_DATA.get(source, ())
            rows.append(TableRow(key, docs, picked, comparable, condition))
    return ReportTable(name, _title(name), columns, tuple(rows))


# Maps each of our tables to the corresponding table in the paper, and each of our metrics to a column of that table. If
# no metrics are listed, the paper's columns are noise ratios.
_PRINTED: dict[str, tuple[str, dict[str, str]]] = {
    "noise": ("noise", {}),
    "rejection": ("rejection", {"refusal_recall": "Rej"}),
    "integration": ("integration", {}),
    "counterfactual": (
        "counterfactual",
        {"accuracy": "Acc_doc", "error_detection": "ED", "corrected_of_flagged": "CR"},
    ),
    "closed-book": ("counterfactual", {"accuracy": "Acc"}),
}
_RGB_FILES = frozenset(f"{lang}{end}" for lang in ("en", "zh") for end in ("", "_refine", "_int", "_fact"))


def beside_paper(table: ReportTable) -> ReportTable:
    """Add the paper's values below our rows for each language in which we have results on RGB's files."""
    langs = {row.key.lang for row in table.rows if row.key.data in _RGB_FILES}
    if table.name not in _PRINTED or not langs:
        return table
    source, metrics = _PRINTED[table.name]
    printed: PaperTable = getattr(read_tables(), source)
    if source == "counterfactual":  # the paper has closed-book results only for its counterfactual files
        langs = {row.key.lang for row in table.rows if row.key.data in PAPER_DATA[source]}
    rows = []
    for lang, model, values in printed.rows():
        by_column = dict(zip(printed.columns, values, strict=True))
        cells = tuple(_printed_cell(column, by_column, metrics, source) for column in table.columns)
        if lang in langs and any(cells):
            name = f"{model} (paper){' ‡' if (lang, model) in inferred_rows(source) else ''}"
            docs = PAPER_DOCS if table.name == source else None
            rows.append(TableRow(TrialGroup(name, "RGB", lang, ""), docs, cells, False, printed=True))
    return replace(table, rows=(*table.rows, *rows))


def _printed_cell(
    column: TableColumn, printed: Mapping[str, float], metrics: Mapping[str, str], source: str
) -> Estimate | None:
    by_ratio = {float(name): name for name in printed if not metrics}
    name = metrics.get(column.metric) if metrics else by_ratio.get(-1.0 if column.noise is None else column.noise)
    if name is None:
        return None
    n = read_tables().questions[source]
    counts = {"n": n, "questions": n, "asked": n, "errors": 0, "infeasible": 0}
    return Estimate(metric=column.metric, value=printed[name] / 100, low=None, high=None, **counts)


def _title(name: str) -> str:
    return read_words("en").section("tables").get(name, f"Testbed {name}")


def _arrange_judged(cells: Sequence[Cell]) -> ReportTable:
    """Tabulate the rates based on judges' verdicts, which do not depend on the track, by judge and condition."""
    found: dict[tuple[TrialGroup, int | None, _Condition], dict[str, Estimate]] = {}
    for cell in cells:
        row = found.setdefault((cell.key, cell.place.get("k"), _judged_condition(cell)), {})
        row[cell.estimate.metric] = cell.estimate
    columns = tuple(column for column in _JUDGED if any(column.metric in row for row in found.values()))
    rows = []
    for (key, docs, condition), row in found.items():
        undecided = max(cell.unsure for cell in row.values())
        note = (("undecided", str(undecided)),) if undecided else ()
        rows.append(TableRow(key, docs, tuple(row.get(column.metric) for column in columns), False, condition + note))
    return ReportTable("judged", _title("judged"), columns, tuple(rows))


def _with_judges_named(cells: Sequence[Cell]) -> list[Cell]:
    judged = [cell for cell in cells if cell.track.startswith(JUDGED)]
    names = short_names(cell.track.removeprefix(JUDGED) for cell in judged)
    return [replace(cell, track=JUDGED + names[cell.track.removeprefix(JUDGED)]) for cell in judged]


def _judged_condition(cell: Cell) -> _Condition:
    values = {
        "noise": cell.place.get("noise"),
        "true": cell.place.get("correct") or None,
        "distractors": cell.place.get("arm"),
    }
    shown = [
        (name, f"{value:.3g}" if isinstance(value, float) else str(value))
        for name, value in values.items()
        if value is not None
    ]
    limits = [("only", "unsure")] if cell.scope == "unsure" else []
    return ("testbed", cell.table), *shown, ("judge", cell.track.removeprefix(JUDGED)), *limits


def _column_of(cell: Cell, table: str) -> float | None:
    """Return the value that determines a cell's column.

    It is usually a noise ratio, but some tables use the number of documents, the part of the prompt that contains the
    supporting document, or the share of true documents.
    """
    if table in ("noise length", "length"):
        return float(cell.place.get("k") or 0)
    if table == "length parts":
        return cell.place.get("slot")
    return cell.place.get("correct") if table == "conflict prior" else cell.place.get("noise")


def _place(cell: Cell, table: str) -> tuple[int | None, _Condition] | None:
    """Return the number of documents and the condition for a cell's row, or None if the cell is not in this table."""
    arm, true = cell.place.get("arm"), cell.place.get("correct")
    if table in ("noise arms", "noise length"):
        is_here = arm and (cell.place.get("noise") is None) == (table == "noise length")
        return (
            (None if table == "noise length" else cell.place.get("k"), (("distractors", str(arm)),))
            if is_here
            else None
        )
    if table in ("length", "length curve", "length parts"):
        is_curve = cell.place.get("k") is None
        shown = None if table == "length" else cell.place.get("k")
        return (shown, _setting(arm)) if is_curve == (table == "length curve") else None
    if table in ("search", "search turns"):
        return cell.place.get("k"), _setting(arm)
    if table == "conflict prior":
        prior = cell.estimate.metric.partition(_PRIOR)[2]
        return (cell.place.get("k"), (("prior", prior),)) if prior and true is not None else None
    if table == "counterfactual true":
        return (cell.place.get("k"), (("true", f"{true:.3g}"),)) if true and not arm else None
    is_summary = true is None if table.startswith("conflict") else not true
    return None if arm or not is_summary else (cell.place.get("k"), ())


def _setting(setting: str | None) -> _Condition:
    """Return the condition for a setting such as `random` or `size=1000`."""
    if setting is None:
        return ()
    name, _, value = setting.partition("=")
    return ((name, value),) if name in ("size", "false") else (("setting", setting),)


def _pick(row: dict[tuple[str, float | None], Estimate], column: TableColumn) -> Estimate | None:
    """Return the cell at the column's ratio or, if the column has no ratio, the first cell for its metric."""
    if column.noise is not None:
        return row.get((column.metric, column.noise))
    return next((cell for (metric, _), cell in row.items() if metric == column.metric), None)
