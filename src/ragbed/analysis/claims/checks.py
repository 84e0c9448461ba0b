"""Checks of the paper's claims C1 to C10: one pure function per claim."""

from __future__ import annotations

import math

from ragbed.analysis.claims.base import (
    MIN_QUESTIONS,
    ClaimEvidence,
    ClaimFinding,
    ClaimInputs,
    Verdict,
    against_bound,
    conclude,
    evidence,
    gap_between,
    panels,
)
from ragbed.analysis.diagnosis.causes import share_types
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.strategies import WANTED
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.paper.tables import read_tables
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import mcnemar, paired_difference
from ragbed.analysis.statistics.rates import ALPHA, LEVEL, wilson
from ragbed.schema import Estimate
from ragbed.testbeds.prompts.strategies import MARK

LATE = 0.8
"""The lowest noise ratio at which the paper reports a significant decline for simple questions."""
EARLY = 0.4
"""The noise ratio at which the paper reports a decline for questions with several parts."""
ADHERENT = 0.9
"""The format is followed if at least this share of refusals uses the required sentence."""
_MAJORITY = 0.5
_TYPES = {"as in noise robustness": "E7", "merging": "E4", "ignoring": "E5", "misalignment": "E6"}
"""Our error types by the names under which the paper prints their shares."""
_SUGGESTED = ("quote", "decompose", "isolate")
"""The prompting strategies that the paper suggests: matching question and document, reasoning steps, long documents."""


def help_even_with_noise(grounds: ClaimInputs) -> ClaimFinding:
    """Check C1: documents improve accuracy, even at the highest noise ratio (exact McNemar test, closed book)."""
    ends = [
        cell
        for group in panels(grounds.of("transitions", "helped_by_documents"))
        for cell in (group if len(group) == 1 else (group[0], group[-1]))
    ]
    rows, tests = [], []
    for cell in ends:
        helped, harmed = cell.estimate, grounds.beside(cell, "harmed_by_documents")
        if harmed is not None:
            won, lost = (round((one.value or 0.0) * one.n) for one in (helped, harmed))
            moved = [1.0] * won + [-1.0] * lost + [0.0] * (helped.n - won - lost)
            rows.append((cell, paired_difference(moved)))
            tests.append(mcnemar(won, lost))
    adjusted = holm(tests).tolist() if tests else []
    return conclude(
        "C1",
        (
            ClaimEvidence(
                cell.key, "gain", *gain, cell.estimate.questions, _signed(gain.value, p), p, cell.place.get("noise")
            )
            for (cell, gain), p in zip(rows, adjusted, strict=True)
        ),
    )


def refuse_less_than_without(grounds: ClaimInputs) -> ClaimFinding:
    """Check C9: models refuse less often with irrelevant documents than without documents (z test of the two rates).

    The run without documents that uses the same instruction is preferred, because the instruction says how to refuse.
    """
    closed = {
        cell.key: cell.estimate
        for metric in ("refusal", "refusal_instructed")
        for cell in grounds.of("closed-book", metric)
    }
    pairs = [(cell, closed[cell.key]) for cell in grounds.of("rejection", "refusal_recall") if cell.key in closed]
    gaps = [gap_between(without, cell.estimate) for cell, without in pairs]
    adjusted = holm([gap.p for gap in gaps]).tolist() if gaps else []
    return conclude(
        "C9",
        (
            ClaimEvidence(cell.key, "refusal_gap", *gap[:3], cell.estimate.questions, _signed(gap.value, p), p)
            for (cell, _), gap, p in zip(pairs, gaps, adjusted, strict=True)
        ),
    )


def _signed(gain: float, p: float) -> Verdict:
    return "inconclusive" if p >= ALPHA else "supported" if gain > 0 else "contradicted"


def decline_only_late(grounds: ClaimInputs) -> ClaimFinding:
    """Check C2: accuracy declines with noise, significantly at 0.8 and not before.

    A decline is a drop of more than 3 points in the minimum-effect test, adjusted over the ratios (`decline_holm`).
    A decline before 0.8 contradicts the claim, and so does an equivalent accuracy at 0.8 (`same_holm`).
    """
    rows = []
    for group in panels(grounds.of("noise", "change")):
        for cell in group:
            ratio, p = cell.place.get("noise") or 0.0, grounds.beside(cell, "decline_holm")
            if p is not None and p.value is not None:
                rows.append(evidence(cell, "change", _of_ratio(grounds, cell, ratio, p.value), p=p.value))
    return conclude("C2", [row for row in rows if row.verdict != "inconclusive" or (row.at or 0) >= LATE])


def _of_ratio(grounds: ClaimInputs, cell: Cell, ratio: float, p: float) -> Verdict:
    if ratio < LATE - 1e-9:
        return "contradicted" if p < ALPHA else "inconclusive"
    if p < ALPHA:
        return "supported"
    same = grounds.beside(cell, "same_holm")
    return "contradicted" if same is not None and same.value is not None and same.value < ALPHA else "inconclusive"


def several_parts_suffer_more(grounds: ClaimInputs) -> ClaimFinding:
    """Check C6: at 0.4, questions with several parts lose more accuracy than simple ones (z test of the changes)."""
    simple = {
        (cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")): cell.estimate
        for cell in grounds.of("noise", "change")
        if math.isclose(cell.place.get("noise") or 0.0, EARLY)
    }
    pairs = []
    for cell in grounds.of("integration", "change"):
        other = simple.get((cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")))
        if other is not None and math.isclose(cell.place.get("noise") or 0.0, EARLY):
            pairs.append((cell, gap_between(cell.estimate, other)))
    adjusted = holm([gap.p for _, gap in pairs]).tolist() if pairs else []
    return conclude(
        "C6",
        (
            ClaimEvidence(cell.key, "change_gap", *gap[:3], cell.estimate.questions, _more(gap.value, p), p, EARLY)
            for (cell, gap), p in zip(pairs, adjusted, strict=True)
        ),
    )


def _more(gap: float, p: float) -> Verdict:
    return "inconclusive" if p >= ALPHA else "supported" if gap < 0 else "contradicted"


def refuse_seldom(grounds: ClaimInputs) -> ClaimFinding:
    """Check C3: no model refuses more often than the paper's best (Rej*), 45 % in English and 43.33 % in Chinese."""
    table = read_tables().rejection
    place = table.columns.index("Rej*")
    best = {lang: max(row[place] for row in getattr(table, lang).values()) / 100 for lang in ("en", "zh")}
    return conclude(
        "C3",
        (
            evidence(cell, "refusal_recall", against_bound(cell.estimate, best[cell.key.lang]))
            for cell in grounds.of("rejection", "refusal_recall")
        ),
    )


def refuse_in_other_words(grounds: ClaimInputs) -> ClaimFinding:
    """Check C4: a clear share of the refusals does not use the required sentence."""
    return conclude(
        "C4",
        (
            evidence(cell, "format_adherence", against_bound(cell.estimate, ADHERENT))
            for cell in grounds.of("rejection", "format_adherence")
        ),
    )


def stay_below_the_papers_best(grounds: ClaimInputs) -> ClaimFinding:
    """Check C5: no model beats the paper's best, without noise (60 and 67 %) and at 0.4 (43 and 55 %)."""
    table = read_tables().integration
    rows = []
    for cell in grounds.of("integration", "accuracy"):
        ratio = cell.place.get("noise") or 0.0
        for place, column in enumerate(table.columns):
            if math.isclose(float(column), ratio, abs_tol=1e-9) and column in ("0", "0.4"):
                best = max(row[place] for row in getattr(table, cell.key.lang).values()) / 100
                rows.append(evidence(cell, "accuracy", against_bound(cell.estimate, best)))
    return conclude("C5", rows)


def err_as_the_paper_counts(grounds: ClaimInputs) -> ClaimFinding:
    """Check C7: integration errors without noise have the paper's shares of error types (38, 28, 28 and 6 %).

    The paper's shares come from a sample (`ragbed paper`, S-4), so each is compared with an interval that is adjusted
    for four comparisons.
    """
    errors = read_tables().integration_errors
    here = [
        cause
        for cause in grounds.causes
        if cause.case.testbed == "integration" and float(cause.case.settings.get("noise", "nan")) == 0
    ]
    rows = []
    for model, data in dict.fromkeys((cause.model, cause.case.data) for cause in here):
        own = [cause for cause in here if (cause.model, cause.case.data) == (model, data)]
        if len({cause.case.item for cause in own}) < MIN_QUESTIONS:
            continue
        counts, n = share_types(own), len(own)
        profile = own[0].case.settings.get("profile", "")
        for name, share in errors.shares.items():
            interval = wilson(counts.get(_TYPES[name], 0), n, 1 - (1 - LEVEL) / len(errors.shares))
            fits = interval.low <= share / 100 <= interval.high
            verdict: Verdict = "supported" if fits else "contradicted"
            rows.append(ClaimEvidence(TrialGroup(model, data, "", profile), _TYPES[name], *interval, n, verdict))
    return conclude("C7", rows)


def believe_false_documents(grounds: ClaimInputs) -> ClaimFinding:
    """Check C8: models repeat the false answer for most of the questions that they answer without documents.

    The rate covers known questions only, with all documents false and the warning in the instruction.
    """
    return conclude(
        "C8",
        (
            evidence(cell, "override_of_known", _most(cell.estimate))
            for cell in grounds.of("counterfactual", "override_of_known")
            if not cell.place.get("correct") and not cell.place.get("noise")
        ),
    )


def _most(estimate: Estimate) -> Verdict:
    if estimate.low is None or estimate.high is None:
        return "inconclusive"
    return "supported" if estimate.low > _MAJORITY else "contradicted" if estimate.high < _MAJORITY else "inconclusive"


def help_as_hoped(grounds: ClaimInputs) -> ClaimFinding:
    """Check C10: a prompting strategy beats the plain prompt on the same questions and documents (sign-flip test).

    The paper only expects that such strategies help, so one counterexample does not contradict the claim: gains and
    losses count equally, and a mix of both is inconclusive.
    """
    cells = [
        cell
        for testbed in WANTED
        for cell in grounds.of("remedies", f"{testbed}_gain")
        if cell.key.profile.partition(MARK)[2] in _SUGGESTED
    ]
    tests = [grounds.beside(cell, f"{cell.estimate.metric}_p") for cell in cells]
    adjusted = holm([1.0 if test is None or test.value is None else test.value for test in tests]).tolist()
    rows = []
    for cell, p in zip(cells, adjusted, strict=True):
        one, testbed = cell.estimate, cell.estimate.metric.removesuffix("_gain")
        value = one.value or 0.0
        verdict: Verdict = "inconclusive" if p >= ALPHA else "supported" if value > 0 else "contradicted"
        rows.append(ClaimEvidence(cell.key, f"remedy_{testbed}", value, one.low, one.high, one.questions, verdict, p))
    if not rows:
        return ClaimFinding("C10", "not_enough_data")
    shown = {row.verdict for row in rows} - {"inconclusive"}
    return ClaimFinding("C10", shown.pop() if len(shown) == 1 else "inconclusive", tuple(rows))
