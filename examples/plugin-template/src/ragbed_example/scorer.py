"""`--scorer brief`: count only short correct answers."""

from __future__ import annotations

from ragbed.schema import Case
from ragbed.scoring import robust
from ragbed.scoring.value import Value

MAX_WORDS = 15
MAX_CHARACTERS = 30  # for Chinese, which has no spaces between words


def score(case: Case, reply: str) -> dict[str, Value]:
    """Score a response; the entry point names this function.

    The tables use `correct`, `refused` and `flagged`. None means that the response cannot be scored.
    """
    values = robust.score(case, reply)
    brief = len(reply) <= MAX_CHARACTERS if case.lang == "zh" else len(reply.split()) <= MAX_WORDS
    correct = values["correct"]
    return {
        "correct": None if correct is None else bool(correct) and brief,
        "refused": values["refused"],
        "flagged": values["flagged"],
    }
