"""The original code's scores, bug for bug (P1 to P6 of the design): what its published numbers mean.

Chinese replies lose all ASCII spaces and answers do not; matching is lower-cased containment without borders;
a short phrase anywhere is a refusal and goes before a right answer; another phrase is an error flag.
"""

from __future__ import annotations

from ragbed.schema import Answer, Lang

_REFUSALS = ("信息不足", "insufficient information")
_FLAGS = ("事实性错误", "factual errors")


def label(reply: str, answer: Answer, lang: Lang) -> tuple[int, ...]:
    """One 1 or 0 a slot of the answer, or a single −1 for a refusal."""
    seen = _as_seen(reply, lang)
    if any(phrase in seen for phrase in _REFUSALS):
        return (-1,)
    lowered = seen.lower()
    return tuple(int(any(alias.lower() in lowered for alias in aliases)) for aliases in answer)


def is_correct(labels: tuple[int, ...]) -> bool:
    """Whether every slot was matched."""
    return 0 not in labels and 1 in labels


def is_flagged(reply: str, lang: Lang) -> bool:
    """Whether the reply holds the phrase that the original takes for error detection."""
    return any(phrase in _as_seen(reply, lang) for phrase in _FLAGS)


def _as_seen(reply: str, lang: Lang) -> str:
    return reply.replace(" ", "") if lang == "zh" else reply
