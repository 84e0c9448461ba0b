"""The paper's own definitions (Evaluation metrics): the response contains the answer, or the required sentence.

`equal` is the stricter exact match that other descriptions of the paper use.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts import FLAG, REFUSAL


def score(case: Case, reply: str) -> dict[str, Value]:
    """Every value of the track."""
    return {
        "paper.correct": correct(case, reply),
        "paper.equal": equal(case, reply),
        "paper.refused": refused(case, reply),
        "paper.flagged": flagged(case, reply),
    }


def correct(case: Case, reply: str) -> bool:
    """Whether the reply contains an exact match to every part of the answer."""
    return all(any(alias in reply for alias in aliases) for aliases in case.answer)


def equal(case: Case, reply: str) -> bool:
    """Whether the reply is an answer and nothing else: of several parts, one after the other with a comma between."""
    rests = {reply.strip()}
    for place, aliases in enumerate(case.answer):
        if place:
            rests = {rest[1:].lstrip() for rest in rests if rest[:1] in {",", "，", "、", ";", "；"}}
        rests = {rest[len(alias) :].lstrip() for rest in rests for alias in aliases if rest.startswith(alias)}
    return "" in rests


def refused(case: Case, reply: str) -> bool:
    """Whether the reply contains the refusal sentence of the instruction."""
    return REFUSAL[case.lang] in reply


def flagged(case: Case, reply: str) -> bool:
    """Whether the reply contains the error sentence of the instruction."""
    return FLAG[case.lang] in reply
