"""Score responses as RGB's original code does, including its bugs.

All ASCII spaces are removed from Chinese responses but not from answers. Matching is lower-cased containment without
word boundaries. A short phrase anywhere counts as a refusal, even beside a right answer; another phrase counts as an
error flag.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.value import Value

_REFUSALS = ("信息不足", "insufficient information")
_FLAGS = ("事实性错误", "factual errors")


def score(case: Case, reply: str) -> dict[str, Value]:
    """Every value of the track; the label is what the original keeps, and the others follow from it."""
    labels = label(case, reply)
    return {
        "code.label": labels,
        "code.correct": 0 not in labels and 1 in labels,
        "code.refused": labels == (-1,),
        "code.flagged": flagged(case, reply),
    }


def label(case: Case, reply: str) -> tuple[int, ...]:
    """One 1 or 0 a slot of the answer, or a single −1 for a refusal."""
    seen = _as_seen(case, reply)
    if any(phrase in seen for phrase in _REFUSALS):
        return (-1,)
    lowered = seen.lower()
    return tuple(int(any(alias.lower() in lowered for alias in aliases)) for aliases in case.answer)


def flagged(case: Case, reply: str) -> bool:
    """Whether the reply holds the phrase that the original takes for error detection."""
    return any(phrase in _as_seen(case, reply) for phrase in _FLAGS)


def _as_seen(case: Case, reply: str) -> str:
    return reply.replace(" ", "") if case.lang == "zh" else reply
