"""Read written cases: `adversarial/{en,zh}.txt` and `phrasings/{en,zh}.txt`.

`Q` is a question, `A` its answer (aliases separated by " / ", parts by " ; ") and `X` the false answer. Each other
line is a response with its label:
`+` correct, `-` wrong, `r` refused, `f` flagged and not correct, `F` flagged and correct, `b` refused and flagged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragbed.schema import Case, Lang
from tests.scoring.robust.cases import make_case

LABELS = {"+": (True, False, False), "-": (False, False, False), "r": (False, True, False)}
LABELS |= {"f": (False, False, True), "F": (True, False, True), "b": (False, True, True)}


class AdversarialCase(NamedTuple):
    """A response with the scores that it must get."""

    category: str
    case: Case
    reply: str
    correct: bool
    refused: bool
    flagged: bool


def read_cases(lang: Lang, folder: str = "adversarial") -> Iterator[AdversarialCase]:
    """Yield all cases of a language."""
    category, question, answer, fake = "", "", [[""]], None
    for line in (Path(__file__).parent / folder / f"{lang}.txt").read_text("utf-8").splitlines():
        mark, text = line[:1], line[2:]
        if mark == "#":
            category = text
        elif mark == "Q":
            question, fake = text, None
        elif mark == "A":
            answer = [part.split(" / ") for part in text.split(" ; ")]
        elif mark == "X":
            fake = [text.split(" / ")]
        else:
            yield AdversarialCase(category, make_case(question, answer, fake, lang), text, *LABELS[mark])
