"""Encode passages on an engine's workers, and rank them for each question, with search snippets last."""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Iterator, Set
from functools import lru_cache, partial
from typing import Any

import msgspec
import numpy as np

from ragbed.builder.build_context import Build, RecordIndex, hash_file, reject
from ragbed.builder.fetching import closing_worker, drain
from ragbed.builder.recipe import encoder_of
from ragbed.builder.records import Candidate, Draft, FetchedPage, Ranked
from ragbed.builder.web.ordered_tasks import in_order
from ragbed.errors import UsageError
from ragbed.retrieval import open_encoder
from ragbed.retrieval.base import Encoder, Matrix, TokenEncoder
from ragbed.retrieval.ranking import best, rank
from ragbed.runs.engines import Engine
from ragbed.schema import Article, Chunk, Hit, Reject

STEP = "ranking"
_BATCH = 256  # number of passages to encode and store at a time


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
            for draft in build.shown(STEP, own):
                yield from _rank(build, draft, [(hit, pages.get(hit.url)) for hit in hits[draft.id]], passages)


def _rank(
    build: Build, draft: Draft, found: list[tuple[Hit, Article | None]], passages: _Passages
) -> Iterator[Ranked | Reject]:
    own = {page.id: page for _, page in found if page is not None and page.lang == draft.lang}
    for _, page in found:
        if page is not None and page.lang != draft.lang:
            yield reject(
                STEP,
                page.url,
                "language",
                f"the page's language is {page.lang}, but {draft.question!r} is in {draft.lang}",
            )
    if not own:
        yield reject(STEP, draft.question, "no-pages", "none of the search results could be fetched and read")
        return
    nearest = [_candidate(own[chunk.article], chunk, near) for chunk, near in passages.nearest(draft, own)]
    snippets = [_snippet(hit, page) for hit, page in found if hit.snippet.strip()]
    # The local search engine copies its snippets from the passages, so adding them would create duplicates.
    extra = [] if build.recipe.search.engine == "local" else snippets
    yield Ranked(question=draft.id, candidates=(*nearest, *extra))


@lru_cache(maxsize=3)  # one encoder for each language, and one for search
def open_once(name: str) -> Encoder | TokenEncoder:
    """Load the encoder with the given name once, and keep it loaded."""
    return open_encoder(name)


class _EncodingWorker:
    room = 2  # the worker encodes one batch while another waits in its queue

    def __init__(self, name: str, cores: int) -> None:  # noqa: ARG002 - the libraries choose the number of threads
        encoder = open_once(name)
        if not isinstance(encoder, Encoder):
            raise UsageError(f"{name} produces token-level embeddings only; choose a passage encoder.")
        self._encoder = encoder

    async def begin(self) -> str:
        return self._encoder.identity()  # all workers must use the same encoder

    async def do(self, texts: list[str]) -> bytes:
        return self._encoder.encode(texts, "passage").vectors.astype(np.float32).tobytes()

    async def close(self) -> None:
        """Do nothing, because the encoder stays loaded for the next step."""


async def encode_all(engine: Engine, name: str, batches: Iterator[list[str]]) -> AsyncGenerator[bytes, None]:
    """Yield the vectors for batches of texts, in order."""

    async def tasks() -> AsyncIterator[Coroutine[Any, Any, bytes]]:
        for texts in batches:
            yield worker.do(texts)

    async with closing_worker(engine.staff(partial(_EncodingWorker, name))) as worker:
        async for rows in in_order(tasks(), engine.workers + 1):
            yield rows


class _Passages(RecordIndex[Chunk]):
    """The passages of selected articles, with their vectors; both are stored on disk to limit memory use."""

    def __init__(self, build: Build, encoder: Encoder | TokenEncoder, articles: Set[str]) -> None:
        self._top, self._encoder = build.recipe.ranking.top, encoder
        super().__init__(build, "passages", Chunk)
        self._offsets = array("Q")
        self._places: dict[str, array[int]] = defaultdict(lambda: array("Q"))
        for offset, chunk in self.scan():
            if chunk.article in articles:
                self._places[chunk.article].append(len(self._offsets))
                self._offsets.append(offset)
        self._vectors = self._encode(build, self._encoder) if isinstance(self._encoder, Encoder) else None

    def nearest(self, draft: Draft, articles: Iterable[str]) -> list[tuple[Chunk, float]]:
        places = [place for article in articles for place in self._places.get(article, ())]
        if self._vectors is None or not isinstance(self._encoder, Encoder):
            found = rank(draft.question, [self._chunk(place).text for place in places], self._encoder, self._top)
            return [(self._chunk(places[at]), near) for at, near in zip(found.places, found.scores, strict=True)]
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
            starts = range(done, count, _BATCH)
            batches = ([self._chunk(place).text for place in range(start, min(start + _BATCH, count))]
                       for start in starts)  # fmt: skip
            for start, rows in zip(starts, drain(encode_all(build.engine, encoder.name, batches)), strict=True):
                build.watch(STEP, start, count)
                sink.write(rows)
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
