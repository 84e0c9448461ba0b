"""`--track brief`: right answers that are short."""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring import robust
from ragbed.scoring.value import Value

MOST_WORDS = 15
MOST_CHARACTERS = 30
"""Chinese has no spaces between words."""


def score(case: Case, reply: str) -> dict[str, Value]:
    """What the entry point names: from a case and a reply to values.

    `correct`, `refused` and `flagged` are what tables are made of; None means that there is no verdict.
    """
    values = robust.score(case, reply)
    brief = len(reply) <= MOST_CHARACTERS if case.lang == "zh" else len(reply.split()) <= MOST_WORDS
    right = values["correct"]
    return {
        "correct": None if right is None else bool(right) and brief,
        "refused": values["refused"],
        "flagged": values["flagged"],
    }
