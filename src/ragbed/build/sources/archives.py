"""WARC and ARC files: the web as it was crawled, by Common Crawl and others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ragbed.build.sources.base import Desk, Found, Raw, Source, reject
from ragbed.errors import RagbedError
from ragbed.web.extra import need_extra
from ragbed.web.kinds import KINDS, kind_of
from ragbed.web.manners import MAX_PAGE_BYTES

if TYPE_CHECKING:
    from warcio.recordloader import ArcWarcRecord


async def open_archive(source: Source, desk: Desk) -> AsyncIterator[Found]:  # noqa: ARG001 - all are called alike
    """The pages in an archive, packed or not, record by record in bounded memory."""
    need_extra("warcio")
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - belongs to the extra `build`
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    try:
        with open(source.place, "rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    yield _unpack(record)
    except OSError as error:
        raise RagbedError(f"{source.place} cannot be read: {error.strerror or error}.") from error
    except (ArchiveLoadFailed, EOFError, ValueError) as error:
        yield reject(source.place, "broken", f"the archive cannot be read to its end ({type(error).__name__})")


def _unpack(record: ArcWarcRecord) -> Found:
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
    return Raw(url, body, kind, content_type)
