"""Runs as pages, as `ragbed report`, `board` and `demo` write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.report.tables import Report
    from ragbed.schema import Lang


def read_report(
    runs: Sequence[Path], names: Sequence[str], track: str, labels: Mapping[str, str] | None = None
) -> Report:
    """Return the report of some runs.

    Args:
        runs: Their folders.
        names: Their names.
        track: Which the tables show.
        labels: Names under which models are shown, where they must be unique among more runs than these.
    """
    from ragbed.judge.cells import read_judged_cells
    from ragbed.metrics.sheet import TRACKS
    from ragbed.report.causes import read_causes
    from ragbed.report.reading import read_report_cells
    from ragbed.report.tables import make_report
    from ragbed.runner.display_names import read_names

    shown = read_names(runs) if labels is None else labels
    tracks = list(dict.fromkeys([*TRACKS, track]))
    cells = [*read_report_cells(runs, tracks), *read_judged_cells(runs)]
    return make_report(names, cells, track, read_causes(runs), shown)


def write_report_page(report: Report, runs: Sequence[Path], words: Lang | None, output: Path) -> int:
    """Writes the single-file report; returns its size in bytes."""
    from ragbed.report.html import write_html
    from ragbed.report.html.cases import pack_cases
    from ragbed.view.judged import has_votes, read_votes

    votes = read_votes if any(map(has_votes, runs)) else None
    return write_page(output, write_html(report, pack_cases(runs, report.causes, votes, names=report.names), words))


def write_page(output: Path, text: str) -> int:
    """Writes a page, whole or not at all; returns its size in bytes."""
    from ragbed.store import write_whole

    encoded = text.encode()
    with write_whole(output) as sink:
        sink.write(encoded)
    return len(encoded)
