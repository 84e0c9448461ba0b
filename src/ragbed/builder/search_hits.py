"""Search the web for each question."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

import msgspec

from ragbed.builder.build_context import Build, hash_file, reject
from ragbed.builder.passages import MAX_TOKENS, SPLITTER_VERSION, split_article
from ragbed.builder.ranking import open_once
from ragbed.builder.records import Draft, Probe
from ragbed.builder.search import Query, SearchContext, SearchEngine, SearchFailed, open_engine
from ragbed.builder.web.ordered_tasks import drain
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.base import Encoder, Matrix, Role
from ragbed.retrieval.local_index import VERSION, IndexedPassage, LocalIndex
from ragbed.schema import Article, Hit, Reject

STEP = "hits"
# The key or URL is invalid, or the engine is unreachable, so every other search would fail too.
_FATAL = frozenset({"auth", "connect", "protocol"})
_MAX_FATAL = 3  # number of consecutive fatal search failures after which the build stops


def make_hits(build: Build) -> Iterator[Hit | Reject]:
    """Yield the search results for each question that passed the probes."""
    passed = {probe.question for probe in build.read("probes", Probe)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    with ExitStack() as stack:
        yield from drain(_search_all(build, _open(build, stack), drafts))


def check_engine(build: Build) -> None:
    """Open the search engine if the build has no results yet, to report a missing key before the first step."""
    if build.recipe.search.engine != "local" and not build.file_of(STEP).exists():
        with ExitStack() as stack:
            _open(build, stack)


async def _search_all(build: Build, engine: SearchEngine, drafts: list[Draft]) -> AsyncGenerator[Hit | Reject, None]:
    search, fatal = build.recipe.search, 0
    limits = Query(
        text="",
        lang="en",
        after=search.after,
        before=search.before,
        include=search.include,
        exclude=search.exclude,
        count=search.hits,
    )
    for draft in build.shown(STEP, drafts):
        try:
            hits = await engine.search(msgspec.structs.replace(limits, text=draft.question, lang=draft.lang))
        except SearchFailed as failed:
            fatal = fatal + 1 if failed.outcome in _FATAL else 0
            if fatal >= min(_MAX_FATAL, len(drafts)):
                times = f"{failed.outcome}, {fatal} searches in a row"
                raise RagbedError(f"Searching with {engine.name} failed: {failed.reason} ({times}).") from failed
            yield reject(STEP, draft.question, failed.outcome, failed.reason)
            continue
        fatal = 0
        if not hits:
            yield reject(STEP, draft.question, "no-hits", f"{engine.name} returned no results")
        for hit in hits:
            yield msgspec.structs.replace(hit, question=draft.id)


def _open(build: Build, stack: ExitStack) -> SearchEngine:
    search = build.recipe.search
    keep = stack.enter_context(PageCache(build.kept / "pages.db"))
    index = stack.enter_context(_index(build)) if search.engine == "local" else None
    setting = SearchContext(keep, build.today, build.outside.environ, search.quota, index)
    return open_engine(search.engine, setting)


def _index(build: Build) -> LocalIndex:
    """Build the lexical and semantic indexes of the build's articles.

    The file name contains a hash of the inputs. An index left by a killed build is completed, and others are deleted.
    """
    name = build.recipe.search.encoder
    encoder = open_once(name) if name else None
    if encoder is not None and not isinstance(encoder, Encoder):
        raise UsageError(
            f"search.encoder {name!r} produces token-level embeddings only; "
            'choose another encoder, or "" for lexical search only.'
        )
    versions = (VERSION, SPLITTER_VERSION, MAX_TOKENS)
    parts = (*map(str, versions), hash_file(build.file_of("articles")), name, encoder.identity() if encoder else "")
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    path = build.kept / f"index-{digest}.db"
    for other in build.kept.glob("index*"):
        if not other.name.startswith(path.name):
            other.unlink()
    index = LocalIndex(path, partial(_encode, encoder) if encoder else None)
    index.add(_indexed_articles(build))
    return index


def _encode(encoder: Encoder, texts: Sequence[str], role: Role) -> Matrix:
    return encoder.encode(texts, role).vectors


def _indexed_articles(build: Build) -> Iterator[IndexedPassage]:
    for number, article in enumerate(build.read("articles", Article)):
        build.watch("index", number, None)
        texts = [chunk.text for chunk in split_article(article)]
        yield IndexedPassage(article.url, article.title, article.lang, texts, article.date)
