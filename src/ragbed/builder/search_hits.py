"""Search the web for each question."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack

import msgspec

from ragbed.builder.build_context import Build, hash_file, reject
from ragbed.builder.encoding import open_once
from ragbed.builder.fetching import drain
from ragbed.builder.passages import CUTTER, MAX_TOKENS, cut_passages
from ragbed.builder.records import Draft, Probe
from ragbed.builder.search import Query, SearchContext, SearchEngine, SearchFailed, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.base import Encoder, Matrix, Role
from ragbed.retrieval.local_index import VERSION, Encode, IndexedPassage, LocalIndex
from ragbed.schema import Article, Hit, Reject

STEP = "hits"
_HOPELESS = frozenset({"auth", "connect", "protocol"})
"""Failures that no other question will escape: a wrong key or address, an engine that is not there."""
_GIVE_UP = 3
"""Of these in a row: each was tried several times by then, and nobody wants nine hundred questions to end so."""


def make_hits(build: Build) -> Iterator[Hit | Reject]:
    """The step: one search for each question that passed the gate."""
    passed = {probe.question for probe in build.read("probes", Probe)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in passed]
    with ExitStack() as stack:
        engine = _open(build, stack, {draft.id: draft.question for draft in drafts})
        yield from drain(_search_all(build, engine, drafts))


def mark_recorded(build: Build) -> str | None:
    """Which file of recorded hits it is, by its content."""
    return hash_file(build.recorded) if build.recorded is not None and build.recorded.is_file() else None


def check_engine(build: Build) -> None:
    """Opens the engine of a build that has not searched yet: a missing key or file is told before the first step."""
    if build.recipe.search.engine != "local" and not build.file_of(STEP).exists():
        with ExitStack() as stack:
            _open(build, stack, {})


async def _search_all(build: Build, engine: SearchEngine, drafts: list[Draft]) -> AsyncGenerator[Hit | Reject, None]:
    told = build.recipe.search
    hope = _Hope(engine.name, min(_GIVE_UP, len(drafts)))
    for draft in build.shown(STEP, drafts):
        query = Query(
            text=draft.question,
            lang=draft.lang,
            after=told.after,
            before=told.before,
            include=told.include,
            exclude=told.exclude,
            count=told.hits,
        )
        try:
            hits = await engine.search(query)
        except SearchFailed as failed:
            hope.learn(failed)
            yield reject(STEP, draft.question, failed.outcome, failed.reason)
            continue
        hope.learn(None)
        if not hits:
            yield reject(STEP, draft.question, "no-hits", f"{engine.name} finds nothing for it")
        for hit in hits:
            yield msgspec.structs.replace(hit, question=draft.id)


class _Hope:
    """Whether it makes sense to go on asking an engine.

    Args:
        engine: Its name.
        most: Questions in a row that may fail so that no other would do better.
    """

    def __init__(self, engine: str, most: int) -> None:
        self._engine, self._most, self._in_a_row = engine, most, 0

    def learn(self, failed: SearchFailed | None) -> None:
        """Takes in how a search ended.

        Raises:
            RagbedError: No further question should be asked.
        """
        self._in_a_row = self._in_a_row + 1 if failed and failed.outcome in _HOPELESS else 0
        if failed and self._in_a_row >= self._most:
            how = f"{failed.outcome}, questions in a row: {self._in_a_row}"
            raise RagbedError(f"{self._engine} cannot be asked: {failed.reason} ({how}).")


def _open(build: Build, stack: ExitStack, questions: Mapping[str, str]) -> SearchEngine:
    told = build.recipe.search
    keep = stack.enter_context(PageCache(build.kept / "pages.db"))
    index = stack.enter_context(_index(build)) if told.engine == "local" else None
    # A locked build may make no call: what was asked before is answered from what is kept.
    quota = 0 if build.outside.locked else told.quota
    setting = SearchContext(keep, build.today, build.outside.environ, quota, index, build.recorded, questions)
    return open_engine(told.engine, setting)


def _index(build: Build) -> LocalIndex:
    """The articles of this build, findable by words and by meaning.

    It is named after what it is made from: one that a killed build left is gone on with, and any other goes.
    """
    name = build.recipe.search.encoder
    encoder = open_once(name) if name else None
    if encoder is not None and not isinstance(encoder, Encoder):
        raise UsageError(f'search.encoder {name!r} makes no vectors of whole passages; name another, or none: "".')
    made = (VERSION, CUTTER, MAX_TOKENS)  # by another ragbed of the same articles: another index
    parts = (*map(str, made), hash_file(build.file_of("articles")), name, encoder.identity() if encoder else "")
    mark = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    path = build.kept / f"index-{mark}.db"
    for other in build.kept.glob("index*"):
        if not other.name.startswith(path.name):
            other.unlink()
    index = LocalIndex(path, _encode_with(encoder) if encoder else None)
    index.add(
        IndexedPassage(one.url, one.title, one.lang, [chunk.text for chunk in cut_passages(one)], one.date)
        for one in _watched(build, build.read("articles", Article))
    )
    return index


def _encode_with(encoder: Encoder) -> Encode:
    def encode(texts: Sequence[str], role: Role) -> Matrix:
        return encoder.encode(texts, role).vectors

    return encode


def _watched(build: Build, articles: Iterable[Article]) -> Iterator[Article]:
    for number, article in enumerate(articles):
        build.watch("index", number, None)
        yield article
