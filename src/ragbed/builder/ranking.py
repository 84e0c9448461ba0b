"""Search documents for each question, and rank their passages."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache

import msgspec
import numpy as np

from ragbed.builder.build_context import (
    Build,
    Draft,
    FetchedPage,
    Pool,
    Probe,
    RecordIndex,
    reject,
)
from ragbed.builder.passages import split_article
from ragbed.builder.recipe import encoder_of
from ragbed.builder.search import Query, SearchContext, SearchEngine, SearchFailed, open_engine
from ragbed.builder.web.ordered_tasks import drain
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError
from ragbed.retrieval import BM25, open_encoder
from ragbed.retrieval.base import Encoder, Matrix, best
from ragbed.retrieval.passage_index import LexicalIndex
from ragbed.schema import Article, Hit, Passage, Reject

HITS_STEP = "hits"
# The key or URL is invalid, or the engine is unreachable, so every other search would fail too.
_FATAL = frozenset({"auth", "connect", "protocol"})
_MAX_FATAL = 3  # number of consecutive fatal search failures after which the build stops
RANKING_STEP = "ranking"


def make_hits(build: Build) -> Iterator[Hit | Reject]:
    """Yield the search results for each question that passed the probes."""
    passed = {probe.question for probe in build.read("probes", Probe)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    with ExitStack() as stack:
        yield from drain(_search_all(build, _open(build, stack), drafts))


def check_engine(build: Build) -> None:
    """Open the search engine if the build has no results yet, to report a missing key before the first step."""
    if build.recipe.search.engine != "local" and not build.file_of(HITS_STEP).exists():
        with ExitStack() as stack:
            _open(build, stack)


async def _search_all(build: Build, engine: SearchEngine, drafts: list[Draft]) -> AsyncGenerator[Hit | Reject, None]:
    search, fatal = build.recipe.search, 0
    limits = Query(text="", lang="en", after=search.after, before=search.before, count=search.hits)
    for draft in build.shown(HITS_STEP, drafts):
        try:
            hits = await engine.search(msgspec.structs.replace(limits, text=draft.question, lang=draft.lang))
        except SearchFailed as failed:
            fatal = fatal + 1 if failed.outcome in _FATAL else 0
            if fatal >= min(_MAX_FATAL, len(drafts)):
                times = f"{failed.outcome}, {fatal} searches in a row"
                raise RagbedError(f"Searching with {engine.name} failed: {failed.reason} ({times}).") from failed
            yield reject(HITS_STEP, draft.question, failed.outcome, failed.reason)
            continue
        fatal = 0
        if not hits:
            yield reject(HITS_STEP, draft.question, "no-hits", f"{engine.name} returned no results")
        for hit in hits:
            yield msgspec.structs.replace(hit, question=draft.id)


def _open(build: Build, stack: ExitStack) -> SearchEngine:
    keep = stack.enter_context(PageCache(build.kept / "pages.db"))
    articles = _indexed(build) if build.recipe.search.engine == "local" else None
    return open_engine(build.recipe.search.engine, SearchContext(keep, build.today, build.environ, articles))


def _indexed(build: Build) -> Iterator[Article]:
    for number, article in enumerate(build.read("articles", Article)):
        build.watch("index", number, None)
        yield article


def make_ranking(build: Build) -> Iterator[Pool | Reject]:
    """Yield, for each question, the passages from its pages, nearest first."""
    hits: dict[str, list[str]] = defaultdict(list)
    for hit in build.read("hits", Hit):
        hits[hit.question].append(hit.url)
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in hits]
    with RecordIndex(build, "pages", FetchedPage) as pages, PageCache(build.kept / "pages.db") as keep:
        places = {page.hit: offset for offset, page in pages.scan()}
        for draft in build.shown(RANKING_STEP, drafts):
            found = [pages.read(places[url]).article for url in hits[draft.id] if url in places]
            yield from _rank(build, draft, found, keep)


def _rank(build: Build, draft: Draft, found: Sequence[Article], keep: PageCache) -> Iterator[Pool | Reject]:
    own = {page.id: page for page in found if page.lang == draft.lang}
    for page in found:
        if page.lang != draft.lang:
            reason = f"the page's language is {page.lang}, but {draft.question!r} is in {draft.lang}"
            yield reject(RANKING_STEP, page.url, "language", reason)
    passages = [
        Passage(
            text=chunk.text,
            stance="distracts",
            url=page.url,
            title=page.title or None,
            page=page.id,
            date=page.date,
            licence=page.licence,
        )
        for page in own.values()
        for chunk in split_article(page, build.recipe.ranking.tokens)
    ]
    if not passages:
        yield reject(RANKING_STEP, draft.question, "no-pages", "none of the search results could be fetched and read")
        return
    texts = [passage.text for passage in passages]
    if (name := encoder_of(build.recipe, draft.lang)) == BM25:
        scores: Matrix = LexicalIndex(texts).scores(draft.question)
    else:
        encoder, identity = _open_once(name)
        scores = _encode(encoder, identity, texts, keep) @ encoder.encode([draft.question], "question")[0]
    yield Pool(question=draft.id, passages=tuple(passages[place] for place in best(scores, build.recipe.ranking.top)))


def _encode(encoder: Encoder, identity: str, texts: Sequence[str], keep: PageCache) -> Matrix:
    """Return the vectors of passages; vectors are stored, because several questions may find the same page."""
    keys = [hashlib.sha256(f"{identity}\0{text}".encode()).hexdigest() for text in texts]
    stored = {key: keep.find_answer(key) for key in keys}
    missing = {key: text for key, text in zip(keys, texts, strict=True) if stored[key] is None}
    if missing:
        vectors = encoder.encode(list(missing.values()), "passage").astype(np.float32)
        for key, vector in zip(missing, vectors, strict=True):
            stored[key] = vector.tobytes()
            keep.keep_answer(key, stored[key] or b"")
    return np.stack([np.frombuffer(stored[key] or b"", np.float32) for key in keys])


@lru_cache(maxsize=2)  # one encoder for each language
def _open_once(name: str) -> tuple[Encoder, str]:
    """Load an encoder once, and keep it loaded; also return its identity, which is slow to find."""
    encoder = open_encoder(name)
    return encoder, encoder.identity()
