"""Compare two runs or models question by question with paired tests, and rank several models by all pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import isnan
from pathlib import Path
from statistics import fmean, harmonic_mean
from typing import NamedTuple

import msgspec
import numpy as np

from ragbed.analysis.run_cells import is_monitored
from ragbed.analysis.statistics.paired import changes, decline_test, paired_difference, sign_flips
from ragbed.analysis.statistics.rates import ALPHA, Interval, clustered_wilson
from ragbed.analysis.statistics.sequential import decline_p, difference_p, difference_sequence, rate_sequence
from ragbed.analysis.statistics.testing import holm
from ragbed.analysis.trials.columns import load_groups
from ragbed.analysis.trials.table import TrialTable
from ragbed.errors import UnknownName, UsageError
from ragbed.runs.display_names import name_by_run, read_names, require_one_served, split_run
from ragbed.schema import Answer
from ragbed.testbeds.own_rag import NAME as OWN_RAG
from ragbed.testbeds.prompts.strategies import MARK

_SMALLEST_P = 0.001  # smallest p-value to print as a number


class ComparedCondition(NamedTuple):
    """A condition that both sides share. Profile, prompt and seed are excluded, so they may differ between sides."""

    data: str
    lang: str
    testbed: str
    noise: float | None
    correct: float
    k: int
    arm: str
    remedy: str = ""  # the prompting strategy; empty for the plain prompt

    @property
    def pooled(self) -> ComparedCondition:
        """The testbed: the condition without noise ratio and share of true documents, over which scores are pooled."""
        return self._replace(noise=None, correct=0.0)


@dataclass(frozen=True)
class Side:
    """A model in a run, specified as `RUN` or `RUN:model`.

    `scores` are means over repeats and position permutations. Failed calls count as 0. `incomplete` counts each
    question's errors and truncated or filtered responses. If the run was monitored (`--until`), intervals
    and p-values are valid at any stopping time.
    """

    run: Path
    model: str
    scores: dict[ComparedCondition, dict[ComparedQuestion, float]]
    incomplete: dict[ComparedCondition, Counter[ComparedQuestion]] = field(default_factory=dict)
    is_monitored: bool = False

    def count_incomplete(self, condition: ComparedCondition, questions: Iterable[ComparedQuestion]) -> int:
        """Count the errors and the truncated or filtered responses to these questions."""
        return sum(map(self.incomplete.get(condition, Counter()).__getitem__, questions))


@dataclass(frozen=True, order=True)
class ComparedQuestion:
    """A question identified by item, text and answer, because other versions of the data may reuse an item name."""

    item: str
    text: str
    answer: Answer
    # The event that the question is about. Questions about the same event are not independent.
    event: str | None = field(default=None, compare=False)


class Flip(NamedTuple):
    """An item whose score differs between the sides. A comparison counts items with the same question as one."""

    condition: ComparedCondition
    item: str
    question: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """A comparison of two sides under one condition, based on the questions that they share."""

    condition: ComparedCondition
    n: int  # number of distinct questions; questions about the same event count as one
    unpaired: int  # number of questions that occur in only one run; they are excluded from all other fields
    first: float
    second: float
    difference: Interval
    won: int  # number of questions (or events) with a higher score in the second run
    lost: int
    p: float
    adjusted: float  # p-value for the difference, adjusted for the number of conditions (Holm)
    decline_p: float  # p-value from the minimum-effect test for a decline, adjusted for the number of conditions (Holm)
    items: int  # number of items common to both sides; greater than n if items share a question or an event
    incomplete: tuple[int, int] = (0, 0)  # each side's number of errors and of truncated or filtered responses


def open_side(named: str, scorer: str) -> Side:
    """Read the scores of a model in a run.

    Raises:
        UsageError: The run does not have the named model, has several models and none is named, or the model's server
            served several models.
    """
    folder, model = split_run(named)
    sides = open_sides(folder, scorer)
    names = read_names([folder])
    models = {full: name for full, name in names.items() if name in sides}
    model = {name: full for full, name in names.items()}.get(model, model)
    if model and model not in models:
        raise UnknownName("model", model, models)
    if not model and len(models) != 1:
        raise UsageError(
            f"{folder} contains {len(models)} models. Choose one of them, e.g. {folder}:{next(iter(sides))}, or "
            f"compare all of them with `ragbed rank {folder}`."
        )
    chosen = model or next(iter(models))
    require_one_served(folder, [chosen])
    return sides[models[chosen]]


def open_sides(folder: Path, scorer: str) -> dict[str, Side]:
    """Read the scores of all models in a run, by display name. All verdicts are from the installed scorer.

    Raises:
        UsageError: The run contains no results.
    """
    names, monitored = read_names([folder]), is_monitored(folder)
    with TrialTable(folder, [scorer], current=True) as table:
        table.update()
        groups = load_groups([table])
        questions = {
            (data, item): ComparedQuestion(item, question, msgspec.json.decode(answer, type=Answer), event)
            for _, data, item, event, question, answer in table.rows("items")
        }
    sides: dict[str, Side] = {}
    for group in groups:
        name, remedy = names[group.key.model], group.key.profile.partition(MARK)[2]
        for at, trials in group.conditions():
            if not trials.asked.any():
                continue
            side = sides.setdefault(name, Side(folder, name, {}, {}, monitored))
            condition = ComparedCondition(at.data, at.lang, at.testbed, at.noise, at.correct, at.k, at.arm, remedy)
            means = trials.per_item(trials.asked, trials.right(scorer)).tolist()
            counts = np.bincount(trials.item, weights=trials.asked & (trials.outcome != "ok")).tolist()
            for item in np.unique(trials.item[trials.asked]).tolist():
                question = questions[at.data, trials.items[item]]
                side.incomplete.setdefault(condition, Counter())[question] = int(counts[item])
                if not isnan(means[item]):
                    side.scores.setdefault(condition, {})[question] = means[item]
    if not sides:
        raise UsageError(f"{folder} contains no results. To complete the run, rerun the command that created it.")
    if not any(side.scores for side in sides.values()):
        raise UsageError(
            f"{folder}: the scorer {scorer} does not say which responses are correct, so it cannot be used here. "
            "Return True or False, or a dictionary with the key 'correct'."
        )
    return sides


def align_questions(sides: Sequence[Side]) -> Sequence[Side]:
    """Return the sides with one name for the questions of own RAG systems if each side has only one list of them."""
    # These questions identify themselves. Their list has the name of its file, or `data` if it was passed in Python.
    names = [{one.data for one in side.incomplete if one.testbed == OWN_RAG} for side in sides]
    if max(map(len, names), default=0) > 1 or len(frozenset[str]().union(*names)) < 2:
        return sides
    own = {one: one._replace(data="questions") for side in sides for one in side.incomplete if one.testbed == OWN_RAG}
    return [
        replace(
            side,
            scores={own.get(one, one): found for one, found in side.scores.items()},
            incomplete={own.get(one, one): found for one, found in side.incomplete.items()},
        )
        for side in sides
    ]


def compare(first: Side, second: Side, min_drop: float) -> list[Comparison]:
    """Compare two sides under every condition that they share.

    Args:
        first: The baseline, A.
        second: The side that is compared with the baseline, B.
        min_drop: Smallest drop that counts as a decline.

    Raises:
        UsageError: The sides have no question in common.
    """
    monitored = first.is_monitored or second.is_monitored
    made = []
    for condition, scores in first.scores.items():
        if shared := scores.keys() & second.scores.get(condition, {}).keys():
            row = compare_questions(condition, scores, second.scores[condition], min_drop, is_monitored=monitored)
            incomplete = first.count_incomplete(condition, shared), second.count_incomplete(condition, shared)
            made.append(replace(row, incomplete=incomplete))
    if not made:
        raise UsageError(
            f"{first.run} and {second.run} have no questions in common. Compare runs with the same data, testbeds "
            "and noise ratios."
        )
    return adjust(made)


def adjust(rows: Sequence[Comparison]) -> list[Comparison]:
    """Adjust the p-values for the number of comparisons (Holm)."""
    adjusted, declines = (holm([getattr(row, name) for row in rows]).tolist() for name in ("p", "decline_p"))
    return [replace(row, adjusted=p, decline_p=fall) for row, p, fall in zip(rows, adjusted, declines, strict=True)]


def count_unpaired(first: Side, second: Side) -> int:
    """Count the questions that occur on only one side under at least one shared condition."""
    return len(
        {
            (condition.data, question.text, question.answer)
            for condition in first.scores.keys() & second.scores.keys()
            for question in first.scores[condition].keys() ^ second.scores[condition].keys()
        }
    )


def flips(first: Side, second: Side) -> list[Flip]:
    """Return the items whose scores differ between the sides, sorted by condition."""
    pairs = [
        Flip(condition, question.item, question.text, score, second.scores[condition][question])
        for condition, scores in first.scores.items()
        for question, score in scores.items()
        if question in second.scores.get(condition, {})
    ]
    moved = changes([pair.first for pair in pairs], [pair.second for pair in pairs])
    return [pair for pair, change in zip(pairs, moved.tolist(), strict=True) if change]


def compare_questions(
    condition: ComparedCondition,
    first: dict[ComparedQuestion, float],
    second: dict[ComparedQuestion, float],
    min_drop: float,
    *,
    is_monitored: bool = False,
) -> Comparison:
    """Compare scores on the questions that both sides share.

    Items about the same event, and items with the same question but different documents (minimal pairs), count as
    one question with their mean score.
    """
    before, after = pair_scores(first, second)
    moved = changes(before, after)
    return Comparison(
        condition=condition,
        n=len(moved),
        unpaired=len({(question.text, question.answer) for question in first.keys() ^ second.keys()}),
        first=fmean(before),
        second=fmean(after),
        difference=difference_sequence(moved) if is_monitored else paired_difference(moved),
        won=int((moved > 0).sum()),
        lost=int((moved < 0).sum()),
        p=difference_p(moved) if is_monitored else sign_flips(moved),
        adjusted=1.0,
        decline_p=decline_p(moved, min_drop) if is_monitored else decline_test(moved, min_drop),
        items=len(first.keys() & second.keys()),
    )


def pair_scores(
    first: dict[ComparedQuestion, float], second: dict[ComparedQuestion, float]
) -> tuple[list[float], list[float]]:
    """Return the scores of both sides, with one entry per distinct question that both sides share."""
    events = {question: question.event for question in (*first, *second) if question.event is not None}
    paired: dict[object, list[tuple[float, float]]] = {}
    for question in sorted(first.keys() & second.keys()):
        unit = events.get(question, (question.text, question.answer))
        paired.setdefault(unit, []).append((first[question], second[question]))
    before, after = ([fmean(pair[side] for pair in pairs) for pairs in paired.values()] for side in (0, 1))
    return before, after


def describe(condition: ComparedCondition) -> Sequence[str]:
    """Return a condition as cells of a table row: data, testbed, language, noise ratio and share of true documents."""
    ways = [condition.arm] if condition.arm != "related" else []
    ways += [condition.remedy] if condition.remedy else []
    testbed = condition.testbed + (f" ({', '.join(ways)})" if ways else "")
    noise = "–" if condition.noise is None else f"{condition.noise:.3g}"
    return [condition.data, testbed, condition.lang, noise, f"{condition.correct:.3g}" if condition.correct else "–"]


def format_p(p: float) -> str:
    """Format a p-value; very small ones are given as a bound, because floating-point numbers can round them to 0."""
    return f"{p:.2g}" if p >= _SMALLEST_P else f"< {_SMALLEST_P}"


def name_condition(condition: ComparedCondition) -> str:
    """Return a name that no other condition has, e.g. `noise on en_refine, en, noise 0.8, k 5`."""
    data, testbed, lang, noise, correct = describe(condition)
    name = f"{testbed} on {data}, {lang}" + (f", noise {noise}" if condition.noise is not None else "")
    name += f", correct {correct}" if condition.correct else ""
    return name + (f", k {condition.k}" if condition.k and condition.testbed != OWN_RAG else "")


@dataclass(frozen=True)
class RankedModel:
    """A model in a ranking.

    Attributes:
        model: Its name.
        score: Share of right responses (or of refusals, for rejection), with the 95% interval.
        incomplete: Number of errors and of truncated or filtered responses to the compared questions.
    """

    model: str
    score: Interval
    incomplete: int


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

    def ranks(self, model: str) -> tuple[int, int]:
        """Return the best and the worst rank of a model that the tests do not exclude."""
        decided = [pair for pair in self.pairs if pair.better and model in (pair.first, pair.second)]
        wins = sum(pair.better == model for pair in decided)
        return 1 + len(decided) - wins, len(self.models) - wins


def shared_questions(
    sides: Sequence[Side], testbed: ComparedCondition
) -> dict[ComparedCondition, set[ComparedQuestion]]:
    """Return the questions that all sides have under each condition that is pooled on a testbed."""
    conditions = [condition for condition in sides[0].scores if condition.pooled == testbed]
    shared = {one: set.intersection(*(set(side.scores.get(one, ())) for side in sides)) for one in conditions}
    return {condition: questions for condition, questions in shared.items() if questions}


def pool(side: Side, shared: Mapping[ComparedCondition, set[ComparedQuestion]]) -> dict[ComparedQuestion, float]:
    """Return a side's score on each shared question: the mean over the conditions."""
    found: dict[ComparedQuestion, list[float]] = {}
    for condition, questions in shared.items():
        for question in questions:
            found.setdefault(question, []).append(side.scores[condition][question])
    return {question: fmean(values) for question, values in found.items()}


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
    named = dict(zip(name_by_run([(side.run, side.model) for side in sides]), align_questions(sides), strict=True))
    rankings = []
    for testbed in dict.fromkeys(condition.pooled for side in named.values() for condition in side.scores):
        members = {
            name: side for name, side in named.items() if any(condition.pooled == testbed for condition in side.scores)
        }
        shared = shared_questions([*members.values()], testbed)
        if len(members) > 1 and shared:
            rankings.append(_rank(testbed, members, shared))
    if not rankings:
        raise UsageError(
            "the models have no questions in common. Rank runs with the same data, testbeds and noise ratios."
        )
    adjusted = iter(adjust([pair.comparison for ranking in rankings for pair in ranking.pairs]))
    return [
        replace(ranking, pairs=tuple(replace(pair, comparison=next(adjusted)) for pair in ranking.pairs))
        for ranking in rankings
    ]


def _rank(
    testbed: ComparedCondition, sides: dict[str, Side], shared: dict[ComparedCondition, set[ComparedQuestion]]
) -> Ranking:
    """Return the ranking of models on a testbed, with p-values that are not adjusted yet."""
    pooled = {name: pool(side, shared) for name, side in sides.items()}
    pairs = []
    for first, second in combinations(sides, 2):
        monitored = sides[first].is_monitored or sides[second].is_monitored
        row = compare_questions(testbed, pooled[first], pooled[second], 0.0, is_monitored=monitored)
        pairs.append(PairedModels(first, second, row))
    times = Counter(question for questions in shared.values() for question in questions)
    models = [
        RankedModel(
            name,
            _interval(pooled[name], times, is_monitored=side.is_monitored),
            sum(side.count_incomplete(*one) for one in shared.items()),
        )
        for name, side in sides.items()
    ]
    every = {question for side in sides.values() for one in shared for question in side.scores[one]}
    return Ranking(
        testbed,
        tuple(sorted({condition.noise for condition in shared if condition.noise is not None})),
        pairs[0].comparison.n,
        pairs[0].comparison.items,
        len({(question.text, question.answer) for question in every.difference(*shared.values())}),
        tuple(sorted(models, key=lambda model: -model.score.value)),
        tuple(pairs),
    )


def _interval(
    scores: dict[ComparedQuestion, float], times: Counter[ComparedQuestion], *, is_monitored: bool
) -> Interval:
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
