"""WARC and ARC files: the web as it was crawled, by Common Crawl and others."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, RawDocument, reject
from ragbed.builder.web.content_types import KINDS, kind_of
from ragbed.builder.web.extra import need_extra
from ragbed.builder.web.limits import MAX_PAGE_BYTES
from ragbed.errors import RagbedError
from ragbed.io.locations import check_regular

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord

_GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 1 << 16


async def open_archive(source: ArticleSource, desk: DocumentFetcher) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The pages in an archive, packed or not, record by record in bounded memory."""
    need_extra("warcio")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - belongs to the extra `build`
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    check_regular(Path(source.place), follow_links=True)
    try:
        with open(source.place, "rb") as file, _Unpacked(file) if _is_packed(file) else file as stream:
            archive, record = ArchiveIterator(stream), None
            for record in archive:
                found = _read(record) if record.rec_type == "response" else None
                _check_whole(record)
                if found is not None:
                    yield found
            if record is None or archive.next_line:
                raise ValueError("the archive ends in the head of a record")
    except (ArchiveLoadFailed, AttributeError, EOFError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        # AttributeError is warcio's for an answer without an address, as a cut head leaves one
        yield reject(source.name, "broken", f"the archive cannot be read to its end ({type(error).__name__})")
    except OSError as error:
        raise RagbedError(f"{source.place} cannot be read: {error.strerror or error}.") from error


class _Unpacked(gzip.GzipFile):
    """An archive without its gzip: warcio by itself reads only the first record of one that was packed as a whole."""

    def __init__(self, file: BufferedReader) -> None:
        super().__init__(fileobj=file)

    def read(self, size: int | None = -1) -> bytes:
        """What there is next, at most so much; warcio would take an EOFError for a good end."""
        try:
            return self.read1(-1 if size is None else size)
        except EOFError as error:
            raise ValueError("the archive is cut") from error


def _is_packed(file: BufferedReader) -> bool:
    return file.peek(len(_GZIP)).startswith(_GZIP)


def _check_whole(record: ArcWarcRecord) -> None:
    """Reads a record to its end: warcio takes the end of a file for that of its last record."""
    while record.raw_stream.read(_CHUNK_BYTES):
        pass
    if record.length is None or record.raw_stream.tell() < record.length:
        raise ValueError("the archive is cut")


def _read(record: ArcWarcRecord) -> Found:
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    status = record.http_headers.get_statuscode() if record.http_headers else ""
    if status != "200":
        return reject(url, "status", f"the archive holds an answer {status or 'without a status'}")
    content_type = record.http_headers.get_header("Content-Type") or ""
    body = record.content_stream().read(MAX_PAGE_BYTES + 1)
    if len(body) > MAX_PAGE_BYTES:
        return reject(url, "size", f"the document is larger than {MAX_PAGE_BYTES:,} bytes")
    kind = kind_of(content_type, body)
    if kind not in KINDS:
        return reject(url, "type", f"a document of type {kind[:60]!r} is not read")
    return RawDocument(url, body, kind, content_type)
