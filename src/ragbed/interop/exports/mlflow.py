"""MLflow: a JSON object with metrics, params and tags for every model, ready for `mlflow.log_metrics` and the like."""

from __future__ import annotations

import re
from typing import IO

import msgspec

from ragbed import __version__
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.interop.exports.frozen import scorers_hash
from ragbed.interop.exports.records_base import ExportedRun, Written

_TRACK = "robust"
_FOREIGN = re.compile(r"[^\w./ -]")
"""What MLflow does not take in a name."""
_LONGEST = 500
"""Characters of a param's value that every MLflow server takes."""


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Every number of the report's tables, with its interval and counts; failed calls are in `errors`, as in tables."""
    written = Written("trials")
    for _ in run.results(written):
        pass
    cells = read_report_cells([run.folder], [_TRACK])
    models = [model for model in run.store.models().values() if run.model in (None, model[0])]
    params = {_FOREIGN.sub("_", name): value[:_LONGEST] for name, value in sorted(run.store.settings().items())}
    told = [
        {
            "run_name": name,
            "params": {"model": name, **params},
            "tags": {"ragbed": __version__, "scorers": scorers_hash(), "track": _TRACK, "identity": identity},
            "metrics": _metrics([cell for cell in cells if cell.key.model == name]),
        }
        for name, identity in models
    ]
    sink.write(msgspec.json.format(msgspec.json.encode({"runs": told})) + b"\n")
    return written


def _metrics(cells: list[Cell]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for cell in cells:
        of = cell.estimate
        if cell.scope == "all" and of.value is not None:
            name = _name(cell)
            interval = {"low": of.low, "high": of.high}
            metrics[name] = of.value
            metrics |= {f"{name}.{which}": bound for which, bound in interval.items() if bound is not None}
            metrics |= {f"{name}.{which}": getattr(of, which) for which in ("n", "asked", "errors")}
    return metrics


def _name(cell: Cell) -> str:
    """`noise/accuracy/en/ragbed-mini-en_base/robust/noise-0.4`: MLflow groups charts by what stands before a slash.

    A remedy's profile is `robust_quote`, since MLflow takes no plus.
    """
    place = [f"{name}-{value}" for name, value in cell.place.items() if value not in (None, "related")]
    parts = [cell.table, cell.estimate.metric, cell.key.lang, cell.key.data, cell.key.profile, *place]
    return "/".join(_FOREIGN.sub("_", part) for part in parts)
