"""Read feeds (RSS, Atom), sitemaps and plain lists of URLs from the web or from files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, reject, reject_fetch
from ragbed.builder.web.content_types import LISTS
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.links import Link
from ragbed.errors import RagbedError, explain_failed_read
from ragbed.io.locations import read_regular
from ragbed.schema import Reject

_MAX_LEVELS = 3  # maximum nesting depth of sitemaps; the standard allows one level
_WEB = ("http://", "https://")


async def follow_list(source: ArticleSource, documents: DocumentFetcher) -> AsyncIterator[Found]:
    """Yield the links in a feed, sitemap or list of URLs, after detecting its format. Nested sitemaps are followed."""
    waiting, seen = [(source.place, source.name, 1)], {source.place}
    while waiting:
        place, name, level = waiting.pop(0)
        found = await _open(place, name, documents)
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


async def _open(place: str, name: str, documents: DocumentFetcher) -> tuple[Link, ...] | Reject:
    if place.startswith(_WEB):
        fetched = await documents.fetcher.fetch(place, LISTS)
        page = fetched.page
        if page is None:
            return reject_fetch(fetched)
        job = ReadJob(kind="", body=page.body, content_type=page.content_type, url=page.final_url, wants_links=True)
    else:
        try:
            job = ReadJob(kind="", body=read_regular(Path(place)), wants_links=True)
        except OSError as error:
            raise RagbedError(f"{place} cannot be read: {explain_failed_read(error)}.") from error
    read = await documents.extractor.extract(job)
    return read.links or reject(name, read.outcome, read.reason)
