"""Hits → pages, fetched and read; what is among the articles already is not fetched again."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from typing import Any

import msgspec

from ragbed.build.articles import bring_article
from ragbed.build.desk import drain, open_desk
from ragbed.build.place import Build
from ragbed.build.records import Brought
from ragbed.build.shelf import Shelf
from ragbed.build.sources import Desk, Source
from ragbed.schema import Article, Hit, Reject
from ragbed.web.flow import in_order, take_turns
from ragbed.web.links import Link

STEP = "pages"


def make_pages(build: Build) -> Iterator[Brought | Reject]:
    """The step: every address once, whatever questions it was found for."""
    urls = dict.fromkeys(hit.url for hit in build.read("hits", Hit))
    with Shelf(build, "articles", Article) as articles:
        here = {article.url: place for place, article in articles.look_over() if article.url in urls}
        yield from (Brought(hit=url, article=articles.take(here[url])) for url in urls if url in here)
    far = [url for url in urls if url not in here]
    for number, found in enumerate(drain(_bring_all(build, far)) if far else ()):
        build.watch(STEP, number, len(far))
        yield found


async def _bring_all(build: Build, urls: list[str]) -> AsyncGenerator[Brought | Reject, None]:
    async with open_desk(build) as desk:
        async for found in in_order(_lay_out(build, urls, desk), desk.at_once):
            yield found


async def _lay_out(build: Build, urls: list[str], desk: Desk) -> AsyncIterator[Coroutine[Any, Any, Brought | Reject]]:
    source = Source("search", build.recipe.search.engine)
    for url in take_turns(urls, lambda one: one):
        yield _bring(url, source, desk, build)


async def _bring(url: str, source: Source, desk: Desk, build: Build) -> Brought | Reject:
    found = await bring_article(Link(url=url, title=""), source, desk, build.today)
    if isinstance(found, Reject):
        return msgspec.structs.replace(found, step=STEP)
    return Brought(hit=url, article=found)
