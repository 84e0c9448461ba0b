"""The robust track: tolerant matching that checks whether an answer is asserted (docs/explanation/scoring.md).

`score` returns the values that runs and tables use; `explain` returns the same verdict with its evidence.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.robust.verdict import RobustVerdict, VerdictEvidence, explain, find_evidence, judge
from ragbed.scoring.value import Value

__all__ = ["VerdictEvidence", "explain", "score", "score_and_explain"]


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the scores of the track; `correct`, `partial` and `aligned` are None if the answer is unusable."""
    return _values(judge(case, reply))


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[VerdictEvidence]]:
    """Return the scores and their evidence."""
    judged = judge(case, reply)
    return _values(judged), find_evidence(case, reply, judged)


def _values(judged: RobustVerdict) -> dict[str, Value]:
    names = ("correct", "partial", "refused", "flagged", "misled", "aligned", "verdict")
    values: dict[str, Value] = {name: getattr(judged, name) for name in names}
    return values | {"unsure": judged.verdict == "unsure"}
