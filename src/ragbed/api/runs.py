"""Python's way to the same things as the command line; use it as `import ragbed`, then `ragbed.run(…)`.

Options have the names of the command line's, with `_` for `-`, and mean the same: they are read by the same code.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack

from ragbed.errors import RagbedError, UsageError

if TYPE_CHECKING:
    from ragbed.analysis.comparison import Comparison
    from ragbed.runs.execution import Job, ShutdownHandler

Several: TypeAlias = str | float | Sequence[str | float] | None
"""One value, or several; or all in one text, separated by commas."""


class Options(TypedDict, total=False):
    """What `ragbed run` takes beside models and data."""

    out: str | Path | None
    testbeds: Several
    noise: Several
    num_docs: int
    true_ratio: Several
    distractors: Several
    positions: str
    profile: str
    lang: Several
    limit: str | float | None
    seed: int
    prompt: str | Path | None
    strategies: Several
    repeats: int
    temperature: float
    top_p: float
    max_tokens: int
    preset: str | None
    trust_remote_code: bool
    max_connections: int | None
    rpm: int | None
    tpm: int | None
    timeout: float
    budget: float | None
    no_cache: bool
    engine: str
    cluster: str | None
    replicas: int | None
    cpus_per_replica: float | None
    gpus_per_replica: float | None
    shard: str | None


class Table(Sequence[Mapping[str, object]]):
    """A table of a report: rows as mappings, text when printed, a table in a notebook."""

    def __init__(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.title, self.columns = title, tuple(columns)
        self._rows = [dict(zip(self.columns, row, strict=True)) for row in rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Mapping[str, object]:  # type: ignore[override]  # slices are of no use
        return self._rows[place]

    def __repr__(self) -> str:
        shown = [self.columns, *(tuple(map(str, row.values())) for row in self._rows)]
        widths = [max(len(str(row[place])) for row in shown) for place in range(len(self.columns))]
        lines = ["  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) for row in shown]
        return "\n".join([self.title, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        """As notebooks show it; names from data are text there, never markup."""
        head = "".join(f"<th style='{_CELL}'>{html.escape(column)}</th>" for column in self.columns)
        rows = (
            "<tr>" + "".join(f"<td style='{_CELL}'>{_shown(str(cell))}</td>" for cell in row.values()) + "</tr>"
            for row in self._rows
        )
        caption = f"<caption style='{_CAPTION}'>{html.escape(self.title)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


_CELL = "text-align: left; white-space: nowrap; padding: 2px 12px 2px 0"
_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding: 12px 0 2px 0"
_FAINT = "opacity: 0.65; font-size: 90%"


def _shown(cell: str) -> str:
    """A cell as markup: its number first, the interval less loud."""
    number, bracket, interval = html.escape(cell).partition(" [")
    return f"{number} <span style='{_FAINT}'>[{interval}</span>" if bracket else number


@dataclass(frozen=True)
class Run:
    """A run in its folder."""

    folder: Path

    def tables(self, track: str = "robust") -> dict[str, Table]:
        """All tables of its report, by name: noise, rejection, integration, counterfactual, closed-book and more."""
        from ragbed.analysis.run_cells import read_report_cells
        from ragbed.reporting.numbers import show, show_asked
        from ragbed.reporting.tables import make_report
        from ragbed.runs.display_names import read_names

        report = make_report([str(self.folder)], read_report_cells([self.folder], [track]), track,
                             names=read_names([self.folder]))  # fmt: skip
        return {
            table.name: Table(
                table.title,
                ("model", "data", "lang", "documents", "asked", *(column.heading for column in table.columns)),
                (
                    (
                        row.key.model,
                        row.data,
                        row.key.lang,
                        row.docs,
                        show_asked(row.asked, row.errors),
                        *(show(cell, column) for cell, column in zip(row.cells, table.columns, strict=True)),
                    )
                    for row in table.rows
                ),
            )
            for table in report.tables
        }

    def table(self, name: str, track: str = "robust") -> Table:
        """One table.

        Raises:
            UsageError: The run has no such table.
        """
        tables = self.tables(track)
        if name not in tables:
            raise UsageError(f"{self.folder} has no table {name!r}; it has {', '.join(tables) or 'none'}.")
        return tables[name]

    def cells(self, track: str = "robust") -> list[dict[str, object]]:
        """Every number of the report with interval and counts, as `ragbed report -f json` has them."""
        from ragbed.analysis.run_cells import read_report_cells

        return [cell.as_json() for cell in read_report_cells([self.folder], [track])]

    def trials(self) -> Iterator[dict[str, Any]]:
        """Every case with the reply and its scores, as the lines that `ragbed export RUN --to jsonl` writes."""
        from msgspec import to_builtins

        from ragbed.runs.scoring import open_scored
        from ragbed.runs.trials import to_trial

        with open_scored(self.folder) as store:
            for result in store.results():
                yield to_builtins(to_trial(result, canonical=False))

    def compare(self, other: Run, least: float = 0.03, track: str = "robust") -> list[Comparison]:
        """This run against another, question by question; `least` is the smallest fall that is a decline."""
        from ragbed.analysis import comparison

        first, second = (comparison.open_side(str(run.folder), track) for run in (self, other))
        return comparison.compare(first, second, least)

    def _repr_html_(self) -> str:
        from ragbed.reporting.numbers import FEW

        tables = "".join(table._repr_html_() for table in self.tables().values())
        note = f"Per cent of what was asked, 95 % intervals by question; * fewer than {FEW} cases."
        return f"<b>Run {html.escape(str(self.folder))}</b>{tables}<p style='{_FAINT}'>{note}</p>"


def run(model: str | Sequence[str], data: str | Path | Sequence[str | Path], **options: Unpack[Options]) -> Run:
    """Asks a model, or several, about data, as `ragbed run` does; a run in `out` that was stopped goes on.

    Args:
        model: As `bundled/smollm2`, `openai/gpt-4o-mini`, `python/my_system:answer`.
        data: Files or names.
        options: Those of `ragbed run`, as `testbeds="noise"`, `limit=50`, `out="runs/mine"`, `no_cache=True`; see
            `Options`.

    Raises:
        UsageError: An option is wrong.
        RagbedError: The run cannot go on, or cases ended in an error; what came is kept.
    """
    words = [*_words("model", model), *_words("data", data)]
    for name, value in options.items():
        words += _words(name, value)
    with _read(words) as job:
        _apart(job)
    done = Run(job.folder)
    if errors := sum(trial["outcome"] == "error" for trial in done.trials()):
        cases = f"{errors:,} case{'' if errors == 1 else 's'}"
        raise RagbedError(f"{cases} ended in an error; call this again with out={str(job.folder)!r} to retry.")
    return done


def open_run(folder: str | Path) -> Run:
    """A run that was made before.

    Raises:
        RagbedError: There is none.
    """
    from ragbed.runs.scoring import open_scored

    with open_scored(Path(folder)):
        return Run(Path(folder))


def _words(name: str, value: object) -> list[str]:
    """An option as it would be typed."""
    option = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    several = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    if name in ("model", "data"):
        return [word for one in several for word in (option, str(one))]
    return [option, ",".join(map(str, several))]


@contextmanager
def _read(words: list[str]) -> Iterator[Job]:
    import click

    from ragbed.cli.run import open_typed

    try:
        with open_typed(words) as job:
            yield job
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None


def _ask(job: Job, ending: ShutdownHandler | None = None) -> None:
    from ragbed.cli.run_progress import RunProgress
    from ragbed.runs.execution import run as run_job

    with RunProgress() as progress:
        run_job(job, progress.watch, ending)


def _apart(job: Job) -> None:
    """Asks in a thread of its own where a loop is already running, as in a notebook."""
    from ragbed.runs.execution import ShutdownHandler

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        _ask(job)
        return
    ending = ShutdownHandler()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(_ask, job, ending)
        try:
            asking.result()
        except BaseException:  # an interrupt comes here, not to the thread, which would go on and pay
            ending.end()
            raise
