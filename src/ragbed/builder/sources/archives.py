"""Read WARC and ARC files from web crawls, e.g. Common Crawl."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, RawDocument, reject
from ragbed.builder.web.content_types import KINDS, kind_of
from ragbed.builder.web.limits import MAX_PAGE_BYTES, need_extra
from ragbed.errors import RagbedError, explain_failed_read
from ragbed.io.locations import check_regular

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 16


async def open_archive(source: ArticleSource, documents: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001
    """Yield the pages in a plain or compressed archive without loading the whole archive into memory."""
    need_extra("warcio")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - belongs to the `build` extra
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    check_regular(Path(source.place), follow_links=True)
    try:
        with open(source.place, "rb") as file, _open(file) as stream:
            archive, record = ArchiveIterator(stream), None
            for record in archive:
                found = _read(record) if record.rec_type == "response" else None
                _check_complete(record)
                if found is not None:
                    yield found
            if record is None or archive.next_line:
                raise ValueError("the archive is truncated in the middle of a record header")
    except (ArchiveLoadFailed, AttributeError, EOFError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        # warcio raises AttributeError for a response whose URL is missing because of a truncated header.
        yield reject(source.name, "broken", f"the archive cannot be read completely ({type(error).__name__})")
    except OSError as error:
        raise RagbedError(f"{source.place} cannot be read: {explain_failed_read(error)}.") from error


class _Decompressed(gzip.GzipFile):
    """A reader that decompresses archives, because warcio reads only one record of an archive compressed as a whole."""

    def read(self, size: int | None = -1) -> bytes:
        """Return the next bytes, but never raise EOFError, which warcio would treat as the end of the file."""
        try:
            return self.read1(-1 if size is None else size)
        except EOFError as error:
            raise ValueError("the archive is truncated") from error


def _open(file: BufferedReader) -> BufferedReader | _Decompressed:
    return _Decompressed(fileobj=file) if file.peek(len(_GZIP)).startswith(_GZIP) else file


def _check_complete(record: ArcWarcRecord) -> None:
    """Read a record to its end to detect a truncated archive, because warcio accepts an incomplete last record."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    if record.length is None or record.raw_stream.tell() < record.length:
        raise ValueError("the archive is truncated")


def _read(record: ArcWarcRecord) -> Found:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    status = record.http_headers.get_statuscode() if record.http_headers else ""
    if status != "200":
        return reject(url, "status", f"the archived response has the status {status or 'missing'}")
    content_type = record.http_headers.get_header("Content-Type") or ""
    body = record.content_stream().read(MAX_PAGE_BYTES + 1)
    if len(body) > MAX_PAGE_BYTES:
        return reject(url, "size", f"the document is larger than {MAX_PAGE_BYTES:,} bytes")
    kind = kind_of(content_type, body)
    if kind not in KINDS:
        return reject(url, "type", f"documents of type {kind[:60]!r} are not supported")
    return RawDocument(url, body, kind, content_type)
