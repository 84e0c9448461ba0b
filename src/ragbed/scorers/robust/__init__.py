"""The robust track: scores that mean what they say (docs/scoring.md).

`score` gives the values that runs and tables use, `explain` the same verdict with its grounds.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scorers.robust.verdict import Finding, explain, judge
from ragbed.scorers.value import Value

__all__ = ["Finding", "explain", "score"]


def score(case: Case, reply: str) -> dict[str, Value]:
    """Every score of the track; `correct`, `partial` and `aligned` are None where the case's own answer is unusable."""
    judged = judge(case, reply)
    return {
        "correct": judged.correct,
        "partial": judged.partial,
        "refused": judged.refused,
        "flagged": judged.flagged,
        "misled": judged.misled,
        "aligned": judged.aligned,
        "verdict": judged.verdict,
    }
