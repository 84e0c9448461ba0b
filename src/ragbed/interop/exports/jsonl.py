"""Cases and trials as JSON Lines: the same lines as `ragbed cases` writes, and one line a trial."""

from __future__ import annotations

from typing import IO

import msgspec

from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.trials import trial_lines


def write_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Every case a line, infeasible ones too: they say so."""
    written, encoder = Written("cases"), msgspec.json.Encoder()
    for case in layout.cases():
        sink.write(encoder.encode(case) + b"\n")
        written.count += 1
    return written


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Every trial a line: the case as it was asked, what came of it, and its scores."""
    written = Written("trials")
    sink.writelines(trial_lines(run.results(written), canonical=run.canonical))
    return written
