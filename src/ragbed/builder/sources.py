"""Read articles from feeds, sitemaps, lists of URLs, folders of documents and JSON Lines files.

To add a kind of source, write a function that yields a source's documents, and add one line to SOURCES.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from ragbed.builder.web import MAX_PAGE_BYTES
from ragbed.builder.web.documents import ReadJob, ReadResult
from ragbed.builder.web.fetch import Fetcher
from ragbed.builder.web.formats import LISTS, SUFFIXES, TEXT
from ragbed.builder.web.links import Link
from ragbed.errors import MALFORMED_JSON, RagbedError, UsageError, explain_failed_read
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Reject
from ragbed.text import storable_name

LOCK = "build.lock"
STEP = "articles"  # name of this build step in reject records
_MAX_LEVELS = 3  # maximum nesting depth of sitemaps; the standard allows one level
_WEB = ("http://", "https://")


@dataclass(frozen=True)
class ArticleSource:
    """A source of articles.

    Args:
        kind: The kind of source.
        place: URL, or path of a file or folder.
        licence: Licence of documents that do not name their own.
        written: The URL or path as written in the recipe; defaults to `place`.
        prefixes_urls: Whether the URLs of its files begin with the source's name, because other sources may contain
            files with the same relative paths.
    """

    kind: str
    place: str
    licence: str | None = None
    written: str = ""
    prefixes_urls: bool = False

    @property
    def name(self) -> str:
        """The source's name in records; it does not depend on the build's folder."""
        return self.written or self.place


@dataclass(frozen=True)
class DocumentFetcher:
    """Fetches and reads up to `at_once` documents concurrently, because most of the time is spent waiting for hosts."""

    fetcher: Fetcher
    extract: Callable[[ReadJob], Awaitable[ReadResult]]
    at_once: int = 64


@dataclass(frozen=True)
class RawDocument:
    """A document that has not been read yet."""

    url: str
    body: bytes
    kind: str
    content_type: str = ""
    title: str = ""
    date: str | None = None
    licence: str | None = None


Found: TypeAlias = Link | RawDocument | Reject  # a document to fetch, a document to read, or an unavailable document


def reject(what: str | Path, outcome: str, reason: str) -> Reject:
    """Create the record for an unavailable document."""
    return Reject(step=STEP, what=storable_name(str(what)), outcome=outcome, reason=storable_name(reason))


async def follow_list(source: ArticleSource, documents: DocumentFetcher) -> AsyncIterator[Found]:
    """Yield the links in a feed, sitemap or list of URLs, after detecting its format. Nested sitemaps are followed."""
    waiting, seen = [(source.place, source.name, 1)], {source.place}
    while waiting:
        place, name, level = waiting.pop(0)
        found = await _read_list(place, name, documents)
        if isinstance(found, Reject):
            yield found
            continue
        for link in found:
            if not link.is_list:
                yield link
            elif not link.url.startswith(_WEB):  # a list must not refer to local files
                yield reject(link.url, "list", "a list inside another list must be a web URL")
            elif level < _MAX_LEVELS and link.url not in seen:
                seen.add(link.url)
                waiting.append((link.url, link.url, level + 1))
            else:
                yield reject(link.url, "list", "the list appears twice, or is nested too deeply in other lists")


async def _read_list(place: str, name: str, documents: DocumentFetcher) -> tuple[Link, ...] | Reject:
    if place.startswith(_WEB):
        fetched = await documents.fetcher.fetch(place, LISTS)
        page = fetched.page
        if page is None:
            return reject(fetched.url, fetched.outcome, fetched.reason)
        job = ReadJob(kind="", body=page.body, content_type=page.content_type, url=page.final_url, wants_links=True)
    else:
        try:
            job = ReadJob(kind="", body=read_regular(Path(place)), wants_links=True)
        except OSError as error:
            raise RagbedError(f"{place} cannot be read: {explain_failed_read(error)}.") from error
    read = await documents.extract(job)
    return read.links or reject(name, read.outcome, read.reason)


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
        is_own = (folder / LOCK).is_file() and (folder / "steps").is_dir()
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
        if not path.is_file() or path.stat().st_size > MAX_PAGE_BYTES:
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
            licence=line.licence,
        )


SOURCES: dict[str, Callable[[ArticleSource, DocumentFetcher], AsyncIterator[Found]]] = {
    "feed": follow_list,
    "sitemap": follow_list,
    "urls": follow_list,
    "folder": open_folder,
    "jsonl": open_records,
}
