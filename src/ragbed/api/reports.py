"""Write reports on runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs, to_builtins

from ragbed.api.job_specs import ReportSpec
from ragbed.api.results import run_folders
from ragbed.api.specification import takes
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import make_folder, write_file
from ragbed.reporting.table import Result, Table
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.reporting.tables import Report
    from ragbed.runs.display_names import RowNames
    from ragbed.schema import Lang


_MOST_DISAGREEMENTS = 20  # Maximum number of disagreements of each kind to show; the values contain all of them.
_EXAMPLES = "`ragbed diagnose {} --show {}` and {} show examples."
_LONGEST_REPLY = 80  # Maximum number of characters of a response to show.


@takes(ReportSpec)
def report(spec: ReportSpec) -> Result:
    """Write tables, figures and a summary of one or more runs, with the paper's values for comparison.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=5, testbeds="noise", out="runs/reported")
        >>> result = ragbed.report(run, format="md")
        >>> "Noise" in result["text"]
        True
        >>> result.records()[0]["n"]
        5
    """
    from ragbed.reporting.pages.charts import PICTURES
    from ragbed.ui.viewer.find_runs import need_runs, runs_in

    if spec.disagreements is not None:
        return _list_disagreements(spec, spec.disagreements)
    named = run_folders(spec.runs)
    if spec.out is None and (spec.format == "site" or spec.format in PICTURES):
        raise UsageError(
            f"{option('format', spec.format)} requires an output folder. Set one, e.g. {option('out', 'figures')}."
        )
    folders = list(need_runs(named).values()) if spec.format == "site" else runs_in(named)
    scoring = [message for folder in folders for message in _check_scorer(folder, rescore=spec.rescore)]
    written = _write(named, folders, spec)
    written.notes = [*scoring, *written.notes]
    return written


def _check_scorer(folder: Path, *, rescore: bool) -> Iterator[str]:
    """Yield a message if a run was scored with another version of the scorer; with `rescore`, score it again."""
    from ragbed.analysis.trials.table import TrialTable
    from ragbed.scoring.version import SCORER_VERSION

    with TrialTable(folder) as table:
        before = table.scorer
        table.update()
        rescored = table.rescore() if rescore else None
        if rescored is not None:
            yield (
                f"{folder}: scored with version {rescored.new} (was {rescored.old}): {rescored.changed:,} of "
                f"{counted(rescored.trials, 'verdict')} changed."
            )
        elif before != table.scorer:
            yield f"{folder} has new results, so all of it was scored with version {table.scorer} (was {before})."
        elif before != str(SCORER_VERSION):
            yield (
                f"{folder} was scored with version {before} of the scorer, and version {SCORER_VERSION} is installed. "
                f"To score it again, use {option('rescore')}."
            )


def _write(named: Sequence[Path], folders: Sequence[Path], spec: ReportSpec) -> Result:
    from ragbed.reporting.formats import FORMATS
    from ragbed.reporting.pages.charts import PICTURES
    from ragbed.runs.display_names import read_row_names
    from ragbed.ui.viewer.find_runs import need_runs

    form, scorer, locale = spec.format, spec.scorer, spec.locale
    target = None if spec.out is None else Path(spec.out)
    if form == "site" and target is not None:
        return _write_site(need_runs(named), scorer, locale, target)
    models = read_row_names(folders)
    made = read_report(folders, scorer, models, may_diagnose=form not in ("csv", "json"))
    cells = Table(made.records(), "Cells")
    if form in PICTURES and target is not None:
        paths = _draw(made, form, locale or "en", target)
        note = f"{counted(len(paths), 'figure')} written to {target}."
        return Result([], [note], {"reports": [made], "paths": paths}, main=cells)
    if form == "html":
        page = target or Path("report.html")
        write_report_page(made, folders, locale, page, models)
        note = f"Report written to {page} ({page.stat().st_size / 1e6:.1f} MB). Open it in a browser."
        return Result([], [note], {"reports": [made], "paths": [page]}, main=cells)
    text = FORMATS["md" if form == "text" else form](made)
    values = {"reports": [made], "text": text, "paths": [] if target is None else [target]}
    notes = []
    if locale not in (None, "en"):
        notes = [f"{option('locale')} applies only to HTML reports and figures. All other reports are in English."]
    if target is not None:
        write_file(target, text.encode())
        return Result([], [*notes, f"Report written to {target}."], values, main=cells)
    if form != "text":
        return Result([text.removesuffix("\n")], notes, values, main=cells)
    parts, explanations = describe_report(made)
    if made.errors:
        first = next(iter(made.errors.values()))[0].name
        explanations.append(_EXAMPLES.format(quoted(folders[0]), first, option("format", "html")))
    return Result(parts, [*notes, *explanations], values, main=cells)


def describe_report(report: Report, only: tuple[str, ...] = ("",)) -> tuple[list[Table | str], list[str]]:
    """Return the paragraphs and tables of a report, and its notes.

    Args:
        report: The report.
        only: Beginnings of the names of the tables; by default, the paragraphs and all tables.
    """
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.formats import arrange

    parts: list[Table | str] = []
    notes = [f"Scorer: {report.scorer}."]
    chosen = replace(report, tables=tuple(table for table in report.tables if table.name.startswith(only)))
    for part in arrange(chosen, read_words("en")):
        if isinstance(part, Table):
            parts.append(part)
        elif part.is_note:
            notes.append(part.text)
        elif only == ("",):
            parts.append(": ".join(filter(None, (part.lead, part.text))) + "\n")
    return parts, [" ".join(notes[:2]), *notes[2:]]


def _list_disagreements(spec: ReportSpec, scorer: Literal["code", "paper"]) -> Result:
    """List the responses that a scorer scores differently from the robust scorer.

    False credit means that only the scorer gives credit; missed credit means that only the robust scorer does.
    """
    from ragbed.reporting.table import write_json
    from ragbed.runs.store import open_scored
    from ragbed.scoring.disagreements import find_disagreements
    from ragbed.ui.viewer.find_runs import runs_in

    if spec.format not in ("text", "json") or spec.out is not None:
        raise UsageError(
            f"{option('disagreements')} writes text or JSON to standard output. Use {option('format', 'text')} or "
            f"{option('format', 'json')}, without {option('out')}."
        )
    found = list[dict[str, Any]]()
    for folder in runs_in(run_folders(spec.runs)):
        with open_scored(folder) as store:
            trials = ((result.model, result.case, result.completion) for result in store.results())
            found += [{"run": str(folder), **to_builtins(one)} for one in find_disagreements(trials, scorer)]
    if spec.format == "json":
        return Result([write_json(found).removesuffix("\n")], main=Table(found))
    parts: list[Table | str] = []
    names = {"case": "case", "model": "model", "score": "score", "verdict": "robust verdict"}
    for credit in ("false", "missed"):
        some = [row for row in found if row["credit"] == credit]
        title = f"{credit.capitalize()} credit of the {scorer} scorer: {len(some):,}"
        rows = [
            {heading: row[name] for name, heading in names.items()} | {"reply": shorten(row["reply"])}
            for row in some[:_MOST_DISAGREEMENTS]
        ]
        parts.append(Table(rows, title) if rows else f"{title}.")
        if len(some) > _MOST_DISAGREEMENTS:
            parts.append(
                f"… and {len(some) - _MOST_DISAGREEMENTS:,} more ({option('format', 'json')} lists all of them)"
            )
    return Result(parts, main=Table(found))


def shorten(reply: str, longest: int = _LONGEST_REPLY) -> str:
    """Return a response as a line of limited length."""
    line = " ".join(reply.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def read_report(
    runs: Sequence[Path], scorer: str, models: RowNames | None = None, *, may_diagnose: bool = False
) -> Report:
    """Return the report on a set of runs.

    Args:
        runs: Folders of the runs.
        scorer: Scorer of the tables.
        models: Names of the models, if they must be unique across more runs than these.
        may_diagnose: Whether to diagnose runs that have not been diagnosed, if it takes less than ten seconds.
    """
    from ragbed.analysis.causes import read_causes
    from ragbed.analysis.diagnosis.summary import read_diagnoses
    from ragbed.analysis.judging.rates import read_corrected_cells, read_judged_cells
    from ragbed.analysis.run_cells import conditions_in, count_results, is_monitored, read_published, read_report_cells
    from ragbed.analysis.trials.columns import SCORERS
    from ragbed.reporting.tables import make_report
    from ragbed.runs.display_names import read_row_names, short_names
    from ragbed.runs.status import count_cached
    from ragbed.runs.store import open_store

    models = read_row_names(runs) if models is None else models
    names = list(short_names(str(run.absolute()) for run in runs).values())  # those of the folders, if they are unique
    scorers = list(dict.fromkeys([*SCORERS, scorer]))
    cells = [*read_report_cells(runs, scorers, names=models), *read_judged_cells(runs, models.labels)]
    cells += read_corrected_cells(runs, models.labels)
    diagnoses = read_diagnoses(runs, models.labels, may_diagnose=may_diagnose)
    report = make_report(names, cells, scorer, diagnoses, models.shown, read_published(runs, models.labels))
    conditions = tuple(
        structs.replace(condition, model=models.labels[run, condition.model])
        for run in runs
        for condition in conditions_in(run)
    )
    monitored = [is_monitored(run) for run in runs]
    messages, results = [], 0
    for name, run, stops in zip(names, runs, monitored, strict=True):
        finished, planned = count_results(run)
        results += finished
        if finished < planned and not stops:  # a monitored run may stop before all cases have a result
            counts = {"finished": f"{finished:,}", "planned": f"{planned:,}"}
            messages.append(("page.unfinished", {"run": name, **counts}))
    for name, run in zip(names, runs, strict=True):
        with open_store(run, create=False) as store:
            count, oldest = count_cached(store)
        if oldest is not None:
            received = f"{datetime.fromtimestamp(oldest, UTC):%Y-%m-%d}"
            messages.append(("page.cached", {"run": name, "count": f"{count:,}", "oldest": received}))
    return replace(
        report,
        is_monitored=any(monitored),
        messages=tuple(messages),
        conditions=conditions,
        causes=tuple(summary for run in runs for summary in read_causes(run, models.labels)),
        results=results,
    )


def write_report_page(
    report: Report, runs: Sequence[Path], locale: Lang | None, path: Path, models: RowNames | None = None
) -> None:
    """Write the report as a single HTML file; `models` are the names that were passed to `read_report`."""
    from ragbed.analysis.judging import FOLDER
    from ragbed.reporting.html import write_html
    from ragbed.reporting.html.cases import pack_cases
    from ragbed.ui.viewer.annotations import read_votes

    votes = read_votes if any((run / FOLDER).is_dir() for run in runs) else None
    write_file(path, write_html(report, pack_cases(runs, report.diagnoses, votes, names=models), locale).encode())


def _draw(report: Report, ending: str, locale: Lang, folder: Path) -> list[Path]:
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.figures import draw_error_types, make_figures
    from ragbed.reporting.pages.charts import PICTURES

    words, paths = read_words(locale), []
    make_folder(folder)
    for chart in [*make_figures(report.shown, report.scorer, words), *draw_error_types(report.diagnoses, words)]:
        paths.append(folder / f"{chart.name}.{ending}")
        write_file(paths[-1], PICTURES[ending](chart))
    return paths


def _write_site(runs: Mapping[str, Path], scorer: str, locale: Lang | None, site: Path) -> Result:
    """Write a leaderboard of all runs, with a report on each of them."""
    from ragbed.reporting.html import SiteEntry, write_board
    from ragbed.reporting.pages.charts import safe_name
    from ragbed.runs.display_names import read_row_names

    models, index = read_row_names(list(runs.values())), site / "index.html"
    entries = [
        SiteEntry(name, f"{safe_name(f'run-{name}')}.html", read_report([run], scorer, models, may_diagnose=True))
        for name, run in runs.items()
    ]
    make_folder(site)
    for entry in entries:
        write_report_page(entry.report, [runs[entry.name]], locale, site / entry.page, models)
    write_file(index, write_board(entries, scorer, locale).encode())
    paths = [index, *(site / entry.page for entry in entries)]
    reports = [entry.report for entry in entries]
    note = f"Leaderboard of {counted(len(entries), 'run')} written to {index}."
    cells = Table([row for report in reports for row in report.records()], "Cells")
    return Result([], [note], {"reports": reports, "paths": paths}, main=cells)
