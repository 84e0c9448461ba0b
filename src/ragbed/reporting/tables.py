"""Arrange cells in tables: the paper's four tables and additional ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ragbed.analysis.causes import CauseSummary, describe_run
from ragbed.analysis.diagnosis.summary import ErrorTypes, RunDiagnosis, read_error_types
from ragbed.analysis.locale import Locale, read_metrics, read_words
from ragbed.analysis.metrics import METRICS
from ragbed.analysis.metrics.cells import JUDGED, ONE_SUPPORTING, RULES, Cell
from ragbed.analysis.metrics.length import PARTS
from ragbed.analysis.paper.tables import INFERRED, PaperTable, read_tables
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.reporting.numbers import COMBINED, FEW, PAIRED, RowCounts, count_cases, show, show_asked
from ragbed.reporting.table import Table, compact, group_by
from ragbed.runs.decided import DecidedInterval
from ragbed.runs.display_names import short_names
from ragbed.schema import Estimate

PAPER_PROFILE, PAPER_SCORER, PAPER_DOCS = "code-2023", "code", 5
_Condition: TypeAlias = tuple[tuple[str, str], ...]  # Names in the locale section `conditions`, with values.
_RowKey: TypeAlias = tuple[TrialGroup, int | None, _Condition]
# An estimate after its row, and the metric and the number that determine its column.
_Located: TypeAlias = tuple[_RowKey, str, float | None, Estimate]
PLACE = ("data", "lang", "profile", "noise", "k", "arm", "correct", "slot")  # The fields of a decision's place.
Published: TypeAlias = Mapping[tuple[str, str], str]  # Name of RGB's file, by model and dataset.


def tell_condition(name: str, value: str, words: Locale) -> str:
    """Return one part of a condition, e.g. `distractors=random`; values without a text are shown unchanged."""
    return words(f"conditions.{name}", value=words.section(f"values.{name}").get(value, value))


class TableColumn(NamedTuple):
    """A column and the metric of its cells.

    `at` is the noise ratio of its cells, or another number that distinguishes them (see `_column_of`). `is_share` means
    that values are shown as percentages.
    """

    heading: str
    metric: str
    at: float | None = None
    is_share: bool = True

    def tell(self, words: Locale) -> str:
        """Return the heading in the language of the texts; numbers are the same in every language."""
        if self.metric == "accuracy_by_part":
            return f"{20 * int(self.heading) - 20}–{20 * int(self.heading)}%"
        # A number is the same in both languages, and a metric of a user's scorer has no other heading.
        if self.heading[:1].isdigit() or f"columns.{self.metric}" not in words.texts:
            return self.heading
        return words(f"columns.{self.metric}", noise="" if self.at is None else f"{self.at:.3g}")


@dataclass(frozen=True)
class TableRow:
    """A table row for a model, a dataset and a number of documents.

    A `comparable` row has the paper's files, all their questions, and the paper's document layout and scoring.
    `condition` distinguishes rows further, by names and values, e.g. `distractors` and `random`.
    """

    key: TrialGroup
    docs: int | None
    condition: _Condition
    cells: tuple[Estimate | None, ...]
    comparable: bool = False
    printed: bool = False  # whether the row is from the paper

    def tell_data(self, words: Locale) -> str:
        """Return the data, the profile and the condition in the language of the texts."""
        condition = [tell_condition(name, value, words) for name, value in self.condition]
        return ", ".join(filter(None, (self.key.data, self.key.profile, *condition)))

    @property
    def counts(self) -> RowCounts:
        """Return the numbers of cases, and of failed, truncated and filtered ones."""
        return count_cases(self.cells)


@dataclass(frozen=True)
class ReportTable:
    """A table in a report."""

    name: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]

    def as_table(self, words: Locale) -> Table:
        """Return the table with plain numbers, which are shown as percentages with confidence intervals."""
        rows: list[dict[str, object]] = []
        shown: list[dict[str, Any]] = []
        names = [words(f"page.{name}") for name in ("model", "data", "lang", "documents", "asked")]
        for row in self.rows:
            key, counts = row.key, row.counts
            by_column = list(zip(self.columns, row.cells, strict=True))
            data = row.tell_data(read_words("en"))
            start = {"model": key.model, "data": data, "lang": key.lang, "documents": row.docs}
            failed = {name: getattr(counts, name) for name in ("errors", "truncated", "filtered")}
            values = {column.heading: None if cell is None else cell.value for column, cell in by_column}
            rows.append(start | {"n": counts.least, "n_max": counts.most} | failed | values)
            model = key.model + (" †" if row.comparable else "")
            named = (model, row.tell_data(words), key.lang, row.docs, show_asked(counts, words))
            cells = {column.tell(words): show(cell, column, words) for column, cell in by_column}
            shown.append({**dict(zip(names, named, strict=True)), **cells})
        title = words.section("tables").get(self.name, f"Testbed {self.name}")
        if self.name == "own-rag":
            shown = self._by_measure(names[:4], words)
        common, shown = compact(shown, names[:4] if self.name == "own-rag" else names[1:4])
        return Table(rows, title + common, shown)

    def _by_measure(self, keys: Sequence[str], words: Locale) -> list[dict[str, Any]]:
        """Return a row for each measure, with the conditions side by side, because there are too many measures."""
        shown = []
        for (key, docs), rows in group_by(self.rows, lambda row: (row.key, row.docs)).items():
            start = dict(zip(keys, (key.model, f"{key.data}, {key.profile}", key.lang, docs), strict=True))
            conditions = [", ".join(tell_condition(*part, words) for part in row.condition) for row in rows]
            for number, column in enumerate(self.columns):
                cells = [row.cells[number] for row in rows]
                if {cell.value for cell in cells if cell is not None} - {None, _USUAL.get(column.metric)}:
                    values = {name: show(cell, column, words) for name, cell in zip(conditions, cells, strict=True)}
                    asked = {words("page.asked"): show_asked(count_cases(cells), words)}
                    shown.append(start | {words("method.metric"): column.tell(words)} | asked | values)
        return shown


@dataclass(frozen=True)
class Report:
    """The content of a report, from which all formats are written.

    `cells` has all scorers and scopes; tables show one. `diagnoses` are the wrong answers, and `errors` are their
    types. `names` maps model strings to display names, which tables, diagnoses and errors use. `is_monitored` is set
    if a run has a stopping condition (`--until`); its intervals are then valid at any stopping time. `conditions` are
    the outcomes of the stopping conditions. `messages` are notes on runs, as the keys of their texts with the values.
    `causes` say why a RAG system's answers are wrong. `results` is the number of results in all runs.
    """

    runs: tuple[str, ...]
    scorer: str
    cells: tuple[Cell, ...]
    tables: tuple[ReportTable, ...]
    diagnoses: tuple[RunDiagnosis, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    is_monitored: bool = False
    errors: ErrorTypes = field(default_factory=dict)
    messages: tuple[tuple[str, Mapping[str, str]], ...] = ()
    conditions: tuple[DecidedInterval, ...] = ()
    causes: tuple[CauseSummary, ...] = ()
    results: int = 0

    def notes(self, words: Locale) -> list[str]:
        """Return notes on the whole report: causes of wrong answers, incomplete runs, cached and excluded responses."""
        notes = describe_run(self.causes, words.lang)
        notes += [words("page.unjudged")] if self.results and not self.tables else []
        notes += [words(key, **values) for key, values in self.messages]
        for key, metric in (("page.unscored", "accuracy"), ("page.undecided", "expected")):
            excluded = [cell.estimate for cell in self.cells if self._has_excluded(cell, metric)]
            if excluded:
                notes.append(words(key, count=f"{sum(one.asked - one.n for one in excluded):,}"))
        return notes

    def _has_excluded(self, cell: Cell, metric: str) -> bool:
        """Return whether a cell shows a rate under one condition and excludes responses that cannot be scored."""
        is_condition = cell.table in ("closed-book", "given") or cell.place.get("noise") is not None
        is_shown = (cell.scorer, cell.scope, cell.estimate.metric) == (self.scorer, "all", metric)
        return is_shown and is_condition and cell.estimate.asked > cell.estimate.n

    def records(self) -> list[dict[str, object]]:
        """Return one record per cell, and one per stopping condition with `until` as the table name."""
        return [*(cell.as_json() for cell in self.cells), *map(_decision_record, self.conditions)]

    @property
    def table_notes(self) -> list[str]:
        """Return the keys of the notes that explain what the tables show."""
        rows = [row for table in self.tables for row in table.rows]
        notes = {
            "rates": True,
            "ranges": any(row.counts.least < row.counts.most for row in rows),
            "combined": any(all(cell is None or cell.metric.endswith(COMBINED) for cell in row.cells) for row in rows),
            "few": any(cell and cell.value is not None and cell.questions < FEW for row in rows for cell in row.cells),
            "comparable": any(row.comparable for row in rows),
            "paired": any(column.metric.endswith(PAIRED) for table in self.tables for column in table.columns),
            "printed": any(row.printed for row in rows),
        }
        return [name for name, is_needed in notes.items() if is_needed]

    @cached_property
    def shown(self) -> list[Cell]:
        """Return the cells with the models' display names."""
        return [_renamed(cell, self.names) for cell in self.cells]


def _decision_record(one: DecidedInterval) -> dict[str, object]:
    """Return an outcome as a record for a CSV or JSON report, with a cell's columns plus columns for the decision."""
    last, place = one.last, {name: one.place.get(name) for name in PLACE}
    whole = {name: int(value) for name, value in place.items() if name in ("k", "slot") and isinstance(value, float)}
    return {
        "table": "until", "model": one.model,
        **place, **whole,
        "metric": f"{one.table}.{one.metric}",
        "value": None if last is None else last.value,
        "low": None if last is None else last.low,
        "high": None if last is None else last.high,
        "questions": one.questions if last is None else last.questions,
        "condition": one.condition, "state": one.state, "conclusion": one.conclusion,
        "decided_low": one.low if one.state == "decided" else None,
        "decided_high": one.high if one.state == "decided" else None,
        "decided_questions": one.questions if one.state == "decided" else None,
        "scorer": one.scorer or None,
    }  # fmt: skip


def make_report(
    runs: Sequence[str],
    cells: Sequence[Cell],
    scorer: str,
    diagnoses: Sequence[RunDiagnosis] = (),
    names: Mapping[str, str] | None = None,
    published: Published | None = None,
) -> Report:
    """Arrange a scorer's cells in tables.

    Args:
        runs: Names of the runs.
        cells: Cells of all scorers.
        scorer: Scorer shown in the tables.
        diagnoses: Diagnosed wrong answers.
        names: Display names by label; derived from the labels if None.
        published: Names of RGB's files, by label and dataset, for datasets that are identical to them.
    """
    names = short_names(cell.key.model for cell in cells) if names is None else names
    published = {(names.get(label, label), data): file for (label, data), file in (published or {}).items()}
    diagnoses = tuple(one._replace(label=names.get(one.label, one.label)) for one in diagnoses)
    named = [_renamed(cell, names) for cell in cells]
    shown = [cell for cell in named if cell.scorer == scorer and cell.scope == "all"]
    layout = _LAYOUT | {cell.table: _PLUGIN for cell in shown if cell.table not in (*METRICS, *_LAYOUT)}
    tables = [_arrange(name, columns, _locate(name, shown)) for name, columns in layout.items()]
    if scorer == PAPER_SCORER:
        tables = [_beside_paper(table, published) for table in tables]
    tables.append(_tabulate_conditions("judged", _JUDGED, [cell for cell in named if cell.scorer.startswith(JUDGED)]))
    own = [cell for cell in shown if cell.is_own]
    columns = {cell.estimate.metric: not cell.is_number for cell in own}
    own_columns = [TableColumn(metric, metric, is_share=is_share) for metric, is_share in columns.items()]
    tables.append(_tabulate_conditions("scores", own_columns, own))
    kept = tuple(table for table in tables if table.rows)
    return Report(tuple(runs), scorer, tuple(cells), kept, diagnoses, names, errors=read_error_types(diagnoses))


def _renamed(cell: Cell, names: Mapping[str, str]) -> Cell:
    model = cell.key.model
    return cell if names.get(model, model) == model else replace(cell, key=cell.key._replace(model=names[model]))


def _columns(first: str = "", table: str = "", at: float | None = None) -> tuple[TableColumn, ...]:
    """Return the columns of the named metrics, and then of all others of a table in `metrics.toml` with a heading."""
    metrics = {metric.name: metric for metric in read_metrics()}
    of_table = (metric.name for metric in read_metrics() if metric.table == table and metric.heading["en"])
    names = dict.fromkeys([*first.split(), *of_table])
    return tuple(TableColumn(metrics[name].heading["en"], name, at, metrics[name].share) for name in names)


# Stand for one column for each noise ratio, or other number, under which the table has cells.
_EACH, _EACH_CHANGE = TableColumn("", "accuracy"), TableColumn("", "change")
_COUNTERFACTUAL = _columns("accuracy", "counterfactual", 0.0)
_SEARCH = _columns(
    "accuracy refusal error_detection misled_at_all false_refusal fair_refusal given_rate search_gap "
    "attack_success injection_change reported search_recall "
    "tokens_per_correct dollars_per_correct"
)
_LAYOUT: dict[str, tuple[TableColumn, ...]] = {
    "noise": (_EACH,),
    "noise arms": (_EACH,),
    "noise length": (_EACH,),
    "noise curve": (*_columns("auc"), _EACH_CHANGE),
    "rejection": _columns(table="rejection"),
    "integration": (_EACH, *_columns(table="integration", at=0.0)),
    "counterfactual": _COUNTERFACTUAL,
    "counterfactual true": _COUNTERFACTUAL,
    "conflict": _columns(table="conflict"),
    "conflict prior": (_EACH,),
    "length": (_EACH, *_columns("slope_per_doubling")),
    "length parts": (
        *_columns("prompt_tokens"),
        *(TableColumn(str(part + 1), "accuracy_by_part", float(part)) for part in range(PARTS)),
        *_columns("middle_loss"),
    ),
    "closed-book": _columns("accuracy", "closed-book"),
    "given": _columns("expected accuracy false_refusal refusal_recall error_detection"),
    "remedies": _columns(table="strategies"),
    "own-rag": (
        *_columns("accuracy corpus_change false_refusal", "own-rag"),
        *_columns("attack_success attack_override attack_append attack_recommend attack_refuse reported"),
    ),
    "citations": _columns(table="citations"),
    "search": _SEARCH,
    "search turns": tuple(column for column in _columns(table="search") if column not in _SEARCH),
    "injection": _columns("attack_success attack_in_supporting attack_in_distracting accuracy injection_change")
    + _columns("false_refusal reported"),
    "injection position": (TableColumn("", "attack_success"),),
    "cost": _columns(table="cost"),
}
# Values at which a measure in the own-rag testbed says nothing: all passages are reported, and none is false.
_USUAL = {"retrieval_told": 1.0, "retrieved_contradicts": 0.0}
_PLUGIN = _columns("accuracy refusal error_detection")  # the columns of testbeds from plug-ins
_JUDGED = _columns("refusal", "judged")


def _arrange(name: str, columns: Iterable[TableColumn], cells: Iterable[_Located]) -> ReportTable:
    found: dict[_RowKey, dict[tuple[str, float | None], Estimate]] = {}
    for row, metric, at, estimate in cells:
        found.setdefault(row, {})[metric, at] = estimate
    present = dict.fromkeys(at for row in found.values() for at in row)
    known = [one for column in columns for one in _spread(column, present)]
    rows = (TableRow(*key, tuple(_pick(row, column) for column in known)) for key, row in found.items())
    return ReportTable(name, tuple(known), tuple(row for row in rows if any(row.cells)))


def _spread(column: TableColumn, present: Iterable[tuple[str, float | None]]) -> list[TableColumn]:
    """Return the columns that a column stands for, or nothing if the table has no cells for its metric."""
    numbers = [at for metric, at in present if metric == column.metric]
    if column.heading:
        return [column] if numbers else []
    headings = {at: f"{at:.3g}" for at in sorted(at for at in numbers if at is not None)}
    if column == _EACH_CHANGE:
        headings = {at: read_words("en")("columns.change", noise=heading) for at, heading in headings.items()}
    return [column._replace(heading=heading, at=at) for at, heading in headings.items()]


def _pick(row: dict[tuple[str, float | None], Estimate], column: TableColumn) -> Estimate | None:
    """Return the cell at the column's number or, if the column has none, the first cell for its metric."""
    if column.at is not None:
        return row.get((column.metric, column.at))
    return next((cell for (metric, _), cell in row.items() if metric == column.metric), None)


# What distinguishes the columns of one metric in a table; by default, it is the noise ratio.
_AXES = {"noise length": "k", "length": "k", "length parts": "slot", "conflict prior": "correct"}
_AXES["injection position"] = "slot"


def _locate(table: str, cells: Iterable[Cell]) -> Iterator[_Located]:
    """Yield the cells in a table; several tables can show a testbed's cells."""
    for cell in cells:
        if cell.table == table.partition(" ")[0] and (row := _find_row(cell, table)) is not None:
            value = cell.place.get(_AXES.get(table, "noise"))
            # The table `conflict prior` has the metrics of all priors in one column.
            metric = cell.estimate.metric.partition("_prior_")[0] if table == "conflict prior" else cell.estimate.metric
            at = float(value) if isinstance(value, int | float) else None
            yield (cell.key, *row), metric, at, cell.estimate


def _find_row(cell: Cell, table: str) -> tuple[int | None, _Condition] | None:
    """Return the number of documents and the condition for a cell's row, or None if the cell is not in this table."""
    k, arm, true = cell.place.get("k"), cell.place.get("arm"), cell.place.get("correct")
    prior, has_noise = cell.estimate.metric.partition("_prior_")[2], cell.place.get("noise") is not None
    of_arm, of_setting = (("distractors", str(arm)),), _setting(arm)
    places: dict[str, tuple[bool, int | None, _Condition]] = {
        "noise arms": (arm is not None and has_noise, k, of_arm),
        "noise length": (arm is not None and not has_noise, None, of_arm),
        "length": (True, None, of_setting),
        "length parts": (k is not None, k, of_setting),
        **dict.fromkeys(("own-rag", "search", "search turns"), (True, k, of_setting)),
        "injection": (cell.place.get("slot") is None, k, of_setting or (("setting", "all kinds"),)),
        "injection position": (cell.place.get("slot") is not None and arm is None, k, ()),
        "conflict prior": (bool(prior) and true is not None, k, (("prior", prior),)),
        "counterfactual true": (bool(true) and not arm, k, (("true", f"{true or 0:.3g}"),)),
    }
    is_usual = not arm and (true is None if table == "conflict" else not true)
    is_one = table.startswith("noise") and k == ONE_SUPPORTING
    usual = (is_usual, None, (("supporting", "1"),)) if is_one else (is_usual, k, ())
    is_here, docs, condition = places.get(table, usual)
    return (docs, condition) if is_here else None


def _setting(setting: str | None) -> _Condition:
    """Return the condition for a setting such as `random` or `size=1000`."""
    if setting is None:
        return ()
    name, _, value = setting.partition("=")
    return ((name, value),) if value and name in ("size", "false", "injected") else (("setting", setting),)


class _PaperSource(NamedTuple):
    """Where the values of a table appear in the paper.

    Attributes:
        table: The name of the paper's table.
        files: RGB's files on which it is based. Those ending in _refine are later corrections.
        metrics: The paper's column for each of our metrics; empty if the paper's columns are noise ratios.
        every: The metrics whose rates are over all questions.
    """

    table: str
    files: tuple[str, str]
    metrics: dict[str, str]
    every: tuple[str, ...]


_BASE, _INT, _FACT = ("en", "zh"), ("en_int", "zh_int"), ("en_fact", "zh_fact")
_COUNTED = {"accuracy": "Acc_doc", "error_detection": "ED", "correct_rate": "CR"}
_PRINTED = {
    "noise": _PaperSource("noise", _BASE, {}, ("accuracy",)),
    "rejection": _PaperSource("rejection", _BASE, {"all_rate": "Rej"}, ("all_rate",)),
    "integration": _PaperSource("integration", _INT, {}, ("accuracy",)),
    "counterfactual": _PaperSource("counterfactual", _FACT, _COUNTED, ("accuracy", "error_detection")),
    "closed-book": _PaperSource("counterfactual", _FACT, {"accuracy": "Acc"}, ("accuracy",)),
}


def _beside_paper(table: ReportTable, published: Published) -> ReportTable:
    """Mark the rows that are comparable with the paper's, and add the paper's values in their languages below them."""
    source = _PRINTED.get(table.name)
    if source is None:
        return table
    docs = None if table.name == "closed-book" else PAPER_DOCS
    rows = [replace(row, comparable=_is_comparable(row, docs, source, published)) for row in table.rows]
    langs = {row.key.lang for row in rows if row.comparable}
    printed: PaperTable = getattr(read_tables(), source.table)
    for lang, model, values in printed.rows():
        by_column = dict(zip(printed.columns, values, strict=True))
        cells = tuple(_printed_cell(column, by_column, source) for column in table.columns)
        if lang in langs and any(cells):
            name = f"{model} (paper){' ‡' if (source.table, lang, model) in INFERRED else ''}"
            rows.append(TableRow(TrialGroup(name, "RGB", lang, ""), docs, (), cells, printed=True))
    return replace(table, rows=tuple(rows))


def _is_comparable(row: TableRow, docs: int | None, source: _PaperSource, published: Published) -> bool:
    """Return whether a row has the paper's files and setting, and all questions once and without failed calls."""
    key, n = row.key, read_tables().questions[source.table]
    rates = [cell for cell in row.cells if cell is not None and cell.metric in source.every]
    is_same = published.get((key.model, key.data)) in source.files and key.profile == PAPER_PROFILE
    is_complete = all(
        rate.asked == rate.questions == n and not (rate.errors or rate.filtered or rate.infeasible) for rate in rates
    )
    return is_same and (row.docs, row.condition) == (docs, ()) and bool(rates) and is_complete


def _printed_cell(column: TableColumn, printed: Mapping[str, float], source: _PaperSource) -> Estimate | None:
    if source.metrics:
        name = source.metrics.get(column.metric)
    else:
        name = next((one for one in printed if column.metric == "accuracy" and float(one) == column.at), None)
    if name is None:
        return None
    n = read_tables().questions[source.table]
    counts = {"n": n, "questions": n, "asked": n, "errors": 0, "infeasible": 0}
    return Estimate(metric=column.metric, value=printed[name] / 100, low=None, high=None, **counts)


def _tabulate_conditions(name: str, columns: Iterable[TableColumn], cells: Sequence[Cell]) -> ReportTable:
    """Tabulate the metrics of judges or of a user's scorer: one row per condition and judge, one column per metric."""
    judges = short_names(cell.scorer.removeprefix(JUDGED) for cell in cells if cell.scorer.startswith(JUDGED))
    located: list[_Located] = [
        (
            (cell.key, cell.place.get("k"), _condition_of(cell, judges)),
            cell.estimate.metric,
            None,
            cell.estimate,
        )
        for cell in cells
    ]
    table = _arrange(name, columns, located)
    undecided = [max(cell.unsure for cell in row.cells if cell is not None) for row in table.rows]
    rows = (
        replace(row, condition=(*row.condition, ("undecided", str(count)))) if count else row
        for row, count in zip(table.rows, undecided, strict=True)
    )
    return replace(table, rows=tuple(rows))


def _condition_of(cell: Cell, judges: Mapping[str, str]) -> _Condition:
    judge, testbed = cell.scorer.removeprefix(JUDGED), ("testbed", cell.table)
    if judge.startswith(RULES):
        labels = judge.removeprefix(RULES)
        name = "few_labels" if labels and cell.estimate.value is None else "labels" if labels else "rules"
        return testbed, (name, labels)
    noise, true, arm = cell.place.get("noise"), cell.place.get("correct"), cell.place.get("arm")
    shown = [] if noise is None else [("noise", f"{noise:.3g}")]
    shown += [("true", f"{true:.3g}")] if true else []
    shown += [("expected" if cell.table == "given" else "distractors", arm)] if arm else []
    shown += [] if cell.is_own else [("judge", judges[judge])]
    return testbed, *shown, *([("only", "unsure")] if cell.scope == "unsure" else [])
