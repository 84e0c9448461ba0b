"""Folders of documents: html, md, txt, pdf, docx."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, RawDocument, reject
from ragbed.builder.web.content_types import SUFFIXES, TEXT
from ragbed.builder.web.limits import MAX_PAGE_BYTES
from ragbed.errors import UsageError
from ragbed.io.jsonl import read_lines
from ragbed.text import storable_name


async def open_folder(source: ArticleSource, desk: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The documents in a folder and the folders in it, by name; what begins with a full stop is not looked at."""
    root = Path(source.place)
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; name the folder that the documents are in.")
    for path in _walk(root):
        yield _open(root, path, Path(source.name) / path.relative_to(root))


def _walk(root: Path) -> Iterator[Path]:
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield from (Path(folder) / name for name in sorted(files) if not name.startswith("."))


def _open(root: Path, path: Path, name: Path) -> Found:
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        return reject(
            name, "type", f"files {path.suffix or 'without a suffix'} are not read: {', '.join(SUFFIXES)} are"
        )
    if not path.resolve().is_relative_to(root.resolve()):
        return reject(name, "outside", "it is a link to a file outside the folder")
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MAX_PAGE_BYTES:
            return reject(name, "size", f"it is no file of at most {MAX_PAGE_BYTES:,} bytes")
        return RawDocument(storable_name(str(path.relative_to(root))), path.read_bytes(), kind)
    except OSError as error:
        return reject(name, "unreadable", error.strerror or str(error))


class _Line(msgspec.Struct):
    """What is looked at; a line may hold more."""

    text: str
    url: str = ""
    title: str = ""
    date: str | None = None
    licence: str | None = None
    license: str | None = None


async def open_records(source: ArticleSource, desk: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The records of a file; a document without an address is known by its line."""
    path = Path(source.place)
    decoder = msgspec.json.Decoder(_Line)
    for number, raw in read_lines(path):
        place = f"{path.name}:{number}"
        try:
            line = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            yield reject(place, "broken", f"expected an object with the field `text`: {error}")
            continue
        yield RawDocument(
            url=line.url or place,
            body=line.text.encode("utf-8", "replace"),
            kind=TEXT,
            content_type="text/plain; charset=utf-8",
            title=line.title,
            date=line.date,
            licence=line.licence or line.license,
        )
