"""Rank several models on the questions that they share, with a paired test for each pair of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean, harmonic_mean

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Comparison, Side, adjust, compare_questions
from ragbed.analysis.statistics.rates import ALPHA, Interval, clustered_wilson
from ragbed.analysis.statistics.sequential import rate_sequence
from ragbed.errors import UsageError
from ragbed.runs.display_names import name_by_run

_Pooled = dict[ComparedQuestion, float]


@dataclass(frozen=True)
class RankedModel:
    """A model in a ranking.

    Attributes:
        model: Its name.
        score: Share of right responses (or of refusals, for rejection), with the 95% interval.
        best: The best rank that the tests do not exclude: 1 plus the number of significantly better models.
        worst: The worst rank that the tests do not exclude.
        errors: Number of cases of the compared questions that ended in an error and count as wrong.
        truncated: Number of truncated responses to them.
        filtered: Number of filtered responses to them, which count as wrong.
    """

    model: str
    score: Interval
    best: int
    worst: int
    errors: int
    truncated: int
    filtered: int


@dataclass(frozen=True)
class PairedModels:
    """Two models in a ranking and their comparison: `second` minus `first`."""

    first: str
    second: str
    comparison: Comparison

    @property
    def better(self) -> str | None:
        """The model that is significantly better, or None if neither is."""
        if self.comparison.adjusted >= ALPHA:
            return None
        return self.second if self.comparison.difference.value > 0 else self.first


@dataclass(frozen=True)
class Ranking:
    """The models on one testbed, best first.

    Attributes:
        condition: The testbed. Noise ratio and share of true documents are not set, because scores are means over them.
        noise: The noise ratios for which all models have results.
        n: Number of distinct questions that all models have.
        items: Number of items that all models have; more than n if items share a question or an event.
        unpaired: Number of questions that only some of the models have, which are not compared.
        models: The models.
        pairs: All pairs of models, with p-values adjusted for all pairs in all rankings (Holm).
    """

    condition: ComparedCondition
    noise: tuple[float, ...]
    n: int
    items: int
    unpaired: int
    models: tuple[RankedModel, ...]
    pairs: tuple[PairedModels, ...]


@dataclass(frozen=True)
class _Group:
    """All models' scores on a testbed. A question's score is the mean over the conditions that all models share."""

    condition: ComparedCondition
    conditions: list[ComparedCondition]
    sides: dict[str, Side]

    def pool(self) -> dict[str, _Pooled]:
        found: dict[str, dict[ComparedQuestion, list[float]]] = {name: {} for name in self.sides}
        for condition in self.conditions:
            for question in _shared(condition, self.sides.values()):
                for name, side in self.sides.items():
                    found[name].setdefault(question, []).append(side.scores[condition][question])
        return {name: {question: fmean(values) for question, values in per.items()} for name, per in found.items()}

    def count_unpaired(self) -> int:
        every = {question for side in self.sides.values() for one in self.conditions for question in side.scores[one]}
        paired = {question for one in self.conditions for question in _shared(one, self.sides.values())}
        return len({(question.text, question.answer) for question in every - paired})


def rank_models(sides: Sequence[Side]) -> list[Ranking]:
    """Rank models on every testbed for which at least two of them have results.

    Args:
        sides: The models, at least two.

    Raises:
        UsageError: There is only one model, or the models share no questions.
    """
    if len(sides) < 2:
        only = f"{sides[0].run} contains only the model {sides[0].model}" if sides else "the runs contain no trials"
        raise UsageError(f"{only}, but a ranking requires at least two models. Add more runs.")
    names = name_by_run([(side.run, side.model) for side in sides])
    groups = [group for group in _group(dict(zip(names, sides, strict=True))) if group.conditions]
    if not groups:
        raise UsageError(
            "the models have no questions in common. Rank runs with the same data, testbeds and noise ratios."
        )
    pooled = [group.pool() for group in groups]
    pairs = [_compare_all(group, scores) for group, scores in zip(groups, pooled, strict=True)]
    adjusted = iter(adjust([pair.comparison for found in pairs for pair in found]))
    return [
        _rank(group, scores, [replace(pair, comparison=next(adjusted)) for pair in found])
        for group, scores, found in zip(groups, pooled, pairs, strict=True)
    ]


def _group(sides: dict[str, Side]) -> list[_Group]:
    found: dict[ComparedCondition, dict[str, Side]] = {}
    for name, side in sides.items():
        for condition in side.scores:
            found.setdefault(condition._replace(noise=None, correct=0.0), {})[name] = side
    return [_Group(condition, _common(condition, those), those) for condition, those in found.items() if len(those) > 1]


def _common(testbed: ComparedCondition, sides: dict[str, Side]) -> list[ComparedCondition]:
    first = next(iter(sides.values()))
    return [
        condition
        for condition in first.scores
        if condition._replace(noise=None, correct=0.0) == testbed
        and all(condition in side.scores for side in sides.values())
        and _shared(condition, sides.values())
    ]


def _shared(condition: ComparedCondition, sides: Iterable[Side]) -> set[ComparedQuestion]:
    return set.intersection(*(set(side.scores[condition]) for side in sides))


def _compare_all(group: _Group, scores: dict[str, _Pooled]) -> list[PairedModels]:
    return [
        PairedModels(
            first,
            second,
            compare_questions(
                group.condition,
                scores[first],
                scores[second],
                0.0,
                is_monitored=group.sides[first].is_monitored or group.sides[second].is_monitored,
            ),
        )
        for first, second in combinations(scores, 2)
    ]


def _rank(group: _Group, scores: dict[str, _Pooled], pairs: Sequence[PairedModels]) -> Ranking:
    shared = {condition: _shared(condition, group.sides.values()) for condition in group.conditions}
    times = Counter(question for questions in shared.values() for question in questions)
    wins = Counter(pair.better for pair in pairs)
    losses = Counter(pair.second if pair.better == pair.first else pair.first for pair in pairs if pair.better)
    models = [
        RankedModel(
            name,
            _interval(scores[name], times, is_monitored=side.is_monitored),
            1 + losses[name],
            len(scores) - wins[name],
            *map(sum, zip(*(side.count_incomplete(*one) for one in shared.items()), strict=True)),
        )
        for name, side in group.sides.items()
    ]
    noise = sorted({condition.noise for condition in group.conditions if condition.noise is not None})
    return Ranking(
        group.condition,
        tuple(noise),
        pairs[0].comparison.n,
        pairs[0].comparison.items,
        group.count_unpaired(),
        tuple(sorted(models, key=lambda model: -model.score.value)),
        tuple(pairs),
    )


def _interval(scores: _Pooled, times: Counter[ComparedQuestion], *, is_monitored: bool) -> Interval:
    """Return the mean over distinct questions with its confidence interval.

    Items about the same event, and items with the same question but different documents, count as one question. The
    conditions of a question are not independent trials.
    """
    questions: dict[object, list[ComparedQuestion]] = {}
    for question in scores:
        questions.setdefault(question.event or (question.text, question.answer), []).append(question)
    trials = [float(sum(times[question] for question in found)) for found in questions.values()]
    means = [fmean(scores[question] for question in found) for found in questions.values()]
    if is_monitored:
        return rate_sequence(means, [1.0] * len(means))
    # Every question has the same weight, so the variance of the mean depends on the harmonic mean of the numbers of
    # trials per question.
    size = harmonic_mean(trials)
    return clustered_wilson([mean * size for mean in means], [size] * len(means))._replace(value=fmean(means))
