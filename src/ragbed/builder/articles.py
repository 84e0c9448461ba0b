"""Fetch and read the articles of all sources; reject unknown languages and duplicates, each with a reason."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator
from datetime import date, timedelta
from typing import Any

import msgspec

from ragbed.builder.build_context import Build
from ragbed.builder.fetching import drain, open_desk
from ragbed.builder.record_index import RecordIndex
from ragbed.builder.records import FetchedPage
from ragbed.builder.sources import SOURCES, STEP, ArticleSource, DocumentFetcher, RawDocument, reject, reject_fetch
from ragbed.builder.tokens import count_tokens
from ragbed.builder.web.content_types import kind_of
from ragbed.builder.web.documents import ReadJob
from ragbed.builder.web.links import Link
from ragbed.builder.web.ordered_tasks import in_order, take_turns
from ragbed.errors import UnknownName
from ragbed.schema import Article, Hit, Reject

_OTHER_ZONES = timedelta(days=1)
"""Somewhere it is tomorrow already."""
_LEAST_TOKENS = 40
"""A text that is shorter is a caption or a notice: two sentences, from which no question and answer can be made."""


def make_articles(build: Build) -> Iterator[Article | Reject]:
    """The step: all sources of a recipe, in its languages and no older than it says; each address once."""
    addresses: set[str] = set()
    for number, found in enumerate(drain(_of_recipe(build))):
        build.watch(STEP, number, None)
        if isinstance(found, Article):
            if problem := _unwanted(build, found, addresses):
                yield problem
                continue
            addresses.add(found.url)
        yield found


async def _of_recipe(build: Build) -> AsyncGenerator[Article | Reject, None]:
    sources = [ArticleSource(one.kind, build.locate(one.place), one.licence, one.place) for one in build.recipe.sources]
    async with open_desk(build) as desk:
        async for found in collect_articles(sources, desk, build.today):
            yield found


def _unwanted(build: Build, article: Article, addresses: set[str]) -> Reject | None:
    since = build.recipe.since
    if article.lang not in build.recipe.langs:
        return reject(article.url, "language", f"it is {article.lang}, which the recipe does not ask for")
    if article.url in addresses:
        return reject(article.url, "duplicate", "another document has the same address")
    if since and article.date is None:
        return reject(article.url, "undated", f"it gives no date, so it may be older than {since}")
    if since and article.date and article.date < since:
        return reject(article.url, "old", f"it is of {article.date}, before {since}")
    return None


async def collect_articles(
    sources: Iterable[ArticleSource], desk: DocumentFetcher, today: date
) -> AsyncIterator[Article | Reject]:
    """The articles of all sources, each text once; what becomes of a document does not depend on how quick it came.

    Args:
        sources: Where to look.
        desk: Brings documents and reads them.
        today: No article is of a later date.
    """
    texts: dict[str, str] = {}
    for source in sources:
        if source.kind not in SOURCES:
            raise UnknownName("kind of source", source.kind, SOURCES)
        async for found in in_order(_lay_out(source, desk, today), desk.at_once):
            if isinstance(found, Article):
                digest = hashlib.sha256(found.text.encode()).hexdigest()
                if digest in texts:
                    yield reject(found.url, "duplicate", f"the same text came from {texts[digest]}")
                    continue
                texts[digest] = found.url
            yield found


async def _lay_out(
    source: ArticleSource, desk: DocumentFetcher, today: date
) -> AsyncIterator[Coroutine[Any, Any, Article | Reject]]:
    """What is to be done for a source, document by document."""
    links: list[Link] = []
    async for found in SOURCES[source.kind](source, desk):
        match found:
            case Link():
                links.append(found)
            case RawDocument():
                yield _read(found, source, desk, today)
            case Reject():
                yield _pass_on(found)
    once = {link.url: link for link in reversed(links)}
    for link in take_turns(links, lambda link: link.url):
        if link.url and once[link.url] is not link:
            yield _pass_on(reject(link.url, "duplicate", "the list names it more than once"))
        else:
            yield bring_article(link, source, desk, today)


async def _pass_on(found: Reject) -> Reject:
    return found


async def bring_article(link: Link, source: ArticleSource, desk: DocumentFetcher, today: date) -> Article | Reject:
    """Fetches and reads what a list, or a search, names."""
    if not link.url:
        return reject(f"{source.name}: {link.title}", "address", "the entry has no address")
    fetched = await desk.fetcher.fetch(link.url)
    if fetched.page is None:
        return reject_fetch(fetched)
    page = fetched.page
    kind = kind_of(page.content_type, page.body)
    raw = RawDocument(page.final_url, page.body, kind, page.content_type, link.title, link.date, link.licence or None)
    return await _read(raw, source, desk, today)


async def _read(raw: RawDocument, source: ArticleSource, desk: DocumentFetcher, today: date) -> Article | Reject:
    """Reads a document; what the list said of it comes before what it says itself."""
    job = ReadJob(kind=raw.kind, body=raw.body, content_type=raw.content_type, url=raw.url)
    read = await desk.extractor.extract(job)
    if read.outcome != "ok":
        return reject(raw.url, read.outcome, read.reason)
    if count_tokens(read.text) < _LEAST_TOKENS:
        return reject(raw.url, "short", f"it has fewer than {_LEAST_TOKENS} tokens of text")
    if read.lang is None:
        return reject(raw.url, "language", "it is neither English nor Chinese, as far as can be told")
    return Article(
        id=hashlib.sha256(f"{raw.url}\0{read.text}".encode()).hexdigest()[:16],
        url=raw.url,
        title=" ".join(raw.title.split()) or read.title,
        text=read.text,
        lang=read.lang,
        sha256=hashlib.sha256(raw.body).hexdigest(),
        source=source.name,
        date=next((day for told in (raw.date, read.date) if (day := _past_day(told, today))), None),
        licence=raw.licence or read.licence or source.licence,
    )


def _past_day(told: str | None, today: date) -> str | None:
    """The day in an ISO date; none if it is no date, or one that has not come: feeds lie."""
    try:
        day = date.fromisoformat((told or "")[:10])
    except ValueError:
        return None
    return day.isoformat() if day <= today + _OTHER_ZONES else None


PAGES_STEP = "pages"


def make_pages(build: Build) -> Iterator[FetchedPage | Reject]:
    """The step: every address once, whatever questions it was found for."""
    urls = dict.fromkeys(hit.url for hit in build.read("hits", Hit))
    with RecordIndex(build, "articles", Article) as articles:
        here = {article.url: place for place, article in articles.look_over() if article.url in urls}
        yield from (FetchedPage(hit=url, article=articles.take(here[url])) for url in urls if url in here)
    far = [url for url in urls if url not in here]
    for number, found in enumerate(drain(_bring_all(build, far)) if far else ()):
        build.watch(PAGES_STEP, number, len(far))
        yield found


async def _bring_all(build: Build, urls: list[str]) -> AsyncGenerator[FetchedPage | Reject, None]:
    async with open_desk(build) as desk:
        async for found in in_order(_fetch_each(build, urls, desk), desk.at_once):
            yield found


async def _fetch_each(
    build: Build, urls: list[str], desk: DocumentFetcher
) -> AsyncIterator[Coroutine[Any, Any, FetchedPage | Reject]]:
    source = ArticleSource("search", build.recipe.search.engine)
    for url in take_turns(urls, lambda one: one):
        yield _bring(url, source, desk, build)


async def _bring(url: str, source: ArticleSource, desk: DocumentFetcher, build: Build) -> FetchedPage | Reject:
    found = await bring_article(Link(url=url, title=""), source, desk, build.today)
    if isinstance(found, Reject):
        return msgspec.structs.replace(found, step=PAGES_STEP)
    return FetchedPage(hit=url, article=found)
