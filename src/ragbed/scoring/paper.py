"""Score responses by the paper's definitions: a response must contain the answer or the required sentence.

`equal` is the stricter exact match found in other descriptions of the paper.
"""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts import FLAG, REFUSAL


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the scorer's scores."""
    return {
        "paper.correct": correct(case, reply),
        "paper.equal": equal(case, reply),
        "paper.refused": refused(case, reply),
        "paper.flagged": flagged(case, reply),
    }


def correct(case: Case, reply: str) -> bool:
    """Return whether the response contains an exact match of every part of the answer."""
    return all(any(alias in reply for alias in aliases) for aliases in case.answer)


def equal(case: Case, reply: str) -> bool:
    """Return whether the response is exactly the answer, with its parts in order and separated by commas."""
    rests = {reply.strip()}
    for part, aliases in enumerate(case.answer):
        if part:
            rests = {rest[1:].lstrip() for rest in rests if rest[:1] in {",", "，", "、", ";", "；"}}
        rests = {rest[len(alias) :].lstrip() for rest in rests for alias in aliases if rest.startswith(alias)}
    return "" in rests


def refused(case: Case, reply: str) -> bool:
    """Return whether the response contains the refusal sentence from the instruction."""
    return REFUSAL[case.lang] in reply


def flagged(case: Case, reply: str) -> bool:
    """Return whether the response contains the error sentence from the instruction."""
    return FLAG[case.lang] in reply
