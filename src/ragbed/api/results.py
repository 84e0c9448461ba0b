"""Results returned by API functions: lists of records, and runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

from msgspec import to_builtins

from ragbed.errors import RagbedError, UsageError, did_you_mean
from ragbed.schema import Lang

if TYPE_CHECKING:
    import pandas

    from ragbed.api.analysis_results import ComparisonResult
    from ragbed.reporting.tables import ReportTable
    from ragbed.runs.status import Status

_MAX_ROWS = 60
_CELL = "text-align: left; white-space: nowrap; padding: 2px 12px 2px 0"
_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding: 12px 0 2px 0"
_FAINT = "opacity: 0.65; font-size: 90%"
_ERROR_COLUMNS = ("model", "case", "repeat", "kind", "message", "traceback")
_DISAGREEMENT_COLUMNS = ("model", "case", "score", "credit", "verdict", "reply", "evidence")


class Records(Sequence[dict[str, Any]]):
    """A list of rows as plain dictionaries, shown as a table when printed or displayed in a notebook.

    Convert the list with `pandas.DataFrame(records)` or `polars.DataFrame(list(records))`.

    Args:
        rows: Table rows, as dictionaries. Missing keys are shown as empty cells.
        title: Heading of the printed table.
        shown: Rows to print instead of `rows`, e.g. rows with confidence intervals.
        columns: Columns to show even if there are no rows.

    Example:
        >>> records = ragbed.Records([{"model": "a", "accuracy": 0.9}, {"model": "b", "accuracy": 0.8}])
        >>> [row["model"] for row in records if row["accuracy"] > 0.85]
        ['a']
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        title: str = "",
        shown: Iterable[Mapping[str, Any]] | None = None,
        columns: Sequence[str] = (),
    ) -> None:
        self._rows, self._leading = [dict(row) for row in rows], columns
        self._shown = self._rows if shown is None else [dict(row) for row in shown]
        self.title = title

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the keys of all rows in order of first appearance."""
        return _columns(self._rows, self._leading)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # rows are mutable

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("to_pandas() requires pandas: pip install 'ragbed[pandas]'") from None
        return pandas.DataFrame(self._rows, columns=list(self.columns))

    def __repr__(self) -> str:
        from ragbed.reporting.text_table import draw_table

        columns = _columns(self._shown, self._leading)
        rows = [[_text(row.get(column)) for column in columns] for row in self._shown[:_MAX_ROWS]]
        ((heading, body),) = draw_table(columns, rows).parts
        return "\n".join(filter(None, [self.title, *heading, *body, self._rest()]))

    def _repr_html_(self) -> str:
        """Return the table as HTML for notebooks, with escaped values."""
        columns = _columns(self._shown, self._leading)
        head = "".join(f"<th style='{_CELL}'>{_escape(column)}</th>" for column in columns)
        rows = (
            "<tr>"
            + "".join(f"<td style='{_CELL}'>{_markup(_text(row.get(column)))}</td>" for column in columns)
            + "</tr>"
            for row in self._shown[:_MAX_ROWS]
        )
        caption = f"<caption style='{_CAPTION}'>{_escape(self.title)}</caption>"
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return table + (f"<p style='{_FAINT}'>{self._rest()}</p>" if self._rest() else "")

    def _rest(self) -> str:
        if not self._shown:
            return "No rows"
        hidden = len(self._shown) - _MAX_ROWS
        return f"… {hidden:,} more rows" if hidden > 0 else ""


def _columns(rows: Iterable[Mapping[str, Any]], leading: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*leading, *(key for row in rows for key in row)]))


def _text(value: object) -> str:
    """Format a value for a cell in a printed table."""
    if value is None:
        return "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _markup(cell: str) -> str:
    """Return a cell as HTML, with any confidence interval in a lighter colour."""
    number, bracket, interval = _escape(cell).partition(" [")
    return f"{number} <span style='{_FAINT}'>[{interval}</span>" if bracket else number


@dataclass(frozen=True, repr=False)
class Run:
    """A stored run, as returned by `ragbed.run` and `ragbed.open_run`.

    Attributes:
        folder: The run's folder.
        gates: Results of the `fail_under` gates: name, state (passed, failed or inconclusive) and message.
        conditions: Results of the `until` stopping conditions: condition, model, name, state (decided or inconclusive)
            and message.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
        >>> run.outcomes
        {'ok': 10}
        >>> [row["value"] for row in run.metrics() if row["metric"] == "accuracy"]
        [1.0, 1.0]
    """

    folder: Path
    gates: Records = field(default_factory=lambda: Records([]), hash=False)
    conditions: Records = field(default_factory=lambda: Records([]), hash=False)

    def status(self) -> Status:
        """Return each model's progress, outcome counts and token counts, even while the run is in progress.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> [(model.model, model.planned, model.ok) for model in run.status().models]
            [('scripted/oracle', 5, 5)]
        """
        from ragbed.runs.status import read_status

        return read_status(self.folder)

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of cases by outcome: ok, truncated, filtered (by the content filter), error or pending.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> run.outcomes
            {'ok': 5}
        """
        models = self.status().models
        names = ("ok", "truncated", "filtered", "error", "pending")
        counts = {name: sum(getattr(model, name) for model in models) for name in names}
        return {name: count for name, count in counts.items() if count}

    @property
    def errors(self) -> Records:
        """The failed trials, with model, case, repeat, error kind, message and traceback.

        Only errors in Python functions have a traceback. To retry failed cases, call `run` again with the same `out`.

        Example:
            >>> def fails(prompt):
            ...     raise ValueError("no key")
            >>> run = ragbed.run(fails, "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> run.errors[0]["message"]
            'ValueError: no key'
        """
        from ragbed.runs.store import open_store

        with open_store(self.folder, create=False) as store:
            failed = [
                {"model": result.model, "case": result.case.case, "repeat": result.repeat}
                | _split_error(result.completion.error or "")
                for result in store.results()
                if result.completion.outcome == "error"
            ]
        return Records(failed, f"Errors of {self.folder}", columns=_ERROR_COLUMNS)

    def tables(self, scorer: str = "robust") -> dict[str, Records]:
        """Return the report's tables by name, e.g. noise, rejection, integration, counterfactual and closed-book.

        Rates are fractions from 0 to 1; printed tables show percentages with 95% confidence intervals.

        Args:
            scorer: Scorer: robust, code, paper, or a plug-in's scorer.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", noise=[0, 0.4], limit=5)
            >>> list(run.tables())[:2]
            ['noise', 'noise curve']
        """
        from ragbed.analysis.run_cells import read_published, read_report_cells
        from ragbed.reporting.tables import make_report
        from ragbed.runs.display_names import read_row_names

        names = read_row_names([self.folder])
        cells, published = read_report_cells([self.folder], [scorer]), read_published([self.folder], names.labels)
        report = make_report([str(self.folder)], cells, scorer, names=names.shown, published=published)
        return {table.name: _to_records(table) for table in report.tables}

    def table(self, name: str, scorer: str = "robust") -> Records:
        """Return one of the report's tables.

        Raises:
            UsageError: The run has no table with this name.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
            >>> run.table("noise")[0]["0.4"]
            1.0
        """
        tables = self.tables(scorer)
        if name not in tables:
            available = ", ".join(tables) or "none"
            raise UsageError(
                f"{self.folder} has no table {name!r}. Available tables: {available}.{did_you_mean(name, tables)}"
            )
        return tables[name]

    def metrics(self, scorer: str = "robust") -> Records:
        """Return every number in the report: one row per metric and condition, with confidence interval, n and errors.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=5)
            >>> row = next(row for row in run.metrics() if row["metric"] == "accuracy")
            >>> row["value"], row["n"], row["errors"], 0 < row["low"] < row["high"]
            (1.0, 5, 0, True)
        """
        from ragbed.analysis.run_cells import read_report_cells

        cells = read_report_cells([self.folder], [scorer])
        return Records([cell.as_json() for cell in cells], f"Metrics of {self.folder}")

    def trials(self) -> Iterator[dict[str, Any]]:
        """Yield every case with its response and scores, as written by `ragbed export RUN --to jsonl`.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> sum(trial["scores"]["correct"] for trial in run.trials())
            5
        """
        from ragbed.analysis.trials.table import TrialTable
        from ragbed.runs.trials import trial_fields

        with TrialTable(self.folder) as table:
            for result, scores in table.scored():
                yield to_builtins(trial_fields(result, scores, canonical=False))

    def disagreements(self, scorer: Literal["code", "paper"] = "code") -> Records:
        """Return the responses that a scorer and the robust scorer score differently, with the deciding evidence.

        `credit` is `false` if only the scorer gives credit, and `missed` if only the robust scorer does.

        Example:
            >>> run = ragbed.run("scripted/echo", "ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=5)
            >>> {row["credit"] for row in run.disagreements("code")}
            {'false'}
        """
        from ragbed.runs.store import open_scored
        from ragbed.scoring.disagreements import find_disagreements

        with open_scored(self.folder) as store:
            trials = ((result.model, result.case, result.completion) for result in store.results())
            found = [to_builtins(one) for one in find_disagreements(trials, scorer)]
        title = f"Responses of {self.folder} that the scorers {scorer} and robust score differently"
        return Records(found, title, columns=_DISAGREEMENT_COLUMNS)

    def records(self) -> Records:
        """Return a flat row per trial, with scores, `tokens_in`, `tokens_out`, `tokens_reasoning` and `tokens_cached`.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> run.records()[0]["score.correct"]
            True
        """
        return Records(map(_flat, self.trials()), f"Trials of {self.folder}")

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per trial.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
            >>> run.to_pandas().groupby("noise")["score.correct"].mean().tolist()
            [1.0, 1.0]
        """
        return self.records().to_pandas()

    def compare(self, other: Run | str | Path, *, scorer: str = "robust", min_drop: float = 0.03) -> ComparisonResult:
        """Compare this run (as A) with another run (as B), question by question; see `ragbed.compare`.

        Example:
            >>> options = {"data": "ragbed-mini-en_base", "testbeds": "noise", "noise": 0, "limit": 5}
            >>> good, bad = ragbed.run("scripted/oracle", **options), ragbed.run("scripted/refuser", **options)
            >>> good.compare(bad).records()[0]["difference"]
            -1.0
        """
        from ragbed.api.analysis import compare

        return compare(self, other, scorer=scorer, min_drop=min_drop)

    def figures(self, scorer: str = "robust", locale: Lang = "en") -> list[Figure]:
        """Return the report's figures, which notebooks can display.

        Args:
            scorer: Scorer, as in `tables`.
            locale: Language of titles and labels: en or zh.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
            >>> run.figures()[0].svg.startswith("<svg")
            True
        """
        from ragbed.analysis.locale import read_words
        from ragbed.analysis.run_cells import read_report_cells
        from ragbed.api.parameters import check_choice
        from ragbed.reporting.figures import make_figures
        from ragbed.reporting.pages.images import PICTURES
        from ragbed.reporting.tables import make_report
        from ragbed.runs.display_names import read_names

        check_choice("locale", locale, get_args(Lang))
        cells = read_report_cells([self.folder], [scorer])
        report = make_report([str(self.folder)], cells, scorer, names=read_names([self.folder]))
        charts = make_figures(report.shown, scorer, read_words(locale))
        return [Figure(chart.name, chart.title, PICTURES["svg"](chart).decode()) for chart in charts]

    def __repr__(self) -> str:
        try:
            counts = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.items()) or "no calls"
        except RagbedError:  # e.g. the folder was deleted; debuggers and test reports show objects at any time
            counts = "cannot be read"
        return f"Run({str(self.folder)!r}: {counts})"

    def _repr_html_(self) -> str:
        from ragbed.reporting.numbers import FEW

        tables = "".join(table._repr_html_() for table in self.tables().values())
        note = f"Percentages of n with 95% intervals clustered by question; * marks fewer than {FEW} questions."
        return f"<b>{_escape(repr(self))}</b>{tables}<p style='{_FAINT}'>{note}</p>"


@dataclass(frozen=True)
class Figure:
    """A report figure as SVG, which notebooks can display.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
        >>> run.figures()[0].title
        'Noise robustness: ragbed-mini-en_base, 5 documents, profile robust'
    """

    name: str
    title: str
    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


def _split_error(error: str) -> dict[str, str | None]:
    """Split a stored error into kind, message and traceback."""
    first, _, trace = error.partition("\n")
    kind, _, message = first.partition(": ")
    return {"kind": kind, "message": message, "traceback": trace or None}


def _flat(trial: dict[str, Any]) -> dict[str, Any]:
    scores, usage = trial.pop("scores") or {}, trial.pop("usage") or {}
    tokens = {f"tokens_{name}": usage.get(name) for name in ("in", "out", "reasoning", "cached")}
    return trial | tokens | {f"score.{name}": value for name, value in scores.items()}


def _to_records(table: ReportTable) -> Records:
    """Convert a report table to records of plain numbers, which are shown as percentages with confidence intervals."""
    from ragbed.reporting.numbers import show, show_asked

    rows, shown = [], []
    for row in table.rows:
        start: dict[str, Any] = {"model": row.key.model, "data": row.data, "lang": row.key.lang, "documents": row.docs}
        cells = list(zip(table.columns, row.cells, strict=True))
        values = {column.heading: None if cell is None else cell.value for column, cell in cells}
        counts = row.counts
        n = {"n": counts.n.low, "n_max": counts.n.high}
        failed = {name: getattr(counts, name).high for name in ("errors", "truncated", "filtered")}
        rows.append(start | n | failed | values)
        texts = {column.heading: show(cell, column) for column, cell in cells}
        shown.append(start | {"n": show_asked(counts)} | texts)
    return Records(rows, table.title, shown)


def _escape(text: str) -> str:
    from html import escape  # imported here, because only notebooks use it

    return escape(text)
