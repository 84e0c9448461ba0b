"""Search documents for each question, and rank their passages, with search snippets last."""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Set
from contextlib import ExitStack
from functools import lru_cache

import msgspec
import numpy as np

from ragbed.builder.build_context import (
    Build,
    Candidate,
    Draft,
    FetchedPage,
    Probe,
    Ranked,
    RecordIndex,
    hash_file,
    reject,
)
from ragbed.builder.passages import split_article
from ragbed.builder.recipe import encoder_of
from ragbed.builder.search import Query, SearchContext, SearchEngine, SearchFailed, open_engine
from ragbed.builder.web.ordered_tasks import drain
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder, Matrix, best
from ragbed.schema import Article, Chunk, Hit, Reject

HITS_STEP = "hits"
# The key or URL is invalid, or the engine is unreachable, so every other search would fail too.
_FATAL = frozenset({"auth", "connect", "protocol"})
_MAX_FATAL = 3  # number of consecutive fatal search failures after which the build stops
RANKING_STEP = "ranking"
_BATCH = 256  # number of passages to encode and store at a time


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
    search = build.recipe.search
    keep = stack.enter_context(PageCache(build.kept / "pages.db"))
    setting = SearchContext(keep, build.today, build.outside.environ, lambda: _articles(build))
    return open_engine(search.engine, setting)


def _articles(build: Build) -> Iterator[tuple[Article, list[str]]]:
    for number, article in enumerate(build.read("articles", Article)):
        build.watch("index", number, None)
        yield article, [chunk.text for chunk in split_article(article)]


def make_ranking(build: Build) -> Iterator[Ranked | Reject]:
    """Yield, for each question, the passages from its pages (nearest first) and then its search snippets."""
    hits: dict[str, list[Hit]] = defaultdict(list)
    for hit in build.read("hits", Hit):
        hits[hit.question].append(hit)
    # Drop the page texts so that a hundred thousand pages fit into memory. The passages contain the same text.
    pages = {page.hit: msgspec.structs.replace(page.article, text="") for page in build.read("pages", FetchedPage)}
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in hits]
    for lang in build.recipe.langs:
        own = [draft for draft in drafts if draft.lang == lang]
        readable = {page.id for page in pages.values() if page.lang == lang}
        with _Passages(build, open_once(encoder_of(build.recipe, lang)), readable) as passages:
            for draft in build.shown(RANKING_STEP, own):
                yield from _rank(build, draft, [(hit, pages.get(hit.url)) for hit in hits[draft.id]], passages)


def _rank(
    build: Build, draft: Draft, found: list[tuple[Hit, Article | None]], passages: _Passages
) -> Iterator[Ranked | Reject]:
    own = {page.id: page for _, page in found if page is not None and page.lang == draft.lang}
    for _, page in found:
        if page is not None and page.lang != draft.lang:
            yield reject(
                RANKING_STEP,
                page.url,
                "language",
                f"the page's language is {page.lang}, but {draft.question!r} is in {draft.lang}",
            )
    if not own:
        yield reject(RANKING_STEP, draft.question, "no-pages", "none of the search results could be fetched and read")
        return
    nearest = [_candidate(own[chunk.article], chunk, near) for chunk, near in passages.nearest(draft, own)]
    snippets = [_snippet(hit, page) for hit, page in found if hit.snippet.strip()]
    # The local search engine copies its snippets from the passages, so adding them would create duplicates.
    extra = [] if build.recipe.search.engine == "local" else snippets
    yield Ranked(question=draft.id, candidates=(*nearest, *extra))


@lru_cache(maxsize=2)  # one encoder for each language
def open_once(name: str) -> Encoder:
    """Load the encoder with the given name once, and keep it loaded."""
    return open_encoder(name)


class _Passages(RecordIndex[Chunk]):
    """The passages of selected articles, with their vectors; both are stored on disk to limit memory use."""

    def __init__(self, build: Build, encoder: Encoder, articles: Set[str]) -> None:
        self._top, self._encoder = build.recipe.ranking.top, encoder
        super().__init__(build, "passages", Chunk)
        self._offsets = array("Q")
        self._places: dict[str, array[int]] = defaultdict(lambda: array("Q"))
        for offset, chunk in self.scan():
            if chunk.article in articles:
                self._places[chunk.article].append(len(self._offsets))
                self._offsets.append(offset)
        self._vectors = self._encode(build, self._encoder)

    def nearest(self, draft: Draft, articles: Iterable[str]) -> list[tuple[Chunk, float]]:
        places = [place for article in articles for place in self._places.get(article, ())]
        scores: Matrix = self._vectors[places] @ self._encoder.encode([draft.question], "question").vectors[0]
        return [(self._chunk(places[at]), float(scores[at])) for at in best(scores, self._top)]

    def _chunk(self, place: int) -> Chunk:
        return self.read(self._offsets[place])

    def _encode(self, build: Build, encoder: Encoder) -> Matrix:
        """Store the vectors of all passages in a file; a resumed build appends the missing vectors."""
        width, count = encoder.encode(["?"], "passage").vectors.shape[1], len(self._offsets)
        path = build.kept / f"vectors-{self._mark(build, encoder)}.f32"
        done = path.stat().st_size // (4 * width) if path.exists() else 0
        with open(path, "ab") as sink:
            sink.truncate(done * 4 * width)  # remove the partial row left by a killed build
            for start in range(done, count, _BATCH):
                texts = [self._chunk(place).text for place in range(start, min(start + _BATCH, count))]
                sink.write(encoder.encode(texts, "passage").vectors.astype(np.float32).tobytes())
                build.watch(RANKING_STEP, start + len(texts), count)
        return np.memmap(path, np.float32, "r", shape=(count, width)) if count else np.zeros((0, width), np.float32)

    def _mark(self, build: Build, encoder: Encoder) -> str:
        """Return a hash of the passages and the encoder, which together determine the vectors."""
        parts = (hash_file(build.file_of("passages")), encoder.name, encoder.identity())
        return hashlib.sha256("\0".join(parts).encode() + self._offsets.tobytes()).hexdigest()[:12]


def _candidate(article: Article, chunk: Chunk, score: float) -> Candidate:
    return Candidate(
        text=chunk.text,
        url=article.url,
        title=article.title,
        page=article.id,
        date=article.date,
        licence=article.licence,
        score=round(score, 4),
    )


def _snippet(hit: Hit, article: Article | None) -> Candidate:
    snippet = Candidate(text=hit.snippet, url=hit.url, title=hit.title, date=hit.date, is_snippet=True)
    if article is None:
        return snippet
    return msgspec.structs.replace(snippet, page=article.id, date=hit.date or article.date, licence=article.licence)
