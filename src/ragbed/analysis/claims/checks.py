"""Check the paper's claims C1 to C10, with one pure function per claim."""

from __future__ import annotations

import math

from ragbed.analysis.claims.base import (
    MIN_QUESTIONS,
    ClaimEvidence,
    ClaimFinding,
    ClaimInputs,
    Verdict,
    conclude,
    evidence,
    gap_between,
    is_below,
    panels,
)
from ragbed.analysis.diagnosis.causes import Cause, type_share
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.strategies import WANTED
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.paper.tables import PaperTable, read_tables
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.rates import ALPHA, LEVEL, Interval
from ragbed.schema import Estimate
from ragbed.testbeds.prompts.strategies import MARK

LATE = 0.8  # the lowest noise ratio at which the paper reports a significant decline for simple questions
EARLY = 0.4  # the noise ratio at which the paper reports a decline for questions with several parts
ADHERENT = 0.9  # a model follows the format if at least this share of its refusals contain the required sentence
_MAJORITY = 0.5
_OPPOSITE: dict[Verdict, Verdict] = {"supported": "contradicted", "contradicted": "supported"}
# ragbed's error types, keyed by the paper's names for them.
_TYPES = {"as in noise robustness": "E7", "merging": "E4", "ignoring": "E5", "misalignment": "E6"}
# The strategies that the paper suggests: matching the question with documents, reasoning in steps, and handling long
# documents.
_SUGGESTED = ("quote", "decompose", "isolate")


def help_even_with_noise(inputs: ClaimInputs) -> ClaimFinding:
    """Check C1: documents improve on closed-book accuracy even at the highest noise ratio (sign-flip test)."""
    ends = [
        cell
        for group in panels(inputs.of("transitions", "gain_by_documents"))
        for cell in (group if len(group) == 1 else (group[0], group[-1]))
    ]
    tests = [inputs.beside(cell, "gain_p") for cell in ends]
    adjusted = holm([1.0 if test is None or test.value is None else test.value for test in tests]).tolist()
    return conclude(
        "C1",
        (
            evidence(cell, "gain", _is_gain(cell.estimate.value or 0.0, p), p=p)
            for cell, p in zip(ends, adjusted, strict=True)
        ),
    )


def refuse_less_than_without(inputs: ClaimInputs) -> ClaimFinding:
    """Check C9: models refuse less often with irrelevant documents than without documents (z test of the two rates).

    Closed-book results with the same instruction are preferred, because the instruction says how to refuse.
    """
    closed = {
        cell.key: cell.estimate
        for metric in ("refusal", "refusal_instructed")
        for cell in inputs.of("closed-book", metric)
    }
    cells = [cell for cell in inputs.of("rejection", "refusal_recall") if cell.key in closed]
    gaps = [gap_between(closed[cell.key], cell.estimate) for cell in cells]
    return conclude(
        "C9",
        (
            ClaimEvidence(cell.key, "refusal_gap", *gap[:3], cell.estimate.questions, _is_gain(gap.value, p), p)
            for cell, gap, p in zip(cells, gaps, holm([gap.p for gap in gaps]).tolist(), strict=True)
        ),
    )


def _is_gain(gain: float, p: float) -> Verdict:
    return "inconclusive" if p >= ALPHA else "supported" if gain > 0 else "contradicted"


def decline_only_late(inputs: ClaimInputs) -> ClaimFinding:
    """Check C2: accuracy declines as noise increases, and the decline is first significant at a noise ratio of 0.8.

    A decline is a drop of more than 3 points by the minimum-effect test, adjusted for the number of ratios
    (`decline_holm`). A decline before 0.8 contradicts the claim, and so does equivalent accuracy at 0.8 (`same_holm`).
    """
    rows = []
    for group in panels(inputs.of("noise", "change")):
        for cell in group:
            p = inputs.beside(cell, "decline_holm")
            if p is not None and p.value is not None:
                rows.append(evidence(cell, "change", _judge_ratio(inputs, cell, p.value), p=p.value))
    return conclude("C2", [row for row in rows if row.verdict != "inconclusive" or (row.at or 0) >= LATE])


def _judge_ratio(inputs: ClaimInputs, cell: Cell, p: float) -> Verdict:
    if (cell.place.get("noise") or 0.0) < LATE - 1e-9:
        return "contradicted" if p < ALPHA else "inconclusive"
    if p < ALPHA:
        return "supported"
    same = inputs.beside(cell, "same_holm")
    return "contradicted" if same is not None and same.value is not None and same.value < ALPHA else "inconclusive"


def several_parts_suffer_more(inputs: ClaimInputs) -> ClaimFinding:
    """Check C6: at noise ratio 0.4, accuracy drops more for multi-part questions than for other questions (z test)."""
    simple = {_pairing(cell): cell.estimate for cell in _early_changes(inputs, "noise")}
    pairs = [
        (cell, gap_between(cell.estimate, simple[_pairing(cell)]))
        for cell in _early_changes(inputs, "integration")
        if _pairing(cell) in simple
    ]
    return conclude(
        "C6",
        (
            ClaimEvidence(cell.key, "change_gap", *gap[:3], cell.estimate.questions, _is_gain(-gap.value, p), p, EARLY)
            for (cell, gap), p in zip(pairs, holm([gap.p for _, gap in pairs]).tolist(), strict=True)
        ),
    )


def _early_changes(inputs: ClaimInputs, table: str) -> list[Cell]:
    """Return the changes from no noise. Without results at ratio 0, the change is from another ratio."""
    clean = {(cell.key, cell.place.get("k")) for cell in inputs.of(table, "accuracy") if cell.place.get("noise") == 0}
    return [
        cell
        for cell in inputs.of(table, "change")
        if math.isclose(cell.place.get("noise") or 0.0, EARLY) and (cell.key, cell.place.get("k")) in clean
    ]


def _pairing(cell: Cell) -> tuple[object, ...]:
    return cell.key.model, cell.key.lang, cell.key.profile, cell.place.get("k")


def refuse_seldom(inputs: ClaimInputs) -> ClaimFinding:
    """Check C3: no model refuses more often than the paper's best model (Rej*: 45% in English, 43.33% in Chinese)."""
    table = read_tables().rejection
    return conclude(
        "C3",
        (
            evidence(cell, "refusal_recall", _exceeds(cell.estimate, _best(table, "Rej*", cell)))
            for cell in inputs.of("rejection", "refusal_recall")
        ),
    )


def _exceeds(estimate: Estimate, bound: float) -> Verdict:
    """Return the verdict on an upper bound claimed for all models; one model can contradict it but not confirm it."""
    return "contradicted" if estimate.low is not None and estimate.low > bound else "inconclusive"


def _best(table: PaperTable, column: str, cell: Cell) -> float:
    """Return the best rate for the cell's language in a column of one of the paper's tables."""
    place = table.columns.index(column)
    return max(values[place] for lang, _, values in table.rows() if lang == cell.key.lang) / 100


def refuse_in_other_words(inputs: ClaimInputs) -> ClaimFinding:
    """Check C4: a substantial share of refusals does not contain the required sentence."""
    return conclude(
        "C4",
        (
            evidence(cell, "format_adherence", is_below(cell.estimate, ADHERENT))
            for cell in inputs.of("rejection", "format_adherence")
        ),
    )


def stay_below_the_papers_best(inputs: ClaimInputs) -> ClaimFinding:
    """Check C5: no model beats the paper's best results.

    The best results are 60% in English and 67% in Chinese without noise, and 43% and 55% at a noise ratio of 0.4.
    """
    table = read_tables().integration
    return conclude(
        "C5",
        (
            evidence(cell, "accuracy", _exceeds(cell.estimate, _best(table, column, cell)))
            for cell in inputs.of("integration", "accuracy")
            for column in ("0", "0.4")
            if math.isclose(float(column), cell.place.get("noise") or 0.0, abs_tol=1e-9)
        ),
    )


def err_as_the_paper_counts(inputs: ClaimInputs) -> ClaimFinding:
    """Check C7: without noise, integration error types have the same shares as in the paper (38, 28, 28 and 6%).

    The paper's shares come from a sample (`ragbed paper`, S-4), so each is compared with an interval that is adjusted
    for four comparisons.
    """
    shares = read_tables().integration_errors.shares
    groups: dict[TrialGroup, list[Cause]] = {}
    for cause in inputs.causes:
        settings = cause.case.settings
        if cause.case.testbed == "integration" and float(settings.get("noise", "nan")) == 0:
            key = TrialGroup(cause.model, cause.case.data, "", settings.get("profile", ""))
            groups.setdefault(key, []).append(cause)
    rows = []
    for key, own in groups.items():
        questions = len({cause.case.item for cause in own})
        if questions < MIN_QUESTIONS:
            continue
        for name, share in shares.items():
            interval = type_share(own, _TYPES[name], 1 - (1 - LEVEL) / len(shares))
            verdict = _contains(interval, share / 100)
            rows.append(ClaimEvidence(key, _TYPES[name], interval.value, *interval.bounds, questions, verdict))
    return conclude("C7", rows)


def _contains(interval: Interval, share: float) -> Verdict:
    if math.isnan(interval.low):  # the run was monitored (`--until`), so the share has no confidence interval
        return "inconclusive"
    return "supported" if interval.low <= share <= interval.high else "contradicted"


def believe_false_documents(inputs: ClaimInputs) -> ClaimFinding:
    """Check C8: models repeat the false answer for most of the questions that they can answer without documents.

    The rate covers only known questions, with false documents only and with the warning in the instruction.
    """
    rows = []
    for cell in inputs.of("counterfactual", "override_of_known"):
        if not cell.place.get("correct") and not cell.place.get("noise"):
            is_minority = is_below(cell.estimate, _MAJORITY)
            rows.append(evidence(cell, "override_of_known", _OPPOSITE.get(is_minority, is_minority)))
    return conclude("C8", rows)


def help_as_hoped(inputs: ClaimInputs) -> ClaimFinding:
    """Check C10: a prompting strategy beats the plain prompt on the same questions and documents (sign-flip test).

    The paper only expects such strategies to help, so one counterexample does not contradict the claim. Gains and
    losses count equally, and a mix of both is inconclusive.
    """
    cells = [
        cell
        for testbed in WANTED
        for cell in inputs.of("remedies", f"{testbed}_gain")
        if cell.key.profile.partition(MARK)[2] in _SUGGESTED
    ]
    tests = [inputs.beside(cell, f"{cell.estimate.metric}_p") for cell in cells]
    adjusted = holm([1.0 if test is None or test.value is None else test.value for test in tests]).tolist()
    rows = []
    for cell, p in zip(cells, adjusted, strict=True):
        gain, testbed = cell.estimate, cell.estimate.metric.removesuffix("_gain")
        value = gain.value or 0.0
        verdict = _is_gain(value, p)
        rows.append(
            ClaimEvidence(cell.key, f"remedy_{testbed}", value, gain.low, gain.high, gain.questions, verdict, p)
        )
    shown = {row.verdict for row in rows} - {"inconclusive"}
    if len(shown) == 1:
        return ClaimFinding("C10", shown.pop(), tuple(rows))
    return ClaimFinding("C10", "inconclusive" if rows else "not_enough_data", tuple(rows))
