"""Stand-in until the edits of the label branch are here."""

from __future__ import annotations

from ragbed.build.mentions import find_answer
from ragbed.schema import Question


def refuse_fake(question: Question, fake: str) -> str:
    """Why a false answer will not do; empty if it will."""
    if not fake:
        return "there is none"
    if any(find_answer(question, fake)):
        return f"{fake!r} is, or holds, the right answer"
    return ""


def edit_passage(question: Question, text: str, fake: str) -> str | None:
    """The passage with the false answer; none if the true one is left."""
    for held in sorted(find_answer(question, text)[0], reverse=True):
        text = text[: held.start] + fake + text[held.end :]
    return None if any(find_answer(question, text)) else text
