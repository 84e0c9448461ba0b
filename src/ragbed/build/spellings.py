"""How pages spell an answer: what a supporting passage says in its place is an alias of it (R12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ragbed.build.drafting import is_given_away
from ragbed.build.mentions import WEAK, find_answer
from ragbed.schema import Answer, Lang, Passage, Question
from ragbed.scorers.robust.match import Reading
from ragbed.scorers.robust.normalise import fold
from ragbed.text import plain, squeezed

_MOST = 6
"""Aliases of a part: pages hardly have more, and every one makes a match by chance likelier."""
_LEAST = 3
"""Characters of an alias: "6" for six stands in every other text."""


def add_spellings(question: Question, passages: Sequence[Passage]) -> Answer:
    """The answer with the forms that its supporting passages give it in, as far as no distracting passage has them.

    Whoever scores by containment, as the paper does, would else count a reply wrong that repeats a document.
    """
    distracting = [plain(one.text) for one in passages if one.stance == "distracts"]
    supporting = [one for one in passages if one.stance == "supports"]
    answer = []
    for part, aliases in enumerate(question.answer):
        alone = replace(question, answer=(aliases,))
        forms = {squeezed(alias): alias for alias in aliases}
        for form in (form for one in supporting if one.part in (None, part) for form in _forms(alone, one.text)):
            is_clean = not any(plain(form) in text for text in distracting)
            if is_clean and len(forms) < _MOST and not is_given_away(question.question, form, question.lang):
                forms.setdefault(squeezed(form), form)
        answer.append(tuple(forms.values()))
    return tuple(answer)


def _forms(question: Question, text: str) -> Iterator[str]:
    """What stands where a passage says the answer."""
    for held in find_answer(question, text)[0]:
        form = text[held.start : held.end].strip().rstrip(".,。，")
        if held.rule not in WEAK and len(form) >= _LEAST and _says_all(form, held.rule, question.lang):
            yield form


def _says_all(form: str, rule: str, lang: Lang) -> bool:
    """Whether a form says as much as the answer by itself: who scores by containment does not read the question.

    "July 21" says less than July 21, 2021, and "44 million" less than $44 million.
    """
    if rule == "number.unit":
        return any(one.unit for one in Reading(fold(form, lang)).quantities)
    return rule != "date.asked"
