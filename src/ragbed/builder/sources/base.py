"""What all sources share: what they are asked for, and what they give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.fetch import Fetched, Fetcher
from ragbed.builder.web.links import Link
from ragbed.builder.web.reader_process import ReadResult
from ragbed.errors import RagbedError
from ragbed.io.http import PASSING
from ragbed.io.locations import read_regular
from ragbed.schema import Reject
from ragbed.text import storable_name

STEP = "articles"
"""The name of the step, in what it rejects."""
_STATUS = re.compile(r"\bthe server answered (\d{3})\b")
"""Of a page, or of the rules of its site."""


@dataclass(frozen=True)
class ArticleSource:
    """A place that articles come from."""

    kind: str
    place: str
    """An address, or the path of a file or folder."""
    licence: str | None = None
    """Of what is there, unless a document names its own."""
    written: str = ""
    """As the recipe names the place; empty: as it is."""

    @property
    def name(self) -> str:
        """What records call it, wherever the build lies and is typed."""
        return self.written or self.place


class Extracting(Protocol):
    """What reads documents."""

    async def extract(self, job: ReadJob) -> ReadResult:
        """Reads one; every one ends in a named outcome."""
        ...


@dataclass(frozen=True)
class DocumentFetcher:
    """What brings documents and reads them."""

    fetcher: Fetcher
    extractor: Extracting
    at_once: int = 64
    """Documents under way: they wait for hosts most of the time."""


@dataclass(frozen=True)
class RawDocument:
    """A document that is here, not read yet."""

    url: str
    body: bytes
    kind: str
    content_type: str = ""
    title: str = ""
    date: str | None = None
    licence: str | None = None


Found: TypeAlias = Link | RawDocument | Reject
"""A document that is to be fetched, one that is here, or one that cannot be had."""


def reject(what: str | Path, outcome: str, reason: str) -> Reject:
    """A document that cannot be had."""
    return Reject(step=STEP, what=storable_name(str(what)), outcome=outcome, reason=storable_name(reason))


def reject_fetch(fetched: Fetched) -> Reject:
    """A document that could not be fetched; a server that may answer in a while is told from one that says no."""
    said = _STATUS.search(fetched.reason) if fetched.outcome in ("status", "robots") else None
    return reject(fetched.url, "server" if said and int(said[1]) in PASSING else fetched.outcome, fetched.reason)


def read_file(path: Path) -> bytes:
    """A file that the user named."""
    try:
        return read_regular(path)
    except OSError as error:
        raise RagbedError(f"{path} cannot be read: {error.strerror}.") from error
