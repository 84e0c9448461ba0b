"""What a build's folder tells beyond its items: the article that a question was made from, and what a search found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ragbed.builder.records import Draft
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
    """What is read of a build's lock; the whole of it would bring the whole builder along."""

    sources: dict[str, str]
    pages: dict[str, str]


class Provenance:
    """Of the items of one folder; empty where there is no build.

    Args:
        folder: Of the data.
    """

    def __init__(self, folder: Path) -> None:
        steps = folder / "steps"
        self._origins = {one.id: one for one in _read(steps / "articles.jsonl", Origin)}
        self._asked = {draft.question: draft.id for draft in _read(steps / "questions.jsonl", Draft)}
        self._hits: dict[str, list[Hit]] = {}
        for hit in _read(steps / "hits.jsonl", Hit):
            self._hits.setdefault(hit.question, []).append(hit)
        self._pages = _page_hashes(folder)

    def origin(self, item: Item) -> Origin | None:
        """The article that an item's question was made from."""
        return self._origins.get(item.article or "")

    def hits(self, item: Item) -> list[Hit] | None:
        """What a search found for an item's question, or for the parts of it; None where nothing is known of that."""
        asked = [self._asked[one] for one in item.sub_questions or (item.question,) if one in self._asked]
        return [hit for one in asked for hit in self._hits.get(one, ())] if asked else None

    def page_hash(self, url: str | None) -> str | None:
        """The hash of the bytes of a page."""
        return self._pages.get(url or "")


def _read(path: Path, kind: type[_Made]) -> Iterator[_Made]:
    if not path.exists():
        return
    decoder = msgspec.json.Decoder(kind)
    for number, line in read_lines(path):
        try:
            yield decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"{error}; fix it, or move it away", line=number) from error


def _page_hashes(folder: Path) -> dict[str, str]:
    try:
        lock = msgspec.json.decode(read_regular(folder / "build.lock"), type=_Hashes)
    except (OSError, *MALFORMED_JSON):  # none, or of another version: hashes are missing then, and nothing else
        return {}
    return lock.sources | lock.pages
