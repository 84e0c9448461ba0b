"""Make items from the fields that most benchmarks have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragbed.schema import Expectation, GivenDocument, Item, Lang, Stance
from ragbed.text import squeezed


def given_item(  # noqa: PLR0913 - the fields of an item
    name: str, question: str, lang: Lang, expect: Expectation, documents: Iterable[tuple[str, Stance | None]],
    *, answer: Iterable[Sequence[str]] = (), false: Sequence[str] = (),
) -> Item:  # fmt: skip
    """Return an item with given documents, each a text with its relevance label.

    `answer` has the required parts with their accepted forms, if the answer is known, and `false` wrong answers; those
    that are also right are left out.
    """
    slots = tuple(tuple(dict.fromkeys(form for form in forms if form.strip())) for forms in answer)
    right = {squeezed(form) for forms in slots for form in forms}
    wrong = tuple(dict.fromkeys(form for form in false if form.strip() and squeezed(form) not in right))
    return Item(
        id=name,
        question=question,
        lang=lang,
        answer=slots,
        fake=(wrong,) if wrong else None,
        documents=tuple(GivenDocument(text=text, stance=stance) for text, stance in documents if text.strip()),
        expect=expect,
    )
