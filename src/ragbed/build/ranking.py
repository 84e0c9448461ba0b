"""Questions × passages → the passages nearest to each question (R17), and its snippets (R18)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import batched

import numpy as np

from ragbed.build.place import Build, reject
from ragbed.build.records import Brought, Candidate, Draft, Ranked
from ragbed.encoders import open_encoder
from ragbed.encoders.base import Encoder, Matrix, TokenEncoder
from ragbed.encoders.ranking import best, rank
from ragbed.schema import Article, Chunk, Hit, Reject

STEP = "ranking"
_BATCH = 256
"""Passages encoded at a time, and kept before the next."""


def make_ranking(build: Build) -> Iterator[Ranked | Reject]:
    """The step: for each question the passages of its own pages, the nearest first, then its snippets."""
    hits: dict[str, list[Hit]] = defaultdict(list)
    for hit in build.read("hits", Hit):
        hits[hit.question].append(hit)
    pages = {one.hit: one.article for one in build.read("pages", Brought)}
    shelf = _Shelf(build)
    drafts = [draft for draft in build.read("questions", Draft) if draft.id in hits]
    for draft in build.shown(STEP, drafts):
        own = {pages[hit.url].id: pages[hit.url] for hit in hits[draft.id] if hit.url in pages}
        if not own:
            yield reject(STEP, draft.question, "no-pages", "none of the pages that were found could be had")
            continue
        nearest = [_candidate(own[chunk.article], chunk, near) for chunk, near in shelf.nearest(draft.question, own)]
        snippets = [_snippet(hit, pages.get(hit.url)) for hit in hits[draft.id] if hit.snippet.strip()]
        # An index of one's own cuts its snippets from the very passages: they would be the same text twice.
        extra = [] if build.recipe.search.engine == "local" else snippets
        yield Ranked(question=draft.id, candidates=(*nearest, *extra))


class _Shelf:
    """All passages, by article, and their vectors, which are kept on the disk."""

    def __init__(self, build: Build) -> None:
        self._top = build.recipe.ranking.top
        self._chunks = list(build.read("passages", Chunk))
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, chunk in enumerate(self._chunks):
            self._places[chunk.article].append(place)
        self._encoder = open_encoder(build.recipe.ranking.encoder)
        self._vectors = self._encode(build) if isinstance(self._encoder, Encoder) else None

    def nearest(self, question: str, articles: Sequence[str] | dict[str, Article]) -> list[tuple[Chunk, float]]:
        """The passages of some articles that are nearest to a question, with their scores."""
        places = [place for article in articles for place in self._places[article]]
        if isinstance(self._encoder, TokenEncoder) or self._vectors is None:
            found = rank(question, [self._chunks[place].text for place in places], self._encoder, self._top)
            return [(self._chunks[places[at]], near) for at, near in zip(found.places, found.scores, strict=True)]
        scores: Matrix = self._vectors[places] @ self._encoder.encode([question], "question").vectors[0]
        return [(self._chunks[places[at]], float(scores[at])) for at in best(scores, self._top)]

    def _encode(self, build: Build) -> Matrix:
        """The vectors of all passages, one after the other in a file that a killed build goes on with."""
        encoder = self._encoder
        assert isinstance(encoder, Encoder)  # noqa: S101 - the caller looked
        width = encoder.encode(["?"], "passage").vectors.shape[1]
        path = build.kept / f"vectors-{_mark(build, encoder)}.f32"
        row_bytes = 4 * width
        done = path.stat().st_size // row_bytes if path.exists() else 0
        with open(path, "ab") as sink:
            sink.truncate(done * row_bytes)  # half a row of a killed build goes
            for batch in batched(range(done, len(self._chunks)), _BATCH):
                build.watch(STEP, batch[0], len(self._chunks))
                texts = [self._chunks[place].text for place in batch]
                sink.write(encoder.encode(texts, "passage").vectors.astype(np.float32).tobytes())
        if not self._chunks:
            return np.zeros((0, width), np.float32)
        return np.memmap(path, np.float32, "r", shape=(len(self._chunks), width))


def _mark(build: Build, encoder: Encoder) -> str:
    """What the vectors hang on: the passages and the encoder."""
    with open(build.file_of("passages"), "rb") as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    return hashlib.sha256(f"{digest}\0{encoder.name}\0{encoder.identity()}".encode()).hexdigest()[:12]


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
    return Candidate(
        text=hit.snippet,
        url=hit.url,
        title=hit.title,
        page=None if article is None else article.id,
        date=hit.date or (None if article is None else article.date),
        licence=None if article is None else article.licence,
        is_snippet=True,
    )
