"""What a judge can be asked about a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragbed.schema import Case

_YES_NO: dict[str, bool | None] = {"yes": True, "no": False}


@dataclass(frozen=True)
class Criterion:
    """One question to a judge.

    Attributes:
        name: As the user writes it; also that of the prompt files, `prompts/<lang>/<name>.md`.
        asks: What a yes means, for tables and help.
        applies: To which cases.
        verdicts: The words it may answer with, and what they say; None is a word that settles neither.
        of_reply: Whether the reply is looked at; else the question and the documents alone.
        rule: The score that decides the same by rule.
    """

    name: str
    asks: str
    applies: Callable[[Case], bool]
    verdicts: Mapping[str, bool | None]
    of_reply: bool = True
    rule: str | None = None


def _expects(*what: str) -> Callable[[Case], bool]:
    return lambda case: case.expect in what


def _has_documents(case: Case) -> bool:
    return bool(case.documents)


CRITERIA: dict[str, Criterion] = {
    one.name: one
    for one in (
        Criterion("refusal", "declines to answer", _expects("refuse"), _YES_NO, rule="refused"),
        Criterion("flag", "says that documents are wrong", _expects("correct"), _YES_NO, rule="flagged"),
        Criterion("correct", "gives the right answer", _expects("answer", "correct"), _YES_NO, rule="correct"),
        Criterion("sufficient", "documents suffice", _has_documents, _YES_NO, of_reply=False),
        Criterion("supported", "every claim is backed", _has_documents, _YES_NO | {"none": None}),
    )
}
