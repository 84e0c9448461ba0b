"""Read runs as reports, and write the pages of `ragbed report`, `leaderboard` and `demo`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.reporting.tables import Report
    from ragbed.schema import Lang


def read_report(
    runs: Sequence[Path], names: Sequence[str], track: str, labels: Mapping[str, str] | None = None
) -> Report:
    """Return the report of some runs.

    Args:
        runs: Folders of the runs.
        names: Names of the runs.
        track: Track of the tables.
        labels: Display names by model string, if they must be unique among more runs than these.
    """
    from ragbed.analysis.diagnosis.causes import read_causes
    from ragbed.analysis.judging.cells import read_judged_cells
    from ragbed.analysis.metrics.trial_columns import TRACKS
    from ragbed.analysis.run_cells import read_report_cells
    from ragbed.reporting.tables import make_report
    from ragbed.runs.display_names import read_names

    shown = read_names(runs) if labels is None else labels
    tracks = list(dict.fromkeys([*TRACKS, track]))
    cells = [*read_report_cells(runs, tracks), *read_judged_cells(runs)]
    return make_report(names, cells, track, read_causes(runs), shown)


def write_report_page(report: Report, runs: Sequence[Path], words: Lang | None, output: Path) -> int:
    """Write the single-file report, and return its size in bytes."""
    from ragbed.reporting.html import write_html
    from ragbed.reporting.html.cases import pack_cases
    from ragbed.ui.viewer.judged import has_votes, read_votes

    votes = read_votes if any(map(has_votes, runs)) else None
    return write_page(output, write_html(report, pack_cases(runs, report.causes, votes, names=report.names), words))


def write_page(output: Path, text: str) -> int:
    """Write a page completely or not at all, and return its size in bytes."""
    from ragbed.io.jsonl import write_whole

    encoded = text.encode()
    with write_whole(output) as sink:
        sink.write(encoded)
    return len(encoded)
