"""CRAG, task 1: questions with five web pages each (arXiv 2406.04744).

The documents are the titles and the snippets of the pages. The answer `invalid question` marks a false premise, which
should be pointed out, and `i don't know` a question that should be refused.
"""

from __future__ import annotations

from msgspec import Struct

from ragbed.data.readers.given_item import given_item
from ragbed.schema import Expectation, Item, Lang

_EXPECTED: dict[str, Expectation] = {"invalid question": "correct", "i don't know": "refuse"}


class _Page(Struct):
    page_name: str
    page_snippet: str | None


class CragRecord(Struct):
    """A record of the file."""

    interaction_id: str
    query: str
    answer: str
    alt_ans: list[str]
    search_results: list[_Page]


def to_item(record: CragRecord, _: str, lang: Lang) -> Item:
    """Return the item for a record."""
    expect = _EXPECTED.get(record.answer.strip().lower(), "answer")
    answer = [[record.answer, *record.alt_ans]] if expect == "answer" else []
    documents = [(f"{page.page_name}\n{page.page_snippet or ''}".strip(), None) for page in record.search_results]
    return given_item(record.interaction_id, record.query, lang, expect, documents, answer=answer)
