"""The results of the study: cells, comparisons, synthetic data compared with RGB's, and the outcomes of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.columns import group_rows
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
        """The report cells of each run, on the robust scorer."""
        return {run: list(measure(group_rows(trials), ["robust"])) for run, trials in self.trials.by_run.items()}

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
    return Outcomes([read_recording(path) for path in recording_paths(folder)])


class Match(NamedTuple):
    """A metric on synthetic data and on RGB's, with one estimate per model."""

    name: str
    synthetic: list[Estimate]
    rgb: list[Estimate]

    @property
    def is_same_order(self) -> bool:
        """Whether the models have the same order on both sides, without ties."""
        own, other = ([estimate.value or 0.0 for estimate in side] for side in (self.synthetic, self.rgb))
        pairs = combinations(zip(own, other, strict=True), 2)
        return all((first[0] - second[0]) * (first[1] - second[1]) > 0 for first, second in pairs)


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


class Outcome(NamedTuple):
    """The numbers of feasible cases of the study by outcome."""

    responses: int
    too_long: int
    failed: int


def count_outcomes(recordings: Iterable[Recording]) -> Outcome:
    """Count the responses, the cases that were too long to be sent, and the other cases without a response."""
    feasible = [trial for one in recordings for trial in one.trials if trial.outcome != "infeasible"]
    sent = [trial for trial in feasible if is_sent(trial)]
    responses = sum(trial.outcome in ("ok", "truncated") for trial in sent)
    return Outcome(responses, len(feasible) - len(sent), len(sent) - responses)


def predictions(outcomes: Outcomes) -> list[Prediction]:
    """Return the outcome of each prediction. A predicted difference must be significant after Holm's adjustment."""
    falls = [row for row in outcomes.rows("1a") if row.model in QWEN]
    fell = [row for row in falls if row.is_significant and row.difference.value < 0]
    grows = outcomes.rows("1b")
    grew = [row for row in grows if row.is_significant and row.difference.value > 0]
    refusals = [
        outcomes.find(outcomes.trials.run_of(data), ("rejection", model, data), "refusal_recall").value or 0.0
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
    counts = count_outcomes(one for one in outcomes.recordings if one.run.run not in ABILITY_RUNS)
    is_same_order = next(match for match in matches(outcomes) if match.name == "accuracy, noise 0.4").is_same_order
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
            f"{len(higher)} of {len(substring)} rows by a point or more; {len(lower)} significantly lower",
        ),
        Prediction(7, counts.failed == 0, f"{counts.responses:,} responses, {counts.failed} failures"),
        Prediction(8, is_same_order, "the order is the same" if is_same_order else "the order differs"),
        Prediction(9, min(biases) > 0.5, f"lowest bias {100 * min(biases):.1f}%"),
    ]


_LENGTHS = (1, 5, 10, 20)
_TOO_LONG = 100  # the number of documents that does not fit in the smallest context
_TOKENS, _CONTEXT = 32, 8192  # the limit on a response, and the context of the smallest model
_SMALL, _MIDDLE, _LARGE = MODELS


def ability_predictions(outcomes: Outcomes) -> Iterator[Prediction]:
    """Yield the outcome of each prediction."""
    own = (trial for trial in outcomes.trials.by_run["long-32"] if trial.model == _SMALL)
    cells = measure(group_rows([trial for trial in own if trial.k <= _LENGTHS[-1]]), ["robust"])
    (slope,) = (cell.estimate for cell in cells if cell.estimate.metric == "slope_per_doubling")
    accuracy, middle = _accuracy(outcomes, _SMALL), _accuracy(outcomes, _MIDDLE)
    yield Prediction(1, (slope.high or 0.0) < 0, f"{100 * (slope.value or 0.0):.1f} points per doubling")
    ends = accuracy[0], accuracy[-1]
    yield Prediction(2, ends[0] >= 0.5 and ends[1] <= 0.3, " and ".join(f"{100 * rate:.1f}%" for rate in ends))
    trials = [
        trial
        for recording in outcomes.recordings
        if recording.name == f"{_SMALL}.long-32"
        for trial in recording.trials
        if recording.conditions[trial.condition].k == _TOO_LONG
    ]
    sent = [trial for trial in trials if is_sent(trial)]
    errors, cases, longest = len(trials) - len(sent), len(trials), max(trial.usage[0] for trial in sent if trial.usage)
    is_right = 2 * errors > cases and longest + _TOKENS <= _CONTEXT
    yield Prediction(3, is_right, f"{errors} of {cases} cases too long; longest prompt sent {longest:,} tokens")
    higher = sum(second > first for first, second in zip(accuracy, middle, strict=True))
    yield Prediction(4, higher == len(_LENGTHS), f"higher at {higher} of {len(_LENGTHS)} lengths")


def _accuracy(outcomes: Outcomes, model: str) -> list[float]:
    find = partial(outcomes.find, "long-32", ("length", model, "en_base"), "accuracy")
    return [find(k=k).value or 0.0 for k in _LENGTHS]
