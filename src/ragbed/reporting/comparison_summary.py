"""Summarise a comparison in sentences, pooling all noise ratios of each testbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragbed.analysis.comparison import (
    ComparedCondition,
    ComparedQuestion,
    Comparison,
    Side,
    adjust,
    compare_questions,
    format_p,
)
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.testbeds import headline_score
from ragbed.text import counted

ABILITIES = {
    "noise": "noise robustness",
    "rejection": "negative rejection",
    "integration": "information integration",
    "counterfactual": "counterfactual robustness",
    "conflict": "knowledge conflicts",
    "length": "long contexts",
    "closed-book": "closed-book questions",
    "no-documents": "refusal without documents",
    "own-rag": "own RAG system",
    "search": "search as a tool",
}
_INCOMPLETE = ("error", "truncated response", "filtered response")  # the nouns for `IncompleteCounts`
METRICS = {"correct": "accuracy", "refused": "the refusal rate"}


class Summary(NamedTuple):
    """A comparison on one testbed, pooled over all conditions, and the comparison under each condition.

    Each question's score is its mean over the conditions that both sides have, so the pooled condition has no noise
    ratio.
    """

    comparison: Comparison
    rows: tuple[Comparison, ...]


def summarise(first: Side, second: Side, rows: Sequence[Comparison], min_drop: float) -> list[Summary]:
    """Compare two sides on each testbed. Each question counts once, regardless of its number of conditions.

    Args:
        first: Baseline A.
        second: Side B.
        rows: Comparisons under the individual conditions.
        min_drop: Smallest drop that counts as a decline.
    """
    groups: dict[ComparedCondition, list[Comparison]] = {}
    for row in rows:
        groups.setdefault(row.condition._replace(noise=None, correct=0.0), []).append(row)
    pooled = [
        compare_questions(
            condition,
            *_pool(first, second, [row.condition for row in found]),
            min_drop,
            is_monitored=first.is_monitored or second.is_monitored,
        )
        for condition, found in groups.items()
    ]
    return [Summary(one, tuple(found)) for one, found in zip(adjust(pooled), groups.values(), strict=True)]


def _pool(
    first: Side, second: Side, conditions: Sequence[ComparedCondition]
) -> tuple[dict[ComparedQuestion, float], dict[ComparedQuestion, float]]:
    """Return each question's mean score on each side, over the conditions under which both sides have a score."""
    pairs: dict[ComparedQuestion, list[tuple[float, float]]] = {}
    for condition in conditions:
        one, other = first.scores[condition], second.scores[condition]
        for question in one.keys() & other.keys():
            pairs.setdefault(question, []).append((one[question], other[question]))
    means = {
        question: [sum(scores) / len(found) for scores in zip(*found, strict=True)] for question, found in pairs.items()
    }
    return {key: mean[0] for key, mean in means.items()}, {key: mean[1] for key, mean in means.items()}


def state(summaries: Sequence[Summary]) -> list[str]:
    """Return sentences about significant differences, and about comparisons without a significant difference."""
    places = {one.comparison.condition: _name(one, summaries) for one in summaries}
    sentences, same = [], []
    for one in summaries:
        name = places[one.comparison.condition]
        if one.comparison.adjusted < ALPHA:
            sentences.append(_difference(one.comparison, _of(name, _ratios(one.rows))))
        else:
            same.append(f"{name} ({_numbers(one.comparison, with_p=False)})")
    if same:
        listed = same[0] if len(same) == 1 else f"{', '.join(same[:-1])} or {same[-1]}"
        sentences.append(f"No significant difference on {listed}.")
    return [*sentences, *_single_conditions(summaries, places)]


def state_incomplete(rows: Sequence[Comparison]) -> list[str]:
    """Return a sentence about the errors and the truncated and filtered responses of each side that has any."""
    sentences = []
    for at, side in enumerate("AB"):
        # A row that compares `search` with another condition of A repeats the counts of that condition.
        own = [row for row in rows if side == "B" or not row.condition.against] or rows
        totals = [sum(counts) for counts in zip(*(row.incomplete[at] for row in own), strict=True)]
        if parts := [counted(total, noun) for total, noun in zip(totals, _INCOMPLETE, strict=True) if total]:
            sentences.append(f"{side} has {', '.join(parts)}.")
    return sentences


def _single_conditions(summaries: Sequence[Summary], places: dict[ComparedCondition, str]) -> Iterator[str]:
    """Yield a sentence for each condition whose significant difference disagrees with the testbed's pooled result."""
    for one in summaries:
        mean = one.comparison
        for row in one.rows if len(one.rows) > 1 else ():
            is_other_way = (row.difference.value > 0) != (mean.difference.value > 0)
            if row.adjusted < ALPHA and (mean.adjusted >= ALPHA or is_other_way):
                yield _difference(row, _of(places[mean.condition], _ratios([row])))


def _difference(row: Comparison, where: str) -> str:
    way, moves = ("better", "rises") if row.difference.value > 0 else ("worse", "falls")
    metric = METRICS[headline_score(row.condition.testbed, row.condition.arm)]
    return (
        f"B is {way} than A on {where}: {metric} {moves} from {100 * row.first:.1f}% to {100 * row.second:.1f}% "
        f"({_numbers(row, with_p=True)})."
    )


def _numbers(row: Comparison, *, with_p: bool) -> str:
    value, low, high = (signed(100 * one) for one in row.difference)
    p = f"adjusted p {format_p(row.adjusted)}, " if with_p else ""
    return f"{value} points, 95% interval {low} to {high}, {p}{counted(row.n, 'question')}"


def tell_repeated(counts: Sequence[tuple[int, int]]) -> str:
    """Explain why n is smaller than the number of items, or return an empty string if the two are equal.

    Args:
        counts: The numbers of items and of distinct questions, for each comparison.
    """
    items, questions = max(counts, key=lambda pair: pair[0] - pair[1], default=(0, 0))
    if items == questions:
        return ""
    return (
        f"n counts distinct questions: {items:,} items contain {questions:,}. Items about the same event, or with the "
        "same question but different documents, count as one question with their mean score, so the rates can differ "
        "slightly from those of `ragbed report`, which counts every case."
    )


def signed(points: float) -> str:
    """Format a difference in percentage points, with a plus or minus sign."""
    return f"{points:+.1f}".replace("-", "−")


def _of(name: str, detail: str) -> str:
    return f"{name} ({detail})" if detail else name


def _name(one: Summary, among: Sequence[Summary]) -> str:
    """Return a unique name for a comparison."""
    condition = one.comparison.condition
    others = [other.comparison.condition for other in among]
    name = ABILITIES.get(condition.testbed, condition.testbed)
    if len({other.data for other in others}) > 1:
        name += f" in {condition.data}"
    elif len({other.lang for other in others}) > 1:
        name += f" in {condition.lang}"
    if len({other.k for other in others if other.testbed == condition.testbed}) > 1:
        name += f" with {condition.k} documents"
    name += f", {show_arm(condition)}" if condition.arm != "related" else ""
    name += f", against {condition.against}" if condition.against else ""
    return name + (f", {condition.remedy} prompt" if condition.remedy else "")


def show_arm(condition: ComparedCondition) -> str:
    """Format a distractor condition, or a condition of the `search` testbed, for use in a title."""
    return condition.arm if condition.testbed == "search" else f"{condition.arm} distractors"


def _ratios(rows: Sequence[Comparison]) -> str:
    """Return the noise ratios and shares of true documents over which scores are averaged."""
    if headline_score(rows[0].condition.testbed, rows[0].condition.arm) == "refused":
        return ""
    noises = sorted({row.condition.noise for row in rows if row.condition.noise is not None})
    shares = sorted({row.condition.correct for row in rows})
    parts = [f"noise {_listed(noises)}"] if noises else []
    parts += [f"true documents {_listed(shares)}"] if any(shares) else []
    return ("mean over " if len(rows) > 1 else "") + ", ".join(parts)


def _listed(numbers: Sequence[float]) -> str:
    shown = [f"{number:.3g}" for number in numbers]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
