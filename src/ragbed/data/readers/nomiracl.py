"""NoMIRACL: questions whose passages people judged; none of them may be relevant (arXiv 2312.11361).

There are no right answers: a question without a relevant passage should be refused, and every other one answered. The
relevant passages come first, as in the published prompts.
"""

from __future__ import annotations

from msgspec import Struct

from ragbed.data.readers.given_item import given_item
from ragbed.schema import Expectation, Item, Lang, Stance


class _Passage(Struct):
    title: str
    text: str


class NomiraclRecord(Struct):
    """A record of the data exported from Hugging Face."""

    query_id: str
    query: str
    positive_passages: list[_Passage]
    negative_passages: list[_Passage]


def to_item(record: NomiraclRecord, _: str, lang: Lang) -> Item:
    """Return the item for a record."""
    pools: tuple[tuple[Stance, list[_Passage]], ...]
    pools = ("supports", record.positive_passages), ("distracts", record.negative_passages)
    documents = [(f"{one.title}: {one.text}", stance) for stance, passages in pools for one in passages]
    expect: Expectation = "answer" if record.positive_passages else "refuse"
    return given_item(record.query_id, record.query, lang, expect, documents)
