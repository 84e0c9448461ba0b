"""Runs, as API functions return and take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from msgspec import to_builtins

from ragbed.api.specification import check_choice, check_path
from ragbed.errors import RagbedError, UsageError, did_you_mean, option
from ragbed.reporting.table import Table
from ragbed.schema import Lang

if TYPE_CHECKING:
    import pandas


_ERROR_COLUMNS = ("model", "case", "repeat", "kind", "message", "traceback")


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
    gates: Table = field(default_factory=lambda: Table([]), hash=False)
    conditions: Table = field(default_factory=lambda: Table([]), hash=False)

    @property
    def outcomes(self) -> dict[str, int]:
        """The number of cases by outcome: ok, truncated, filtered (by the content filter), error or pending.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> run.outcomes
            {'ok': 5}
        """
        from ragbed.runs.status import read_status

        models = read_status(self.folder).models
        names = ("ok", "truncated", "filtered", "error", "pending")
        counts = {name: sum(getattr(model, name) for model in models) for name in names}
        return {name: count for name, count in counts.items() if count}

    @property
    def errors(self) -> Table:
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

        failed = list[dict[str, Any]]()
        with open_store(self.folder, create=False) as store:
            for result in store.results():
                if result.completion.outcome == "error":
                    first, _, trace = (result.completion.error or "").partition("\n")
                    kind, _, message = first.partition(": ")
                    row = {"model": result.model, "case": result.case.case, "repeat": result.repeat}
                    failed.append(row | {"kind": kind, "message": message, "traceback": trace or None})
        return Table(failed, f"Errors of {self.folder}", columns=_ERROR_COLUMNS)

    def tables(self, scorer: str = "robust") -> dict[str, Table]:
        """Return the report's tables by name, e.g. noise, rejection, integration, counterfactual and closed-book.

        Rates are fractions from 0 to 1; printed tables show percentages with 95% confidence intervals.

        Args:
            scorer: robust, code, paper, `python/<module>:<function>`, or a scorer from a plug-in.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", noise=[0, 0.4], limit=5)
            >>> list(run.tables())[:2]
            ['noise', 'noise curve']
        """
        from ragbed.analysis.locale import read_words
        from ragbed.api.reports import read_report

        return {table.name: table.as_table(read_words("en")) for table in read_report([self.folder], scorer).tables}

    def table(self, name: str, scorer: str = "robust") -> Table:
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

    def metrics(self, scorer: str = "robust") -> Table:
        """Return every number in the report: one row per metric and condition, with confidence interval, n and errors.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0.4, limit=5)
            >>> row = next(row for row in run.metrics() if row["metric"] == "accuracy")
            >>> row["value"], row["n"], row["errors"], 0 < row["low"] < row["high"]
            (1.0, 5, 0, True)
        """
        from ragbed.analysis.run_cells import read_report_cells

        return Table(
            [cell.as_json() for cell in read_report_cells([self.folder], [scorer])], f"Metrics of {self.folder}"
        )

    def trials(self, scorer: str = "robust") -> Iterator[dict[str, Any]]:
        """Yield every case with its response and scores, as written by `ragbed export RUN --to jsonl`.

        Args:
            scorer: A scorer whose scores are added if it is not built in, e.g. `python/my_metrics:score`.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> sum(trial["scores"]["correct"] for trial in run.trials())
            5
        """
        from ragbed.analysis.trials.table import TrialTable
        from ragbed.runs.trials import trial_fields

        with TrialTable(self.folder, [scorer]) as table:
            for result, scores in table.scored():
                yield to_builtins(trial_fields(result, scores, canonical=False))

    def records(self, scorer: str = "robust") -> Table:
        """Return a flat row per trial, with scores, `tokens_in`, `tokens_out`, `tokens_reasoning` and `tokens_cached`.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
            >>> run.records()[0]["score.correct"]
            True
        """
        from ragbed.runs.trials import flatten_trial

        return Table(map(flatten_trial, self.trials(scorer)), f"Trials of {self.folder}")

    def to_pandas(self, scorer: str = "robust") -> pandas.DataFrame:
        """Return a DataFrame with one row per trial; `scorer` is as in `trials`.

        Example:
            >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=[0, 0.4], limit=5)
            >>> run.to_pandas().groupby("noise")["score.correct"].mean().tolist()
            [1.0, 1.0]
        """
        return self.records(scorer).to_pandas()

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
        from ragbed.api.reports import read_report
        from ragbed.reporting.figures import make_figures
        from ragbed.reporting.pages.charts import PICTURES

        check_choice("locale", locale, get_args(Lang))
        charts = make_figures(read_report([self.folder], scorer).shown, scorer, read_words(locale))
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
        return f"<b>{escape(repr(self))}</b>{tables}<p>{note}</p>"


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


RunLike: TypeAlias = Run | str | Path
"""A run, or its folder."""
RunsLike: TypeAlias = RunLike | Sequence[RunLike]


def several(values: object, parameter: str | None = None) -> list[Any]:
    """Return a value, or the values of a list or tuple, as a list.

    Raises:
        UsageError: There is no value, and a parameter name was passed because one is required.
    """
    found = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    if not found and parameter:
        raise UsageError(f"{option(parameter)} is empty. Give at least one value.")
    return found


def only_path(value: object) -> Path | None:
    """Return the path if a parameter is a single path or a list with one path, otherwise None."""
    single = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    return Path(single) if isinstance(single, str | Path) else None


def run_folders(runs: RunsLike, name: str = "runs") -> list[Path]:
    """Return the folders of the runs given by a parameter."""
    return [run_folder(run, name) for run in several(runs, name)]


def run_folder(run: RunLike, name: str = "run") -> Path:
    """Return the folder of the run given by a parameter."""
    if isinstance(run, Run):
        return run.folder
    if not isinstance(run, str | Path):
        raise UsageError(f"{option(name, repr(run))} is not a run. Use a Run, or the path of its folder.")
    return check_path(name, run)
