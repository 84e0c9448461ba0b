"""Score responses, without any reasoning in them, as RGB's original code does, including its bugs.

All ASCII spaces are removed from Chinese responses but not from gold answers. An answer matches if the response
contains it in any case, without regard to word boundaries. A short phrase anywhere in the response counts as a refusal,
even next to a correct answer; another phrase counts as an error flag.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.value import Value

_REFUSAL, _REFUSAL_ZH = "insufficient information", "信息不足"
_FLAG, _FLAG_ZH = "factual errors", "事实性错误"


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the scorer's scores. The original code stores only the label; the other scores are derived from it."""
    labels = label(case, reply)
    return {
        "code.label": labels,
        "code.correct": 0 not in labels and 1 in labels,
        "code.refused": labels == (-1,),
        "code.flagged": flagged(case, reply),
    }


def label(case: Case, reply: str) -> tuple[int, ...]:
    """Return 1 for each part of the answer that is found and 0 for each missing part, or a single -1 for a refusal."""
    text = _compared_text(case, reply)
    if _REFUSAL in text or _REFUSAL_ZH in text:
        return (-1,)
    lowered = text.lower()
    return tuple(int(any(alias.lower() in lowered for alias in aliases)) for aliases in case.answer)


def flagged(case: Case, reply: str) -> bool:
    """Return whether the response contains the phrase that the original code counts as error detection."""
    text = _compared_text(case, reply)
    return _FLAG in text or _FLAG_ZH in text


def _compared_text(case: Case, reply: str) -> str:
    return reply.replace(" ", "") if case.lang == "zh" else reply
