"""RAMDocs: ambiguous questions with documents for different right answers, false answers and noise (arXiv 2504.13079).

A response is right if it gives every right answer and no false one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from ragbed.data.readers.given_item import given_item
from ragbed.schema import Item, Lang, Stance

_STANCES: dict[str, Stance] = {"correct": "supports", "misinfo": "contradicts", "noise": "distracts"}


class _Document(Struct):
    text: str
    type: Literal["correct", "misinfo", "noise"]


class RamdocsRecord(Struct):
    """A record of the file."""

    question: str
    documents: list[_Document]
    gold_answers: Annotated[list[str], Meta(min_length=1)]
    wrong_answers: list[str]


def to_item(record: RamdocsRecord, name: str, lang: Lang) -> Item:
    """Return the item for a record."""
    documents = [(one.text, _STANCES[one.type]) for one in record.documents]
    answer = [[one] for one in dict.fromkeys(record.gold_answers)]
    return given_item(name, record.question, lang, "answer", documents, answer=answer, false=record.wrong_answers)
