"""Export each model's metrics, params and tags as JSON for `mlflow.log_metrics` and similar functions."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import IO

import msgspec

from ragbed import __version__
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.run_cells import read_report_cells
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.runs.display_names import served_name
from ragbed.runs.store import RunStore
from ragbed.scoring.version import scorer_hash

_TRACK = "robust"
_NOT_ALLOWED = re.compile(r"[^\w./ -]")  # characters that MLflow does not allow in names
_MAX_PARAM_LENGTH = 500  # maximum number of characters per param value on any MLflow server


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write each of the report's metrics with its confidence interval and counts; `errors` counts failed calls."""
    written = Written("trials")
    deque(run.results(written), maxlen=0)  # read all results in order to count them
    cells = read_report_cells([run.folder], [_TRACK])
    models = [model for model in run.store.models().values() if run.model in (None, model[0])]
    params = {
        _NOT_ALLOWED.sub("_", name): value[:_MAX_PARAM_LENGTH] for name, value in sorted(run.store.settings().items())
    }
    runs = [
        {
            "run_name": name,
            "params": {"model": model, **params},
            "tags": {"ragbed": __version__, "scorers": scorer_hash(), "track": _TRACK, "identity": identity},
            "metrics": _metrics([cell for cell in cells if cell.key.model == name]),
        }
        for model, identity in models
        for name in _names(model, run.store, cells)
    ]
    sink.write(msgspec.json.format(msgspec.json.encode({"runs": runs})) + b"\n")
    return written


def _names(model: str, store: RunStore, cells: Sequence[Cell]) -> list[str]:
    """Return the names of a model in the report, which has several if the server changed the model during the run."""
    names = {model, *(served_name(model, served) for served in store.served().get(model, ()))}
    return [name for name in dict.fromkeys(cell.key.model for cell in cells) if name in names] or [model]


def _metrics(cells: list[Cell]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for cell in cells:
        estimate = cell.estimate
        if cell.scope == "all" and estimate.value is not None:
            name = _name(cell)
            metrics[name] = estimate.value
            values = {
                key: getattr(estimate, key) for key in ("low", "high", "n", "asked", "errors", "truncated", "filtered")
            }
            metrics |= {f"{name}.{key}": value for key, value in values.items() if value is not None}
    return metrics


def _name(cell: Cell) -> str:
    """Return a path-like metric name for MLflow, e.g. `noise/accuracy/en/ragbed-mini-en_base/robust/noise-0.4`.

    The profile of a prompting strategy is e.g. `robust_quote`, because MLflow does not accept a plus sign.
    """
    condition = [f"{name}-{value}" for name, value in cell.place.items() if value not in (None, "related")]
    parts = [cell.table, cell.estimate.metric, cell.key.lang, cell.key.data, cell.key.profile, *condition]
    return "/".join(_NOT_ALLOWED.sub("_", part) for part in parts)
