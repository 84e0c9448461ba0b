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
# Verdicts, keyed by a hash of their inputs. Repeats often return the same response, and a report judges each response
# twice: once for the tables and once for the cases.
_JUDGED: dict[int, RobustVerdict] = {}
_MOST_JUDGED = 8_192  # Maximum number of cached verdicts, which use about 5 MB of memory in total.


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the robust scorer's scores; `correct`, `partial` and `aligned` are None if the gold answer is unusable."""
    return _values(_judge_once(case, reply))


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[VerdictEvidence]]:
    """Return the robust scorer's scores and the evidence for its verdict."""
    judged = _judge_once(case, reply)
    return _values(judged), find_evidence(case, reply, judged)


def certainty(case: Case, reply: str) -> dict[str, float]:
    """Return the calibrated probability that a response is correct, that it refuses, and that it flags an error."""
    judged = _judge_once(case, reply)
    names = ("parts" if len(case.answer) > 1 else "correct", "refused", "flagged")
    chances = [calibrate(odds, name, case.lang) for odds, name in zip(judged.odds, names, strict=True)]
    return dict(zip(("correct", "refused", "flagged"), chances, strict=True))


def _judge_once(case: Case, reply: str) -> RobustVerdict:
    """Return the verdict on a response, using a cache so that repeated responses are judged only once."""
    key = hash((case.question, case.answer, case.fake, case.lang, case.documents, reply))
    judged = _JUDGED.get(key)
    if judged is None:
        if len(_JUDGED) >= _MOST_JUDGED:
            _JUDGED.clear()
        judged = _JUDGED[key] = judge(case, reply)
    return judged


def _values(judged: RobustVerdict) -> dict[str, Value]:
    values: dict[str, Value] = dict(zip(_NAMES, _read(judged), strict=True))
    values["unsure"] = judged.verdict == "unsure"
    return values
