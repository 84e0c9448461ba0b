"""Minimal cases for the robust scorer."""

from __future__ import annotations

from collections.abc import Sequence

from ragbed.schema import Case, Document, Lang


def make_case(
    question: str,
    answer: Sequence[Sequence[str]],
    fake: Sequence[Sequence[str]] | None = None,
    lang: Lang = "en",
    documents: Sequence[str | Document] = (),
) -> Case:
    """Return a case with these texts."""
    return Case(
        case="made/1/noise@noise=0,k=5,arm=related,profile=robust,seed=0",
        data="made",
        item="1",
        lang=lang,
        testbed="noise",
        question=question,
        noise=0,
        noise_real=0,
        k=len(documents),
        true_ratio=0,
        arm="related",
        profile="robust",
        seed=0,
        feasible=True,
        documents=tuple(each if isinstance(each, Document) else _support(each) for each in documents),
        slots=(),
        messages=(),
        answer=tuple(map(tuple, answer)),
        fake=None if fake is None else tuple(map(tuple, fake)),
        expect="answer",
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
