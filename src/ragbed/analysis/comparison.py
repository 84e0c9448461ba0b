"""Two sides, question by question: who wins where, by how much, and which questions flipped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from ragbed.analysis.metrics.trial import Scored
from ragbed.analysis.run_cells import read_trials
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import decline_test, flip_odds, paired_difference, sign_flips
from ragbed.analysis.statistics.rates import Interval
from ragbed.errors import UnknownName, UsageError
from ragbed.runs.database import NAME
from ragbed.runs.display_names import read_names
from ragbed.schema import Answer, Case
from ragbed.scoring import open_tracks
from ragbed.testbeds import right_score
from ragbed.testbeds.prompts.strategies import MARK


class ComparedCondition(NamedTuple):
    """What is the same on both sides; profile, prompt and seed may differ, since they may be what is compared."""

    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    remedy: str = ""
    """As which both were asked; empty for the plain prompt."""


@dataclass(frozen=True)
class Side:
    """A model of a run, as `RUN` or `RUN:model` names it."""

    run: Path
    model: str
    scores: dict[ComparedCondition, dict[ComparedQuestion, float]]
    """By condition and question: the mean over repeats and rotations; a failure counts 0."""


class ComparedQuestion(NamedTuple):
    """What is paired: a name alone may stand for other questions in another edition of the data."""

    item: str
    text: str
    answer: Answer


class Flip(NamedTuple):
    """A question that one side gets right and the other does not."""

    condition: ComparedCondition
    item: str
    question: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """One condition: the questions that both sides were asked."""

    condition: ComparedCondition
    n: int
    """Distinct questions."""
    unpaired: int
    """Questions that only one side has; no number here includes them."""
    first: float
    second: float
    difference: Interval
    won: int
    """Questions on which the second is better."""
    lost: int
    p: float
    adjusted: float
    """For the number of conditions (Holm)."""
    decline_p: float
    """Of a fall by no more than the least that counts, adjusted likewise."""

    @property
    def odds(self) -> Interval | None:
        """Questions won for each one lost; None where none flipped."""
        return flip_odds(self.won, self.lost) if self.won + self.lost else None


def open_side(named: str, track: str) -> Side:
    """Reads one side.

    Raises:
        UsageError: The run holds several models and none is named.
    """
    folder, model = _split(named)
    trials = list(read_trials(folder, open_tracks([track])))
    models = list(dict.fromkeys(trial.model for _, trial in trials))
    names = read_names([folder])
    model = {name: full for full, name in names.items()}.get(model, model)
    if model and model not in models:
        raise UnknownName("model of the run", model, models)
    if not model and len(models) != 1:
        raise UsageError(
            f"{folder} holds {len(models)} models; name one: {folder}:{names[models[0]] if models else 'MODEL'}."
        )
    chosen = model or models[0]
    return Side(
        folder, names[chosen], _scores(((case, trial) for case, trial in trials if trial.model == chosen), track)
    )


def _split(named: str) -> tuple[Path, str]:
    """Run and model of `RUN:MODEL`; both may hold colons, so the run is the first part that is one."""
    for at, character in enumerate(named):
        if character == ":" and (Path(named[:at]) / NAME).is_file():
            return Path(named[:at]), named[at + 1 :]
    return Path(named), ""


def compare(first: Side, second: Side, least: float) -> list[Comparison]:
    """Compare two sides under every condition that both have.

    Args:
        first: The baseline, A.
        second: The side compared with it, B.
        least: The smallest fall that counts as a decline.

    Raises:
        UsageError: They have no question in common.
    """
    made = [
        compare_questions(condition, first.scores[condition], second.scores[condition], least)
        for condition in first.scores
        if condition in second.scores and first.scores[condition].keys() & second.scores[condition].keys()
    ]
    if not made:
        raise UsageError(
            f"{first.run} and {second.run} have no question in common; is it the same data, testbed and noise?"
        )
    return adjust(made)


def adjust(rows: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p values of comparisons for their number (Holm)."""
    adjusted = holm([one.p for one in rows]).tolist()
    declines = holm([one.decline_p for one in rows]).tolist()
    return [replace(one, adjusted=p, decline_p=fall) for one, p, fall in zip(rows, adjusted, declines, strict=True)]


def count_unpaired(first: Side, second: Side) -> int:
    """Count the questions that only one side has, under at least one condition that both have."""
    return len(
        {
            (condition.data, question.text, question.answer)
            for condition in first.scores.keys() & second.scores.keys()
            for question in first.scores[condition].keys() ^ second.scores[condition].keys()
        }
    )


def flips(first: Side, second: Side) -> list[Flip]:
    """The questions that flipped, by condition."""
    found = []
    for condition, scores in first.scores.items():
        others = second.scores.get(condition, {})
        found += [
            Flip(condition, question.item, question.text, score, others[question])
            for question, score in scores.items()
            if question in others and others[question] != score
        ]
    return found


def compare_questions(
    condition: ComparedCondition,
    first: dict[ComparedQuestion, float],
    second: dict[ComparedQuestion, float],
    least: float,
) -> Comparison:
    """Compare the scores of questions that both sides have.

    Items that ask the same question of other documents (minimal pairs) are one question: its score is their mean.
    """
    paired: dict[tuple[str, Answer], list[tuple[float, float]]] = {}
    for question in sorted(first.keys() & second.keys()):
        paired.setdefault((question.text, question.answer), []).append((first[question], second[question]))
    ones = [fmean(one for one, _ in scores) for scores in paired.values()]
    others = [fmean(other for _, other in scores) for scores in paired.values()]
    moved = [other - one for one, other in zip(ones, others, strict=True)]
    return Comparison(
        condition=condition,
        n=len(paired),
        unpaired=len({(question.text, question.answer) for question in first.keys() ^ second.keys()}),
        first=fmean(ones),
        second=fmean(others),
        difference=paired_difference(moved),
        won=sum(change > 0 for change in moved),
        lost=sum(change < 0 for change in moved),
        p=sign_flips(moved),
        adjusted=1.0,
        decline_p=decline_test(moved, least),
    )


def _scores(
    trials: Iterable[tuple[Case, Scored]], track: str
) -> dict[ComparedCondition, dict[ComparedQuestion, float]]:
    asked: dict[ComparedCondition, dict[ComparedQuestion, list[float]]] = {}
    for case, trial in trials:
        value = _value(case, trial, track)
        if value is not None:
            remedy = trial.profile.partition(MARK)[2]
            place = (trial.data, trial.lang, trial.testbed, trial.noise, trial.correct, trial.k, trial.arm, remedy)
            question = ComparedQuestion(trial.item, case.question, case.answer)
            asked.setdefault(ComparedCondition(*place), {}).setdefault(question, []).append(value)
    return {condition: _means(items) for condition, items in asked.items()}


def _means(items: dict[ComparedQuestion, list[float]]) -> dict[ComparedQuestion, float]:
    return {question: fmean(values) for question, values in items.items()}


def _value(case: Case, trial: Scored, track: str) -> float | None:
    if trial.outcome == "infeasible":
        return None
    if trial.scores is None:
        return 0.0
    name = right_score(case)
    value = trial.scores.get(name if track == "robust" else f"{track}.{name}")
    return float(value) if isinstance(value, bool | float) else None


def describe(condition: ComparedCondition) -> Sequence[str]:
    """A condition as cells of a table."""
    noise = "–" if condition.noise is None else f"{condition.noise:.3g}"
    ways = [*([condition.arm] if condition.arm != "related" else []), *([condition.remedy] if condition.remedy else [])]
    testbed = condition.testbed + (f" ({', '.join(ways)})" if ways else "")
    shown = [condition.data, testbed, condition.lang, noise]
    return [*shown, f"{condition.correct:.3g}" if condition.correct else "–"]
