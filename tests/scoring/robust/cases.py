"""Minimal cases for the robust scorer."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ragbed.schema import Case, Document, Lang
from tests.runs import harness


def make_case(
    question: str,
    answer: Sequence[Sequence[str]],
    fake: Sequence[Sequence[str]] | None = None,
    lang: Lang = "en",
    documents: Sequence[str | Document] = (),
) -> Case:
    """Return a case with these texts."""
    return replace(
        harness.make_case(1),
        lang=lang,
        question=question,
        documents=tuple(each if isinstance(each, Document) else _support(each) for each in documents),
        answer=tuple(map(tuple, answer)),
        fake=None if fake is None else tuple(map(tuple, fake)),
    )


def _support(text: str) -> Document:
    return Document(text=text, stance="supports", kind="related", source=0)


def spread(*rows: tuple[object, ...]) -> list[tuple[object, ...]]:
    """Return a test for each response of rows that end with the right and the wrong responses, separated by slashes."""
    return [
        (*shared, reply, is_right)
        for *shared, right, wrong in rows
        for replies, is_right in ((right, True), (wrong, False))
        if replies
        for reply in str(replies).split(" / ")
    ]
