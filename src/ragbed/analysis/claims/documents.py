"""C1 and C9: what documents do, against the same questions without them."""

from __future__ import annotations

from ragbed.analysis.claims.base import ClaimEvidence, ClaimFinding, ClaimInputs, Verdict, conclude, gap_between, panels
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.paired import mcnemar, paired_difference
from ragbed.analysis.statistics.rates import ALPHA


def help_even_with_noise(grounds: ClaimInputs) -> ClaimFinding:
    """C1: documents improve answers, and still do at the highest ratio asked; exact McNemar against closed book."""
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
    """C9: models decline less often before useless documents than without any; z test of the two rates.

    Without documents under the same instruction where that was asked, since it tells a model how to decline.
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
