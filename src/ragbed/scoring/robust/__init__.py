"""The robust scorer: tolerant matching that checks whether an answer is asserted (docs/explanation/scoring.md).

`score` returns the values that runs and tables use; `explain` returns the same verdict with its evidence.
"""

from __future__ import annotations

from operator import attrgetter

from ragbed.schema import Case
from ragbed.scoring.robust.model import calibrate
from ragbed.scoring.robust.verdict import RobustVerdict, VerdictEvidence, explain, find_evidence, judge
from ragbed.scoring.value import Value

__all__ = ["VerdictEvidence", "certainty", "explain", "score", "score_and_explain"]

_NAMES = ("correct", "partial", "refused", "flagged", "misled", "aligned", "verdict")
_read = attrgetter(*_NAMES)


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the robust scorer's scores; `correct`, `partial` and `aligned` are None if the gold answer is unusable."""
    return _values(judge(case, reply))


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[VerdictEvidence]]:
    """Return the robust scorer's scores and the evidence for its verdict."""
    judged = judge(case, reply)
    return _values(judged), find_evidence(case, reply, judged)


def certainty(case: Case, reply: str) -> dict[str, float]:
    """Return the calibrated probability that a response is correct, that it refuses, and that it flags an error."""
    judged = judge(case, reply)
    names = ("parts" if len(case.answer) > 1 else "correct", "refused", "flagged")
    chances = [calibrate(odds, name, case.lang) for odds, name in zip(judged.odds, names, strict=True)]
    return dict(zip(("correct", "refused", "flagged"), chances, strict=True))


def _values(judged: RobustVerdict) -> dict[str, Value]:
    values: dict[str, Value] = dict(zip(_NAMES, _read(judged), strict=True))
    values["unsure"] = judged.verdict == "unsure"
    return values
