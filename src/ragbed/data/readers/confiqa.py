"""ConFiQA: contexts that contradict what models know; the right answer is the context's (arXiv 2412.15280).

The original answer, which a model may remember, is the false one.
"""

from __future__ import annotations

from msgspec import Struct

from ragbed.data.readers.given_item import given_item
from ragbed.schema import Item, Lang, Stance


class ConfiqaRecord(Struct):
    """A record of the file."""

    question: str
    cf_context: str
    cf_answer: str
    cf_alias: list[str]
    orig_answer: str
    orig_alias: list[str]


def to_item(record: ConfiqaRecord, name: str, lang: Lang) -> Item:
    """Return the item for a record."""
    answer, original = [record.cf_answer, *record.cf_alias], [record.orig_answer, *record.orig_alias]
    documents: list[tuple[str, Stance | None]] = [(record.cf_context, "supports")]
    return given_item(name, record.question, lang, "answer", documents, answer=[answer], false=original)
