"""Types shared by all article sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.fetch import Fetched, Fetcher
from ragbed.builder.web.links import Link
from ragbed.builder.web.reader_process import ReadResult
from ragbed.io.http import PASSING
from ragbed.schema import Reject
from ragbed.text import storable_name

STEP = "articles"  # name of this build step in reject records
_STATUS = re.compile(
    r"\bthe server (?:answered|returned HTTP) (\d{3})\b"
)  # matches error messages about a page or about the robots.txt file of its host


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


class Extracting(Protocol):
    """The interface of a document reader."""

    async def extract(self, job: ReadJob) -> ReadResult:
        """Read a document; failures are reported as outcomes, not raised."""
        ...


@dataclass(frozen=True)
class DocumentFetcher:
    """Fetches and reads up to `at_once` documents concurrently, because most of the time is spent waiting for hosts."""

    fetcher: Fetcher
    extractor: Extracting
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


def reject_fetch(fetched: Fetched) -> Reject:
    """Create the record for a failed fetch, with separate outcomes for temporary server failures and refusals."""
    status = _STATUS.search(fetched.reason) if fetched.outcome in ("status", "robots") else None
    outcome = "server" if status and int(status[1]) in PASSING else fetched.outcome
    return reject(fetched.url, outcome, fetched.reason)
