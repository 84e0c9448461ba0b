"""Write cases and trials as JSON Lines."""

from __future__ import annotations

from typing import IO

import msgspec

from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.trials import trial_line


def write_cases(layout: Layout, sink: IO[bytes]) -> Written:
    """Write one line per case, including infeasible cases."""
    written, encoder = Written("cases"), msgspec.json.Encoder()
    for case in written.conditions.count(layout.cases()):
        written.count += 1
        sink.write(encoder.encode(case) + b"\n")
    written.infeasible = written.conditions.infeasible
    return written


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one line per trial: the case, the response and the scores."""
    written = Written("trials")
    sink.writelines(trial_line(result, scores, canonical=run.canonical) for result, scores in run.trials(written))
    return written
