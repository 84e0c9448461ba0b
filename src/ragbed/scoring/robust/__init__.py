"""The robust track: scores that mean what they say (docs/scoring.md).

`score` gives the values that runs and tables use, `explain` the same verdict with its grounds.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.robust.verdict import RobustVerdict, VerdictEvidence, explain, find_grounds, judge
from ragbed.scoring.value import Value

__all__ = ["VerdictEvidence", "explain", "score", "score_and_explain"]


def score(case: Case, reply: str) -> dict[str, Value]:
    """Every score of the track; `correct`, `partial` and `aligned` are None where the case's own answer is unusable."""
    return _values(judge(case, reply))


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[VerdictEvidence]]:
    """The scores with their grounds; the reply is read once for both."""
    judged = judge(case, reply)
    return _values(judged), find_grounds(case, reply, judged)


def _values(judged: RobustVerdict) -> dict[str, Value]:
    return {
        "correct": judged.correct,
        "partial": judged.partial,
        "refused": judged.refused,
        "flagged": judged.flagged,
        "misled": judged.misled,
        "aligned": judged.aligned,
        "verdict": judged.verdict,
    }
