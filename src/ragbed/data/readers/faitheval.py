"""FaithEval: contexts without the answer, with conflicting answers, or with a counterfactual one (arXiv 2410.03727)."""

from __future__ import annotations

from msgspec import Struct, field

from ragbed.data.readers.given_item import given_item
from ragbed.errors import DataError
from ragbed.schema import Item, Lang, Stance

_DOCUMENT = "Document:"  # precedes each document of a context with several


class FaithevalRecord(Struct):
    """A record of the unanswerable and the inconsistent contexts; its answers are those of the original context."""

    qid: str
    question: str
    context: str
    answers: list[str]


class _Choices(Struct):
    label: list[str]
    text: list[str]


class FaithevalChoice(Struct):
    """A record of the counterfactual contexts, with the possible answers."""

    id: str
    question: str
    context: str
    choices: _Choices
    answer_key: str = field(name="answerKey")


def to_unanswerable(record: FaithevalRecord, _: str, lang: Lang) -> Item:
    """Return the item for a question that its context does not answer."""
    return given_item(record.qid, record.question, lang, "refuse", _split(record.context))


def to_inconsistent(record: FaithevalRecord, _: str, lang: Lang) -> Item:
    """Return the item for a question to which its context gives conflicting answers."""
    return given_item(record.qid, record.question, lang, "correct", _split(record.context))


def to_counterfactual(record: FaithevalChoice, _: str, lang: Lang) -> Item:
    """Return the item for a multiple-choice question; the choices are part of the question."""
    choices = dict(zip(record.choices.label, record.choices.text, strict=False))
    if record.answer_key not in choices:
        raise DataError(record.id, f"{record.answer_key!r} is not a label of the choices", field="answerKey")
    question = "\n".join((record.question, *(f"{label}. {text}" for label, text in choices.items())))
    answer = [[choices[record.answer_key]]]
    return given_item(record.id, question, lang, "answer", _split(record.context), answer=answer)


def _split(context: str) -> list[tuple[str, Stance | None]]:
    return [(text.strip(), None) for text in context.split(_DOCUMENT)]
