"""The origin of a dataset item: the article behind its question, and its search results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ragbed.builder.build_context import Draft
from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Hit, Item

_Made = TypeVar("_Made", bound=Struct)


class Origin(Struct, frozen=True):
    """An article, without its text."""

    id: str
    url: str
    title: str
    sha256: str
    date: str | None = None
    licence: str | None = None


class _Hashes(Struct, frozen=True):
    """The required fields of a build's lock file; decoding all fields would require importing the entire builder."""

    sources: dict[str, str]
    pages: dict[str, str]


class Provenance:
    """The origins of the items in a folder. Only build folders record origins.

    Args:
        folder: The data folder.
    """

    def __init__(self, folder: Path) -> None:
        steps = folder / "steps"
        self._origins = {one.id: one for one in _read(steps / "articles.jsonl", Origin)}
        self._drafts = {draft.question: draft.id for draft in _read(steps / "questions.jsonl", Draft)}
        self._hits: dict[str, list[Hit]] = {}
        for hit in _read(steps / "hits.jsonl", Hit):
            self._hits.setdefault(hit.question, []).append(hit)
        self._pages = _page_hashes(folder)

    def origin(self, item: Item) -> Origin | None:
        """Return the article from which an item's question was made."""
        return self._origins.get(item.article or "")

    def hits(self, item: Item) -> list[Hit] | None:
        """Return the search results for an item's question or sub-questions, or None if there was no search."""
        drafts = [self._drafts[text] for text in item.sub_questions or (item.question,) if text in self._drafts]
        return [hit for draft in drafts for hit in self._hits.get(draft, ())] if drafts else None

    def page_hash(self, url: str | None) -> str | None:
        """Return the hash of a web page's bytes, or None if the build did not record a hash."""
        return self._pages.get(url or "")


def _read(path: Path, kind: type[_Made]) -> Iterator[_Made]:
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"{error}; fix the file, or move it to another folder", line=number) from error


def _page_hashes(folder: Path) -> dict[str, str]:
    try:
        lock = msgspec.json.decode(read_regular(folder / "build.lock"), type=_Hashes)
    except (OSError, *MALFORMED_JSON):  # The lock file is missing or in a different format, so there are no hashes.
        return {}
    return lock.sources | lock.pages
