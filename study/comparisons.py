"""The primary comparisons of the protocol: paired differences by question, with intervals and adjusted p-values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from statistics import fmean

from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.statistics.paired import changes, paired_difference, sign_flips
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.testing import holm
from ragbed.analysis.trials.columns import Trial
from study import MODELS

Scores = Mapping[str, float]  # mean score by question, or by event if several questions are about one
DATASETS = ("en_base", "zh_base", "zh_refine")
PAIRS = tuple(pairwise(MODELS))
ALPHA = 0.05


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        family: Family in the protocol, e.g. 1a, or the name of an exploratory table.
        data: Dataset.
        model: Model, or `larger − smaller`.
        first: Mean score without the effect.
        second: Mean score with the effect.
        difference: Second minus first, with its 95 % interval.
        n: Number of questions, or of events.
        p: Two-sided p-value.
        adjusted: p-value, adjusted by Holm over all comparisons of the question.
    """

    family: str
    data: str
    model: str
    first: float
    second: float
    difference: Interval
    n: int
    p: float
    adjusted: float = 1.0

    @property
    def is_significant(self) -> bool:
        """Whether the adjusted p-value is below 5%."""
        return self.adjusted < ALPHA


@dataclass(frozen=True)
class Trials:
    """All trials of the study, by run."""

    by_run: Mapping[str, Sequence[Trial]]

    def scores(self, run: str, is_chosen: Callable[[Trial], bool], score: str = "correct") -> Scores:
        """Return the mean score by question over positions and repeats; failed calls count as 0."""
        found: dict[str, dict[str, list[float]]] = {}
        for trial in self.by_run[run]:
            if trial.outcome != "infeasible" and is_chosen(trial):
                value = 0.0 if trial.scores is None else trial.scores.get(score)
                if isinstance(value, bool | float | int):
                    unit = trial.cluster or trial.item
                    found.setdefault(unit, {}).setdefault(trial.item, []).append(float(value))
        return {unit: fmean(fmean(values) for values in items.values()) for unit, items in sorted(found.items())}

    def run_of(self, data: str, kind: str = "main") -> str:
        """Return the main run of a dataset, or the one with a `fixed` amount of evidence."""
        return f"rgb-{kind}" if data == "zh_refine" else f"synthetic-{kind}"


def at_noise(model: str, data: str, noise: float | None, testbed: str = "noise") -> Callable[[Trial], bool]:
    """Return a function that chooses the trials of a condition; `noise` None chooses all ratios."""
    return lambda trial: (
        (trial.model, trial.data, trial.testbed, trial.arm) == (model, data, testbed, "related")
        and (noise is None or trial.noise == noise)
    )


def compare(named: tuple[str, str, str], first: Scores, second: Scores, scale: float = 1.0) -> Row:
    """Compare two sets of scores on the questions that both have.

    Args:
        named: Family, dataset and model.
        first: Scores by question.
        second: Scores by question.
        scale: Largest possible difference of two scores.
    """
    shared = sorted(first.keys() & second.keys())
    moved = changes(*([scores[unit] / scale for unit in shared] for scores in (first, second)))
    interval = Interval(*(scale * bound for bound in paired_difference(moved)))
    before, after = (fmean(scores[unit] for unit in shared) for scores in (first, second))
    return Row(*named, before, after, interval, len(moved), sign_flips(moved))


def primary_rows(trials: Trials, cells: Iterable[Cell]) -> list[Row]:
    """Return all primary comparisons; p-values are adjusted within questions 1 and 3."""
    question_1 = [*_noise_effects(trials), *_models(trials, "1b"), *_models(trials, "1c"), *_positions(cells)]
    question_3 = [*_evidence(trials), *_matching(trials, "paper"), *_original_positions(trials)]
    return [*adjust(question_1), *adjust(question_3)]


def adjust(rows: Sequence[Row]) -> list[Row]:
    """Adjust p-values by Holm."""
    return [replace(row, adjusted=p) for row, p in zip(rows, holm([row.p for row in rows]).tolist(), strict=True)]


def _noise_effects(trials: Trials) -> Iterable[Row]:
    for data, model in product(DATASETS, MODELS):
        clean, noisy = (trials.scores(trials.run_of(data), at_noise(model, data, noise)) for noise in (0.0, 0.8))
        yield compare(("1a", data, model), clean, noisy)


def _models(trials: Trials, family: str) -> Iterable[Row]:
    noise, testbed, score = {"1b": (0.4, "noise", "correct"), "1c": (1.0, "rejection", "refused")}[family]
    for data, (smaller, larger) in product(DATASETS, PAIRS):
        run = trials.run_of(data)
        sides = [trials.scores(run, at_noise(model, data, noise, testbed), score) for model in (smaller, larger)]
        yield compare((family, data, f"{larger} − {smaller}"), sides[0], sides[1])


def _positions(cells: Iterable[Cell]) -> Iterable[Row]:
    """Yield the positions with the lowest and highest accuracy, and the p-value from Cochran's Q."""
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        is_shown = cell.table == "position" and cell.scope == "all" and cell.key.profile == "robust"
        if is_shown and cell.scorer == "robust" and cell.place.get("noise") == 0.8:
            found.setdefault((cell.key.data, cell.key.model), []).append(cell)
    for data, model in product(DATASETS, MODELS):
        own = found[data, model]
        rates = [cell.estimate.value or 0.0 for cell in own if cell.estimate.metric == "accuracy_by_slot"]
        (test,) = (cell.estimate for cell in own if cell.estimate.metric == "position_p")
        spread = Interval(max(rates) - min(rates), float("nan"), float("nan"))
        yield Row("1d", data, model, min(rates), max(rates), spread, test.n, test.value or 0.0)


def fixed(model: str, data: str, k: int) -> Callable[[Trial], bool]:
    """Return a function that chooses trials with one supporting document among k documents."""
    return lambda trial: (trial.model, trial.data, trial.arm, trial.k) == (model, data, "fixed", k)


def _evidence(trials: Trials) -> Iterable[Row]:
    for data, model in product(DATASETS, MODELS):
        sides = []
        for run, conditions in (
            (trials.run_of(data), [at_noise(model, data, noise) for noise in (0.0, 0.8)]),
            (trials.run_of(data, "fixed"), [fixed(model, data, k) for k in (1, 5)]),
        ):
            before, after = (trials.scores(run, condition) for condition in conditions)
            sides.append({unit: after[unit] - before[unit] for unit in before.keys() & after.keys()})
        yield compare(("3a", data, model), sides[0], sides[1], scale=2.0)


def _matching(trials: Trials, scorer: str) -> Iterable[Row]:
    """Yield the effect of substring matching on complete responses.

    A truncated response is scored by the original code, but is wrong under the robust scorer whatever it contains.
    """
    for data, model in product(DATASETS, MODELS):
        condition = at_noise(model, data, None)

        def chosen(trial: Trial, condition: Callable[[Trial], bool] = condition) -> bool:
            return condition(trial) and trial.outcome == "ok"

        run = trials.run_of(data)
        sides = [trials.scores(run, chosen, score) for score in ("correct", f"{scorer}.correct")]
        yield compare(("3b", data, model), sides[0], sides[1])


def _original_positions(trials: Trials) -> Iterable[Row]:
    for model in MODELS:
        chosen = at_noise(model, "zh_refine", 0.4)
        yield compare(("3c", "zh_refine", model), trials.scores("rgb-main", chosen), trials.scores("rgb-code", chosen))


def same_response_rows(trials: Trials) -> list[Row]:
    """Return exploratory comparisons on the same responses: the original's constant position, and its matching.

    With four distractors among five documents, the original code always puts the answer in the same position. The
    responses for this position are compared with those for all positions.
    """
    slots = {trial.slots for trial in trials.by_run["rgb-code"] if trial.testbed == "noise" and trial.noise == 0.8}
    single = sorted(found for found in slots if len(found) == 1)
    rows = []
    for data, model in product(DATASETS, MODELS):
        run, chosen = trials.run_of(data), at_noise(model, data, 0.8)
        everywhere = trials.scores(run, chosen)
        there = trials.scores(run, lambda trial, chosen=chosen: chosen(trial) and trial.slots == single[0])  # type: ignore[misc]
        rows.append(compare(("position", data, model), everywhere, there))
    matching = [replace(row, family="substring") for row in _matching(trials, "code")]
    return [*rows, *matching]
