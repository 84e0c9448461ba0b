"""Feeds (RSS, Atom), sitemaps and plain lists of addresses, in the web or in a file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from ragbed.builder.sources.base import ArticleSource, DocumentFetcher, Found, read_file, reject, reject_fetch
from ragbed.builder.web.content_types import LISTS
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.links import Link
from ragbed.schema import Reject

_LEVELS = 3
"""A sitemap may name sitemaps; the standard allows one level of that."""

_WEB = ("http://", "https://")


async def follow_list(source: ArticleSource, desk: DocumentFetcher) -> AsyncIterator[Found]:
    """The addresses in a list; what kind of list it is, its content tells. Sitemaps in sitemaps are followed."""
    waiting, seen = [(source.place, source.name, 1)], {source.place}
    while waiting:
        place, name, level = waiting.pop(0)
        found = await _open(place, name, desk)
        if isinstance(found, Reject):
            yield found
            continue
        for link in found:
            if not link.is_list:
                yield link
            elif not link.url.startswith(_WEB):  # nobody else may name files of this machine
                yield reject(link.url, "list", "a list inside another must be an address of the web")
            elif level < _LEVELS and link.url not in seen:
                seen.add(link.url)
                waiting.append((link.url, link.url, level + 1))
            else:
                yield reject(link.url, "list", "this list is named twice, or too deep inside other lists")


async def _open(place: str, name: str, desk: DocumentFetcher) -> tuple[Link, ...] | Reject:
    if place.startswith(_WEB):
        fetched = await desk.fetcher.fetch(place, LISTS)
        if fetched.page is None:
            return reject_fetch(fetched)
        page = fetched.page
        job = ReadJob(kind="", body=page.body, content_type=page.content_type, url=page.final_url, wants_links=True)
    else:
        job = ReadJob(kind="", body=read_file(Path(place)), wants_links=True)
    read = await desk.extractor.extract(job)
    return read.links or reject(name, read.outcome, read.reason)
