"""C10: what the paper hopes for, held against the plain prompt."""

from __future__ import annotations

from ragbed.analysis.claims.base import ClaimEvidence, ClaimFinding, ClaimInputs, Verdict
from ragbed.analysis.metrics.strategies import WANTED
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.testbeds.prompts.strategies import MARK

_HOPED_FOR = ("quote", "decompose", "isolate")
"""What of our remedies is what the paper suggests: matching of question and document, thinking in steps, long text."""


def help_as_hoped(grounds: ClaimInputs) -> ClaimFinding:
    """C10: the remedy does better than the plain prompt on the same questions and documents; sign flips.

    That something "would help" is a hope, not a rule that one counterexample overturns: a gain speaks as much for it as
    a loss against it, and where both are seen it is inconclusive.
    """
    cells = [
        cell
        for testbed in WANTED
        for cell in grounds.of("remedies", f"{testbed}_gain")
        if cell.key.profile.partition(MARK)[2] in _HOPED_FOR
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
