"""The results of the study: cells, comparisons, synthetic data compared with RGB's, and the outcomes of predictions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.schema import Estimate
from study import MODELS, RECORDINGS
from study.comparisons import DATASETS, Row, Trials, primary_rows, same_response_rows
from study.recordings import RecordedTrial, Recording, read_recording, recording_paths

QWEN = MODELS[1:]
ABILITY_RUNS = ("long-32", "long-256", "synthetic-logprobs", "synthetic-agreement", "synthetic-stated")


def short(model: str) -> str:
    """Return a model's name without the ending that all models share."""
    return model.replace("-Instruct", "")


class Prediction(NamedTuple):
    """A prediction of the protocol: its number, whether it was right, and the counts or values that show this."""

    number: int
    is_right: bool
    outcome: str


@dataclass(frozen=True)
class Outcomes:
    """All results of the study."""

    recordings: Sequence[Recording]
    parity: Sequence[dict[str, Any]]

    @cached_property
    def trials(self) -> Trials:
        """All trials by run."""
        by_run: dict[str, list[Any]] = {}
        for model in MODELS:
            for recording in self.recordings:
                if recording.run.model.name == model:
                    by_run.setdefault(recording.run.run, []).extend(recording.scored())
        return Trials(by_run)

    @cached_property
    def cells(self) -> dict[str, list[Cell]]:
        """The report cells of each run, on the robust track."""
        return {run: list(measure(trials, ["robust"])) for run, trials in self.trials.by_run.items()}

    @cached_property
    def primary(self) -> list[Row]:
        """The primary comparisons."""
        return primary_rows(self.trials, [*self.cells["synthetic-main"], *self.cells["rgb-main"]])

    @cached_property
    def same_responses(self) -> list[Row]:
        """The exploratory comparisons on the same responses."""
        return same_response_rows(self.trials)

    def rows(self, family: str) -> list[Row]:
        """Return the comparisons of a family."""
        return [row for row in (*self.primary, *self.same_responses) if row.family == family]

    def row(self, family: str, data: str, model: str) -> Row:
        """Return one comparison."""
        (row,) = (row for row in self.rows(family) if (row.data, row.model) == (data, model))
        return row

    def find(
        self, run: str, key: tuple[str, str, str], metric: str, profile: str = "robust", **place: float
    ) -> Estimate:
        """Return the value of a cell.

        Args:
            run: Name of the run.
            key: Table, model and dataset.
            metric: Metric.
            profile: Profile, with the prompting strategy.
            place: Fields of the condition, e.g. `noise=0.4`.

        Raises:
            KeyError: There is no such cell.
        """
        for cell in self.cells[run]:
            estimate, at = cell.estimate, cell.place
            is_chosen = (cell.table, cell.key.model, cell.key.data) == key and cell.key.profile == profile
            is_here = cell.scope == "all" and all(at.get(name) == value for name, value in place.items())
            if is_chosen and is_here and estimate.metric == metric:
                return estimate
        raise KeyError((run, key, metric, place))


def read_outcomes(folder: Path = RECORDINGS) -> Outcomes:
    """Read all recordings."""
    return Outcomes([read_recording(path) for path in recording_paths(folder)], read_parity(folder))


def read_parity(folder: Path = RECORDINGS) -> list[dict[str, Any]]:
    """Return the comparison with the original code, one row per case."""
    return [
        json.loads(line) | {"part": path.name.removesuffix(".jsonl.gz")}
        for path in sorted(folder.glob("parity-*.jsonl.gz"))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


class Match(NamedTuple):
    """A metric on synthetic data and on RGB's, with one estimate per model."""

    name: str
    synthetic: list[Estimate]
    rgb: list[Estimate]

    @property
    def agreement(self) -> float:
        """Kendall's tau-a between the two orders of the models."""
        values = [(own.value or 0.0, other.value or 0.0) for own, other in zip(self.synthetic, self.rgb, strict=True)]
        return kendall(values)


def kendall(values: Sequence[tuple[float, float]]) -> float:
    """Return Kendall's tau-a of pairs of values; ties count as 0."""
    signs = [_sign(a[0] - b[0]) * _sign(a[1] - b[1]) for a, b in combinations(values, 2)]
    return sum(signs) / len(signs)


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


_MATCHED = (
    ("accuracy, noise 0", "noise", "accuracy", ("zh_base", "zh_refine"), 0.0),
    ("accuracy, noise 0.4", "noise", "accuracy", ("zh_base", "zh_refine"), 0.4),
    ("accuracy, noise 0.8", "noise", "accuracy", ("zh_base", "zh_refine"), 0.8),
    ("refusal recall", "rejection", "refusal_recall", ("zh_base", "zh_refine"), 1.0),
    ("integration, noise 0", "integration", "accuracy", ("zh_int", "zh_int"), 0.0),
    ("integration, noise 0.4", "integration", "accuracy", ("zh_int", "zh_int"), 0.4),
    ("misled by false documents", "counterfactual", "misled_at_all", ("en_fact", "en_fact"), 0.0),
)


def matches(outcomes: Outcomes) -> list[Match]:
    """Return the metrics that synthetic data and RGB's data share."""
    found = []
    for name, table, metric, data, noise in _MATCHED:
        sides = [
            [outcomes.find(run, (table, model, own), metric, noise=noise) for model in MODELS]
            for run, own in zip(("synthetic-main", "rgb-main"), data, strict=True)
        ]
        found.append(Match(name, *sides))
    return found


def is_sent(trial: RecordedTrial) -> bool:
    """Return whether a case was sent to the model: it is feasible and not too long for the context."""
    return trial.outcome != "infeasible" and not (trial.error or "").startswith("too-long")


def count_failed(outcomes: Outcomes) -> tuple[int, int]:
    """Return the number of failed calls in the main study, and the number of all its calls."""
    main = (recording for recording in outcomes.recordings if recording.run.run not in ABILITY_RUNS)
    called = [trial.outcome for recording in main for trial in recording.trials if is_sent(trial)]
    return sum(outcome not in ("ok", "truncated") for outcome in called), len(called)


def predictions(outcomes: Outcomes) -> list[Prediction]:
    """Return the outcome of each prediction. A predicted difference must be significant after Holm's adjustment."""
    falls = [row for row in outcomes.rows("1a") if row.model in QWEN]
    fell = [row for row in falls if row.is_significant and row.difference.value < 0]
    grows = outcomes.rows("1b")
    grew = [row for row in grows if row.is_significant and row.difference.value > 0]
    refusals = [
        outcomes.find(outcomes.trials.main_run(data), ("rejection", model, data), "refusal_recall").value or 0.0
        for data in DATASETS
        for model in MODELS
    ]
    moved = [row for row in outcomes.rows("1d") if row.model == MODELS[1]]
    position = [row for row in moved if row.is_significant]
    smaller = [row for row in outcomes.rows("3a") if row.model in QWEN]
    shrunk = [row for row in smaller if row.is_significant and row.difference.value > 0]
    substring = outcomes.rows("3b")
    higher = [row for row in substring if row.difference.value >= 0.01]
    lower = [row for row in substring if row.is_significant and row.difference.value < 0]
    failed, calls = count_failed(outcomes)
    order = next(match for match in matches(outcomes) if match.name == "accuracy, noise 0.4").agreement
    biases = [
        outcomes.find("synthetic-conflict", ("conflict", model, data), "context_bias").value or 0.0
        for model in QWEN
        for data in ("en_fact", "zh_fact")
    ]
    return [
        Prediction(1, len(fell) == len(falls), f"{len(fell)} of {len(falls)} rows fall"),
        Prediction(2, len(grew) == len(grows), f"{len(grew)} of {len(grows)} pairs increase"),
        Prediction(3, max(refusals) <= 0.45, f"highest rate {100 * max(refusals):.1f}%"),
        Prediction(4, len(position) == len(moved), f"{len(position)} of {len(moved)} datasets"),
        Prediction(5, len(shrunk) == len(smaller), f"{len(shrunk)} of {len(smaller)} rows"),
        Prediction(
            6,
            2 * len(higher) > len(substring),
            f"{len(higher)} of {len(substring)} rows by a point or more, but {len(lower)} significantly lower",
        ),
        Prediction(7, failed == 0, f"{failed} of {calls:,} calls failed"),
        Prediction(8, order == 1, "the order is the same" if order == 1 else "the order differs"),
        Prediction(9, min(biases) > 0.5, f"lowest bias {100 * min(biases):.1f}%"),
    ]


PARITY_COUNTS = ("cases", "prompts", "requests", "labels", "flags")


def parity_counts(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Return the numbers of cases, and of equal prompts, requests, labels and flags.

    Recorded runs sent no requests: `study/parity.py` builds a request from the recorded prompt, so equal hashes show
    that the prompts are equal, and requests are not counted.
    """
    found = list(rows)
    equal = [
        row.get("request_original") is not None and row.get("request_original") == row.get("request_ragbed")
        for row in found
    ]
    counts = {
        "cases": len(found),
        "prompts": sum(equal),
        "labels": sum(row.get("label_original") == row.get("label_ragbed") for row in found),
        "flags": sum(row.get("flag_original") == row.get("flag_ragbed") for row in found),
    }
    if all(row["part"] == "parity-live" for row in found):
        counts["requests"] = sum(equal)
    return counts
