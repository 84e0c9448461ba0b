"""Read folders of documents (html, md, txt, pdf, docx) and JSON Lines files that contain texts."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, RawDocument, reject
from ragbed.builder.web.content_types import SUFFIXES, TEXT
from ragbed.builder.web.limits import MAX_PAGE_BYTES
from ragbed.errors import MALFORMED_JSON, UsageError
from ragbed.io.jsonl import read_lines
from ragbed.schema import Reject
from ragbed.text import storable_name


async def open_folder(source: ArticleSource, documents: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001
    """Yield the documents in a folder and its subfolders, sorted by name; hidden files and builds are skipped."""
    root = Path(source.place)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; pass the folder with the documents.")
    for path in find_files(root):
        relative = path.relative_to(root)
        name = Path(source.name) / relative
        yield read_file(root, path, name, url=name if source.prefixes_urls else relative)


def find_files(root: Path) -> Iterator[Path]:
    """Yield the files in a folder and its subfolders, sorted by name; hidden files and builds are skipped.

    Links to folders are yielded like files and not followed, because they could form a loop.
    """
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and not _is_build(Path(folder) / name))
        links = [name for name in inner if (Path(folder) / name).is_symlink()]
        yield from (Path(folder) / name for name in sorted(files + links) if not name.startswith("."))


def _is_build(folder: Path) -> bool:
    """Check whether a folder contains a build or a reviewed build, whose report must not become a document."""
    try:
        is_own = (folder / "lock").is_file() and (folder / "steps").is_dir()
        return is_own or (folder / "review" / "reviewed.json").is_file()
    except PermissionError:
        return False


def read_file(root: Path, path: Path, name: Path, url: Path) -> RawDocument | Reject:
    """Return the content of a file in a folder, or the reason why it is not read."""
    if path.is_dir():
        return reject(name, "link", "links to folders are not followed; add the folder to the recipe as a source")
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        suffix = f"{path.suffix} files" if path.suffix else "files without a suffix"
        return reject(name, "type", f"{suffix} are not supported, only {', '.join(SUFFIXES)}")
    if not path.resolve().is_relative_to(root.resolve()):
        return reject(name, "outside", "the link points to a file outside the folder")
    try:
        size = path.stat().st_size
        if not path.is_file() or size > MAX_PAGE_BYTES:
            return reject(name, "size", f"this is not a regular file of at most {MAX_PAGE_BYTES:,} bytes")
        return RawDocument(storable_name(str(url)), path.read_bytes(), kind)
    except OSError as error:
        return reject(name, "unreadable", error.strerror or str(error))


class _Line(msgspec.Struct):
    text: str
    url: str | None = None
    title: str | None = None
    date: str | None = None
    licence: str | None = None
    license: str | None = None


async def open_records(source: ArticleSource, documents: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001
    """Yield the records in a JSON Lines file; a record without a URL is identified by its line number."""
    path = Path(source.place)
    decoder = msgspec.json.Decoder(_Line)
    for number, raw in read_lines(path):
        place = f"{source.name if source.prefixes_urls else path.name}:{number}"
        try:
            line = decoder.decode(raw)
        except MALFORMED_JSON as error:
            yield reject(place, "broken", f"expected an object with the field `text`: {error}")
            continue
        yield RawDocument(
            url=line.url or place,
            body=line.text.encode("utf-8", "replace"),
            kind=TEXT,
            content_type="text/plain; charset=utf-8",
            title=line.title or "",
            date=line.date,
            licence=line.licence or line.license,
        )
