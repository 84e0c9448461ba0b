"""Fetch and read articles from all sources; reject duplicates and unsupported languages, and record the reasons.

Every page and text is stored, so a killed step starts again with its stored pages and texts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec

from ragbed.builder.build_context import Build, FetchedPage, Problem, RecordIndex
from ragbed.builder.instructions import find_instruction
from ragbed.builder.passages import count_tokens
from ragbed.builder.search.base import read_day
from ragbed.builder.sources import SOURCES, STEP, ArticleSource, DocumentFetcher, RawDocument, find_files, reject
from ragbed.builder.web.documents import ReadJob, ReadResult
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.fetch import Fetcher
from ragbed.builder.web.formats import kind_of
from ragbed.builder.web.links import Link
from ragbed.builder.web.ordered_tasks import drain, in_order, take_turns
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UnknownName
from ragbed.schema import Article, Hit, Reject
from ragbed.text import storable_name

PAGES_STEP = "pages"
_FORMAT = 6  # version of the stored texts; increase it when documents are read differently
_OTHER_ZONES = timedelta(days=1)  # tolerance for future dates, because some time zones are a day ahead
# Minimum length of an article in tokens; shorter texts, such as captions, contain too few facts for a question.
MIN_TOKENS = 40
# E.g. 20240303T080000Z or 20240303080000. A number of 10 or 13 digits is a time in seconds or milliseconds.
_COMPACT_DAY = re.compile(r"\d{8}(?=(?:\d{4}|\d{6})?(?!\d))")


def mark_sources(build: Build) -> list[tuple[str, int, int]]:
    """Return the name, size and modification time of each file in the local sources, to detect changes."""
    marks = []
    for source in build.recipe.sources:
        place = Path(build.locate(source.place))
        for path in find_files(place) if place.is_dir() else [place]:
            if path.is_dir():  # a link to a folder, which is not followed
                continue
            with suppress(OSError):  # URLs have no files, and missing files are reported when the articles are read
                stat, name = path.stat(), str(Path(source.place) / path.relative_to(place))
                marks.append((storable_name(name), stat.st_size, stat.st_mtime_ns))
    return marks


def make_articles(build: Build) -> Iterator[Article | Reject]:
    """Yield the articles that match the recipe's languages and dates, from all sources and without duplicate URLs."""
    urls: set[str] = set()
    for number, found in enumerate(drain(_collect(build))):
        build.watch(STEP, number, None)
        if isinstance(found, Article):
            if problem := _unwanted(build, found, urls):
                yield reject(found.url, *problem)
                continue
            urls.add(found.url)
        yield found


@asynccontextmanager
async def open_fetcher(build: Build) -> AsyncIterator[DocumentFetcher]:
    """Yield a document fetcher for a step, and close it on exit."""
    with PageCache(build.kept / "pages.db") as keep:
        async with Fetcher(keep, build.manners, gate=build.gate) as fetcher, Extractor() as extractor:

            async def extract(job: ReadJob) -> ReadResult:
                marked = b"\0".join((str(_FORMAT).encode(), b"reading", msgspec.msgpack.encode(job)))
                key = hashlib.sha256(marked).hexdigest()
                stored = keep.find_answer(key)
                if stored is not None:
                    result = msgspec.msgpack.decode(stored, type=ReadResult)
                    if result.outcome == "ok":  # failures are retried, because the machine may have been busy
                        return result
                result = await extractor.extract(job)
                keep.keep_answer(key, msgspec.msgpack.encode(result))
                return result

            yield DocumentFetcher(fetcher, extract)


async def _collect(build: Build) -> AsyncGenerator[Article | Reject, None]:
    kinds = Counter(source.kind for source in build.recipe.sources)
    sources = [
        ArticleSource(
            source.kind, build.locate(source.place), source.licence, source.place, prefixes_urls=kinds[source.kind] > 1
        )
        for source in build.recipe.sources
    ]
    async with open_fetcher(build) as documents:
        async for found in collect_articles(sources, documents, build.today):
            yield found


def _unwanted(build: Build, article: Article, urls: set[str]) -> Problem | None:
    since = build.recipe.since
    if article.lang not in build.recipe.langs:
        return "language", f"the document's language is {article.lang}, which is not in the recipe's langs"
    if article.url in urls:
        return "duplicate", "another document has the same URL"
    if since and article.date is None:
        return "undated", f"the document has no date, or none that can be read, so it may be older than {since}"
    if since and article.date and article.date < since:
        return "old", f"the document is dated {article.date}, before {since}"
    return None


async def collect_articles(
    sources: Iterable[ArticleSource], documents: DocumentFetcher, today: date
) -> AsyncIterator[Article | Reject]:
    """Yield articles from all sources, without duplicate texts, in an order that does not depend on response times.

    Args:
        sources: Sources to collect articles from.
        documents: Fetches and reads documents.
        today: Latest date that an article may have.
    """
    texts: dict[str, str] = {}
    for source in sources:
        if source.kind not in SOURCES:
            raise UnknownName("kind of source", source.kind, SOURCES)
        async for found in in_order(_tasks(source, documents, today), documents.at_once):
            if isinstance(found, Article):
                digest = hashlib.sha256(found.text.encode()).hexdigest()
                if digest in texts:
                    yield reject(found.url, "duplicate", f"{texts[digest]} has the same text")
                    continue
                texts[digest] = found.url
            yield found


async def _tasks(
    source: ArticleSource, documents: DocumentFetcher, today: date
) -> AsyncIterator[Coroutine[Any, Any, Article | Reject]]:
    links: list[Link] = []
    async for found in SOURCES[source.kind](source, documents):
        match found:
            case Link():
                links.append(found)
            case RawDocument():
                yield _read(found, source, documents, today)
            case Reject():
                yield _pass_on(found)
    first = {link.url: link for link in reversed(links)}
    for link in take_turns(links, lambda link: link.url):
        if link.url and first[link.url] is not link:
            yield _pass_on(reject(link.url, "duplicate", "the list contains this URL more than once"))
        else:
            yield fetch_article(link, source, documents, today)


async def _pass_on(found: Reject) -> Reject:
    return found


async def fetch_article(link: Link, source: ArticleSource, documents: DocumentFetcher, today: date) -> Article | Reject:
    """Fetch and read a page that was found in a feed, in a sitemap or by a search."""
    if not link.url:
        return reject(f"{source.name}: {link.title}", "address", "the entry has no URL")
    fetched = await documents.fetcher.fetch(link.url)
    page = fetched.page
    if page is None:
        return reject(fetched.url, fetched.outcome, fetched.reason)
    kind = kind_of(page.content_type, page.body)
    raw = RawDocument(page.final_url, page.body, kind, page.content_type, link.title, link.date)
    return await _read(raw, source, documents, today)


async def _read(raw: RawDocument, source: ArticleSource, documents: DocumentFetcher, today: date) -> Article | Reject:
    """Read a document. A title or date from its source takes precedence over one in the document."""
    read = await documents.extract(ReadJob(kind=raw.kind, body=raw.body, content_type=raw.content_type, url=raw.url))
    if read.outcome != "ok":
        return reject(raw.url, read.outcome, read.reason)
    if count_tokens(read.text) < MIN_TOKENS:
        return reject(raw.url, "short", f"the document has fewer than {MIN_TOKENS} tokens of text")
    if read.lang is None:
        return reject(raw.url, "language", "the document's language was not detected as English or Chinese")
    if found := find_instruction(read.text):
        return reject(raw.url, "instructions", f"the document contains text addressed to a language model: {found!r}")
    return Article(
        id=hashlib.sha256(f"{raw.url}\0{read.text}".encode()).hexdigest()[:16],
        url=raw.url,
        title=" ".join(raw.title.split()) or read.title,
        text=read.text,
        lang=read.lang,
        sha256=hashlib.sha256(raw.body).hexdigest(),
        source=source.name,
        date=_past_day(raw.date, today) or _past_day(read.date, today),
        licence=raw.licence or source.licence,
    )


def _past_day(text: str | None, today: date) -> str | None:
    """Return a date in ISO format, or None if it cannot be read or is (as in some feeds) in the future."""
    compact = _COMPACT_DAY.match(text or "")
    try:
        day = date.fromisoformat(compact[0] if compact else read_day(text) or "")
    except ValueError:
        return None
    return day.isoformat() if day <= today + _OTHER_ZONES else None


def make_pages(build: Build) -> Iterator[FetchedPage | Reject]:
    """Yield the pages found by the searches, without duplicate URLs."""
    urls = dict.fromkeys(hit.url for hit in build.read("hits", Hit))
    with RecordIndex(build, "articles", Article) as articles:
        known = {article.url: place for place, article in articles.scan() if article.url in urls}
        yield from (FetchedPage(hit=url, article=articles.read(known[url])) for url in urls if url in known)
    missing = [url for url in urls if url not in known]
    for number, found in enumerate(drain(_fetch_all(build, missing)) if missing else ()):
        build.watch(PAGES_STEP, number, len(missing))
        yield found


async def _fetch_all(build: Build, urls: list[str]) -> AsyncGenerator[FetchedPage | Reject, None]:
    source = ArticleSource("search", build.recipe.search.engine)

    async def fetch(url: str) -> FetchedPage | Reject:
        found = await fetch_article(Link(url=url, title=""), source, documents, build.today)
        if isinstance(found, Reject):
            return msgspec.structs.replace(found, step=PAGES_STEP)
        return FetchedPage(hit=url, article=found)

    async def tasks() -> AsyncIterator[Coroutine[Any, Any, FetchedPage | Reject]]:
        for url in take_turns(urls, str):
            yield fetch(url)

    async with open_fetcher(build) as documents:
        async for found in in_order(tasks(), documents.at_once):
            yield found
