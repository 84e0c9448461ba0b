"""Compare and rank models in sentences and tables. Sentences pool all noise ratios of each testbed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragbed.analysis.comparison import (
    ComparedCondition,
    Comparison,
    Flip,
    Ranking,
    Side,
    adjust,
    compare_questions,
    describe,
    format_p,
    pool,
    shared_questions,
)
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.errors import option
from ragbed.reporting.numbers import show_interval
from ragbed.reporting.table import Cell, Table, compact, group_by
from ragbed.testbeds import WITHOUT_DOCUMENTS, headline_score
from ragbed.testbeds.given import GIVEN
from ragbed.text import counted

_ABILITIES = {
    "noise": "noise robustness",
    "rejection": "negative rejection",
    "integration": "information integration",
    "counterfactual": "counterfactual robustness",
    "conflict": "knowledge conflicts",
    "length": "long contexts",
    "closed-book": "closed-book questions",
    "no-documents": "refusal without documents",
    "given": "given documents",
    "own-rag": "questions about its own documents",
    "search": "search as a tool",
    "injection": "instructions in documents",
}
_METRICS = {"correct": "accuracy", "refused": "the refusal rate", "expected": "the share of expected responses"}


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
    groups = group_by(rows, lambda row: row.condition.pooled)
    pooled = []
    for testbed in groups:
        shared = shared_questions([first, second], testbed)
        sides, is_monitored = (pool(first, shared), pool(second, shared)), first.is_monitored or second.is_monitored
        pooled.append(compare_questions(testbed, *sides, min_drop, is_monitored=is_monitored))
    return [Summary(one, tuple(found)) for one, found in zip(adjust(pooled), groups.values(), strict=True)]


def state(summaries: Sequence[Summary]) -> list[str]:
    """Return sentences about significant differences, and about comparisons without a significant difference."""
    sentences, same = [], []
    for one in summaries:
        name = _name(one.comparison.condition, [other.comparison.condition for other in summaries])
        if one.comparison.adjusted < ALPHA:
            ratios = _ratios(one.rows)
            sentences.append(_difference(one.comparison, f"{name} ({ratios})" if ratios else name))
        else:
            same.append(f"{name} ({_numbers(one.comparison, with_p=False)})")
    if same:
        sentences.append(f"No significant difference on {_list(same, 'or')}.")
    return sentences


def state_incomplete(rows: Sequence[Comparison]) -> list[str]:
    """Return a sentence about the incomplete responses of each side that has any."""
    totals = {side: sum(row.incomplete[at] for row in rows) for at, side in enumerate("AB")}
    return [
        f"{side} has {counted(total, 'incomplete response')} (errors, truncated or filtered)."
        for side, total in totals.items()
        if total
    ]


def _difference(row: Comparison, where: str) -> str:
    way, moves = ("better", "rises") if row.difference.value > 0 else ("worse", "falls")
    metric = _METRICS[headline_score(row.condition.testbed, row.condition.arm)]
    return (
        f"B is {way} than A on {where}: {metric} {moves} from {100 * row.first:.1f}% to {100 * row.second:.1f}% "
        f"({_numbers(row, with_p=True)})."
    )


def _numbers(row: Comparison, *, with_p: bool) -> str:
    value, low, high = (f"{100 * one:+.1f}".replace("-", "−") for one in row.difference)
    p = f"adjusted p {format_p(row.adjusted)}, " if with_p else ""
    return f"{value} points, 95% interval {low} to {high}, {p}{counted(row.n, 'question')}"


def _name(condition: ComparedCondition, others: Sequence[ComparedCondition]) -> str:
    """Return a unique name for a condition among others."""
    name = _ABILITIES.get(condition.testbed, condition.testbed)
    if len({other.data for other in others}) > 1:
        name += f" in {condition.data}"
    elif len({other.lang for other in others}) > 1:
        name += f" in {condition.lang}"
    if len({other.k for other in others if other.testbed == condition.testbed}) > 1:
        name += f" with {condition.k} documents"
    name += f", {_show_arm(condition)}" if condition.arm != "related" else ""
    return name + (f", {condition.remedy} prompt" if condition.remedy else "")


def _show_arm(condition: ComparedCondition) -> str:
    """Format a distractor condition, or a condition of the testbed's own, for use in a title."""
    if condition.testbed == GIVEN.name:
        return f"expected: {condition.arm}"
    has_own = condition.testbed in (*WITHOUT_DOCUMENTS, "injection")
    return condition.arm if has_own else f"{condition.arm} distractors"


def _ratios(rows: Sequence[Comparison]) -> str:
    """Return the noise ratios and shares of true documents over which scores are averaged."""
    if headline_score(rows[0].condition.testbed, rows[0].condition.arm) == "refused":
        return ""
    noises = [f"{one:.3g}" for one in sorted({row.condition.noise for row in rows if row.condition.noise is not None})]
    shares = [f"{one:.3g}" for one in sorted({row.condition.correct for row in rows})]
    parts = [f"noise {_list(noises, 'and')}"] if noises else []
    parts += [f"true documents {_list(shares, 'and')}"] if any(row.condition.correct for row in rows) else []
    return ("mean over " if len(rows) > 1 else "") + ", ".join(parts)


def _list(texts: Sequence[str], conjunction: str) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {conjunction} {texts[-1]}"


def tabulate_comparison(rows: Sequence[Comparison], min_drop: float) -> Table:
    """Return one row per condition: rates for A and B, their difference, 95% confidence interval and p-values.

    Args:
        rows: The comparisons.
        min_drop: Smallest drop that counts as a decline.
    """
    values: list[dict[str, object]] = []
    shown: list[dict[str, Cell]] = []
    for row in rows:
        counts = dict(zip(("A incomplete", "B incomplete"), row.incomplete, strict=True))
        values.append(
            row.condition._asdict()
            | {"n": row.n, "items": row.items, "unpaired": row.unpaired, "a": row.first, "b": row.second}
            | dict(zip(("difference", "low", "high"), map(float, row.difference), strict=True))
            | {"won": row.won, "lost": row.lost}
            | {name.lower().replace(" ", "_"): count for name, count in counts.items()}
            | {"p": float(row.p), "adjusted": row.adjusted, "decline_p": row.decline_p}
        )
        verdict = "better" if row.difference.value > 0 else "worse"
        if row.decline_p < ALPHA:
            verdict = f"worse by > {100 * min_drop:g}"
        shown.append(
            _place(row.condition)
            | {"n": row.n, **counts, "A %": f"{100 * row.first:.1f}", "B %": f"{100 * row.second:.1f}"}
            | {"B − A": show_interval(row.difference, is_signed=True), "flips": f"+{row.won} −{row.lost}"}
            | {"p": format_p(row.adjusted), "verdict": verdict if min(row.adjusted, row.decline_p) < ALPHA else "–"}
        )
    title, shown = compact(shown, ("data", "lang", "docs", "true"), ("A incomplete", "B incomplete"))
    meanings = {
        "n": "distinct questions that both sides were evaluated on; items about the same event count as one",
        "A %, B %": "share of them with the right answer (rejection: with a refusal), failed calls included",
        "B − A": "difference in points, computed before rounding, with its 95% interval",
        "flips": "questions on which B scores higher (+) and lower (−) than A",
        "p": "chance of a difference at least as large if A and B were equal"
        + (f", made larger because {len(rows)} conditions are tested (Holm)" if len(rows) > 1 else ""),
        "verdict": f'better or worse if p < 0.05; "worse by > {100 * min_drop:g}" if B is significantly worse by more '
        f"than {100 * min_drop:g} points (one-sided test with its own p-value, so p may be above 0.05)",
    }
    return Table(values, f"By condition{title}", shown, meanings=meanings)


def _place(condition: ComparedCondition) -> dict[str, Cell]:
    data, testbed, lang, noise, true = describe(condition)
    return {"data": data, "testbed": testbed, "lang": lang, "docs": condition.k or None, "noise": noise, "true": true}


def tabulate_flips(flips: Sequence[Flip], most: int | None = None) -> Table:
    """Return the items whose result differs between two sides, of which at most `most` are shown."""
    rows = [
        flip.condition._asdict() | {"item": flip.item, "question": flip.question, "a": flip.first, "b": flip.second}
        for flip in flips
    ]
    shown = [
        _place(flip.condition)
        | {"question": f"{flip.item}: {flip.question}", "A": f"{flip.first:.3g}", "B": f"{flip.second:.3g}"}
        for flip in flips[:most]
    ]
    common, shown = compact(shown, _place(flips[0].condition) if flips else ())
    conditions = len({flip.condition for flip in flips})
    title = f"{counted(len({(flip.condition.data, flip.item) for flip in flips}), 'item')} flipped"
    title += f", under {conditions} conditions" if conditions > 1 else ""
    hidden = len(rows) - len(shown)
    notes = [f"… and {hidden:,} more ({option('json')} lists all of them)"] if hidden else []
    return Table(rows, title + common, shown, () if rows else ("question", "A", "B"), notes=notes)


def tabulate_ranking(rankings: Sequence[Ranking]) -> Table:
    """Return one row per testbed and model, best first, with score, 95% confidence interval and possible ranks."""
    rows: list[dict[str, object]] = []
    shown: list[dict[str, Cell]] = []
    for ranking in rankings:
        for model in ranking.models:
            best, worst = ranking.ranks(model.model)
            rows.append(
                ranking.condition._asdict()
                | {"n": ranking.n, "items": ranking.items, "unpaired": ranking.unpaired, "model": model.model}
                | {"incomplete": model.incomplete}
                | dict(zip(("score", "low", "high"), map(float, model.score), strict=True))
                | {"best_rank": best, "worst_rank": worst}
            )
            worse = [{pair.first, pair.second} - {model.model} for pair in ranking.pairs if pair.better == model.model]
            named = ", ".join(name for pair in worse for name in pair) if len(worse) <= 2 else f"{len(worse)} models"
            shown.append(
                _ranked(ranking)
                | {"rank": f"{best}" if best == worst else f"{best}–{worst}"}
                | {"model": model.model, "score %": show_interval(model.score), "better than": named or "–"}
                | {"n": ranking.n, "incomplete": model.incomplete}
            )
    title, shown = compact(shown, ("data", "lang", "docs", "noise"), ("incomplete",))
    tests = counted(sum(len(ranking.pairs) for ranking in rankings), "comparison")
    meanings = {
        "rank": "possible ranks according to the tests, e.g. 1–2 if no model is significantly better and one is tied",
        "score %": "share of right responses (rejection: of refusals) with its 95% interval; failed calls count as "
        "wrong. A model that always refuses ranks first for rejection, so read it together with noise",
        "better than": "models that are significantly worse: paired test by question, p < 0.05 adjusted for "
        f"{tests} (Holm)",
        "n": "distinct questions that all models were evaluated on; items about the same event count as one",
    }
    notes = [
        f"Not compared on {_ranked(ranking)['testbed']} because some models do not have them: "
        f"{counted(ranking.unpaired, 'question')}."
        for ranking in rankings
        if ranking.unpaired
    ]
    return Table(rows, f"Models by score{title}", shown, meanings=meanings, notes=notes)


def _ranked(ranking: Ranking) -> dict[str, Cell]:
    at = ranking.condition
    ways = [_show_arm(at)] if at.arm != "related" else []
    ways += [f"{at.remedy} prompt"] if at.remedy else []
    testbed = at.testbed + (f" ({', '.join(ways)})" if ways else "")
    noise = ", ".join(f"{ratio:.3g}" for ratio in ranking.noise) or None
    return {"data": at.data, "testbed": testbed, "lang": at.lang, "docs": at.k or None, "noise": noise}


def tabulate_pairs(rankings: Sequence[Ranking]) -> Table:
    """Return one row per testbed and model pair, with the difference, its 95% confidence interval and p-values."""
    pairs = [(ranking, pair, pair.comparison) for ranking in rankings for pair in ranking.pairs]
    rows = [
        ranking.condition._asdict()
        | {"n": compared.n, "first": pair.first, "second": pair.second}
        | dict(zip(("difference", "low", "high"), map(float, compared.difference), strict=True))
        | {"p": float(compared.p), "adjusted": compared.adjusted, "better": pair.better}
        for ranking, pair, compared in pairs
    ]
    shown = [
        _ranked(ranking)
        | {"A": pair.first, "B": pair.second, "B − A": show_interval(compared.difference, is_signed=True)}
        | {"p": format_p(compared.adjusted), "better": pair.better or "–"}
        for ranking, pair, compared in pairs
    ]
    title, shown = compact(shown, ("data", "lang", "docs", "noise"))
    return Table(rows, f"Pairs of models{title}", shown)
