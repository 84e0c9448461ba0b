"""Write reports on runs and build leaderboards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from ragbed.api.options import local_path, several, to_place
from ragbed.api.parameters import checked
from ragbed.api.results import Records, Run
from ragbed.api.tables import TableResult
from ragbed.errors import RagbedError, UsageError
from ragbed.io.jsonl import make_folder, write_file
from ragbed.io.locations import Place, Url, read_regular

if TYPE_CHECKING:
    from ragbed.reporting.html.leaderboard_site import LeftOut, SiteEntry
    from ragbed.reporting.tables import Report
    from ragbed.schema import Lang

ReportFormat: TypeAlias = Literal["text", "md", "html", "latex", "csv", "json", "svg", "png", "pdf"]
RunOrAggregates: TypeAlias = Run | str | Path | Url


@dataclass(frozen=True, repr=False)
class ReportResult(TableResult):
    """A report on one or more runs.

    Attributes:
        report: The report's tables, findings and cells.
        text: The report in the chosen format; None for HTML and figures, which are written to files.
        paths: Files that were written.
        has_cases: Whether the report covers individual cases; aggregate files contain none.
    """

    report: Report
    text: str | None = None
    paths: Sequence[Path] = ()
    has_cases: bool = True

    def __str__(self) -> str:
        return super().__str__() if self.text is None else self.text

    def records(self) -> Records:
        """Return one row per table cell: table, condition, metric, value, 95% confidence interval, n and errors.

        For runs with `until`, there is also one row per stopping condition, in the table `until`.
        """
        return Records(self.report.records(), "Cells")


@checked
def report(
    runs: RunOrAggregates | Sequence[RunOrAggregates],
    *,
    format: ReportFormat = "text",  # noqa: A002 - must match the option's name
    track: str = "robust",
    out: str | Path | None = None,
    locale: Literal["en", "zh"] | None = None,
) -> ReportResult:
    """Write tables, figures and a summary of one or more runs, with the paper's values for comparison.

    Args:
        runs: Runs, folders of runs, or aggregate files (`score(…, aggregates=FILE)`).
        format: Report format. A text report is written as Markdown.
        track: Scoring track shown in the tables; CSV and JSON contain all tracks.
        out: File for the report, or folder for the figures; by default, report.html for HTML and no file otherwise.
        locale: Language of the figures, and the initial language of HTML reports.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=5, testbeds="noise", out="runs/reported")
        >>> result = ragbed.report(run, format="md")
        >>> "Noise" in result.text
        True
        >>> result.records()[0]["n"]
        5
    """
    from ragbed.reporting.formats import FORMATS
    from ragbed.reporting.pages.images import PICTURES
    from ragbed.ui.viewer.find_runs import runs_in

    named, files = split_runs([run.folder if isinstance(run, Run) else to_place(run) for run in several(runs, "runs")])
    folders, target = runs_in(named), None if out is None else local_path(out)
    if files and format == "html":
        raise UsageError(
            "HTML reports show individual cases, which aggregate files do not contain. Use another format: text, "
            "md, latex, csv, json or figures."
        )
    if format in PICTURES and target is None:
        raise UsageError("Figures require an output folder. Set one, e.g. out=figures.")
    made = _read_aggregates(files, track) if files else read_report(folders, [str(run) for run in folders], track)
    if format in PICTURES and target is not None:
        return ReportResult(made, paths=_draw(made, format, locale or "en", target), has_cases=not files)
    if format == "html":
        page = target or Path("report.html")
        write_report_page(made, folders, locale, page)
        return ReportResult(made, paths=[page])
    text = FORMATS["md" if format == "text" else format](made)
    if target is not None:
        write_file(target, text.encode())
    return ReportResult(made, text, [] if target is None else [target], not files)


def split_runs(places: Sequence[Place]) -> tuple[list[Path], list[Place]]:
    """Separate run folders from aggregate files; the two cannot be mixed.

    Raises:
        UsageError: Both are given, or a run is given as a URL.
    """
    for place in places:
        if isinstance(place, Url) and Path(place.text.removeprefix("file://")).is_dir():
            raise UsageError(f"{place}: a run must be given as a local path. Use the folder's path without file://.")
    files = [place for place in places if not isinstance(place, Path) or place.is_file()]
    folders = [place for place in places if isinstance(place, Path) and place not in files]
    if files and folders:
        raise UsageError(
            f"{files[0]} is an aggregate file, but {folders[0]} is a run. Use only aggregate files or "
            f"only runs. To write the aggregates of a run, use: ragbed score {folders[0]} --aggregates FILE"
        )
    return folders, files


def read_report(
    runs: Sequence[Path], names: Sequence[str], track: str, labels: Mapping[str, str] | None = None
) -> Report:
    """Return the report on a set of runs.

    Args:
        runs: Folders of the runs.
        names: Names of the runs.
        track: Scoring track of the tables.
        labels: Display names of the models, if they must be unique across more runs than these.
    """
    from ragbed.analysis.diagnosis.causes import read_causes
    from ragbed.analysis.judging.cells import read_judged_cells
    from ragbed.analysis.metrics.trial_columns import TRACKS
    from ragbed.analysis.run_cells import conditions_in, count_results, is_monitored, read_report_cells
    from ragbed.reporting.tables import IncompleteRun, make_report
    from ragbed.runs.display_names import read_names

    shown = read_names(runs) if labels is None else labels
    tracks = list(dict.fromkeys([*TRACKS, track]))
    cells = [*read_report_cells(runs, tracks), *read_judged_cells(runs)]
    report = make_report(names, cells, track, read_causes(runs), shown)
    conditions = tuple(condition for run in runs for condition in conditions_in(run))
    monitored = [is_monitored(run) for run in runs]
    counted = [IncompleteRun(name, *count_results(run)) for name, run in zip(names, runs, strict=True)]
    # A monitored run may stop before all cases have a result.
    incomplete = [
        one for one, stops in zip(counted, monitored, strict=True) if not stops and one.finished < one.planned
    ]
    return replace(report, is_monitored=any(monitored), incomplete=tuple(incomplete), conditions=conditions)


def write_report_page(report: Report, runs: Sequence[Path], locale: Lang | None, path: Path) -> None:
    """Write the report as a single HTML file."""
    from ragbed.reporting.html import write_html
    from ragbed.reporting.html.cases import pack_cases
    from ragbed.ui.viewer.judged import has_votes, read_votes

    votes = read_votes if any(map(has_votes, runs)) else None
    page = write_html(report, pack_cases(runs, report.causes, votes, names=report.names), locale)
    write_file(path, page.encode())


def _read_aggregates(files: Sequence[Place], track: str) -> Report:
    from ragbed.analysis.metrics.trial_columns import TRACKS
    from ragbed.analysis.partial_sum_files import read_sums
    from ragbed.reporting.tables import IncompleteRun, make_report

    aggregates, names = read_sums(files), [str(file) for file in files]
    cells = list(aggregates.cells(list(dict.fromkeys([*TRACKS, track]))))
    report = make_report(names, cells, track, names=aggregates.names)
    counted = IncompleteRun(", ".join(names), aggregates.trials, aggregates.trials + aggregates.pending)
    return replace(
        report,
        is_monitored=aggregates.is_monitored,
        incomplete=(counted,) if aggregates.pending else (),
        conditions=tuple(aggregates.conditions),
        scorer=aggregates.scorer,
    )


def _draw(report: Report, ending: str, locale: Lang, folder: Path) -> list[Path]:
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.figures import draw_causes, make_figures
    from ragbed.reporting.pages.images import PICTURES

    words, paths = read_words(locale), []
    make_folder(folder)
    for chart in [*make_figures(report.shown, report.track, words), *draw_causes(report.shown_causes, words)]:
        paths.append(folder / f"{chart.name}.{ending}")
        write_file(paths[-1], PICTURES[ending](chart))
    return paths


@dataclass(frozen=True, repr=False)
class LeaderboardResult(TableResult):
    """A leaderboard site.

    Attributes:
        path: The site's start page.
        entries: The runs listed on the site.
        left_out: Runs that could not be read, with the reason.
    """

    path: Path
    entries: Sequence[SiteEntry]
    left_out: Sequence[LeftOut]

    def records(self) -> Records:
        """Return one row per run with its name and, if it was left out, the reason."""
        rows = [{"run": entry.name, "problem": None} for entry in self.entries]
        rows += [{"run": entry.name, "problem": entry.reason} for entry in self.left_out]
        return Records(rows, f"Runs on {self.path}")


@checked
def leaderboard(
    folder: str | Path, out: str | Path, *, track: str = "robust", locale: Literal["en", "zh"] | None = None
) -> LeaderboardResult:
    """Build a static leaderboard site from all runs in a folder.

    Args:
        folder: Folder that contains the runs.
        out: Folder for the site.
        track: Scoring track to show.
        locale: Initial language of the site; by default, the browser's language.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="board/oracle")
        >>> ragbed.leaderboard("board", "site").path.name
        'index.html'
    """
    from ragbed.reporting.html.leaderboard_site import LeftOut, SiteEntry, write_board
    from ragbed.reporting.pages.charts import safe_name
    from ragbed.scoring import open_tracks
    from ragbed.ui.viewer.find_runs import need_runs

    entries: list[SiteEntry] = []
    left_out: list[LeftOut] = []
    runs, site = need_runs([local_path(folder)]), local_path(out)
    open_tracks([track])  # an unknown track would leave out every run and empty the site
    labels = _read_labels(runs.values())
    make_folder(site)
    outdated = _linked_reports(site / "index.html")
    for name, run in runs.items():
        try:
            made = read_report([run], [name], track, labels)
            target = f"{safe_name(f'run-{name}')}.html"
            write_report_page(made, [run], locale, site / target)
            entries.append(SiteEntry(name, target, made))
        except RagbedError as error:
            left_out.append(LeftOut(name, str(error)))
    write_file(site / "index.html", write_board(entries, left_out, track, locale).encode())
    for page in outdated - {entry.page for entry in entries}:
        (site / page).unlink(missing_ok=True)
    return LeaderboardResult(site / "index.html", entries, left_out)


def _linked_reports(index: Path) -> set[str]:
    """Return the file names of the reports that a site's start page links to; other files are never removed."""
    try:
        text = read_regular(index).decode(errors="replace")
    except OSError:  # the site does not exist yet
        return set()
    return set(re.findall(r'href="(run-[A-Za-z0-9_.-]+\.html)"', text))


def _read_labels(runs: Iterable[Path]) -> dict[str, str]:
    """Return unique display names for the models of all readable runs."""
    from ragbed.runs.display_names import read_names

    readable = []
    for run in runs:
        with suppress(RagbedError):  # the leaderboard lists each unreadable run with the reason
            read_names([run])
            readable.append(run)
    return read_names(readable)
