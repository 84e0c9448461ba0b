"""Split articles into passages: whole sentences, at most 300 tokens as in the paper, of similar length.

`semchunk` is not used because it ignores the Chinese full stop and cuts Chinese sentences anywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from math import ceil
from typing import NamedTuple

from ragbed.builder.build_context import Build
from ragbed.builder.records import FetchedPage
from ragbed.builder.tokens import token_ends
from ragbed.schema import Article, Chunk
from ragbed.text import split_sentences

MAX_TOKENS = 300
"""The length in the paper (Data construction)."""
CUTTER = 1
"""Raised when the same article is cut otherwise: what is kept of passages is made again."""
_ARTICLES = 32
"""Cut as one job."""
_CLAUSE_ENDS = "，、；：,;:—"


class _Piece(NamedTuple):
    """A stretch of the text: a sentence, a part of one that is too long, or several."""

    start: int
    end: int
    tokens: int


def make_passages(build: Build) -> Iterator[Chunk]:
    """The step: the passages of every page, a page that came by two addresses once."""
    articles, most = _once(build), build.recipe.ranking.tokens
    jobs = ((some, most) for some in iter(lambda: list(islice(articles, _ARTICLES)), []))
    for chunks in build.engine.spread(_cut_all, jobs):
        yield from chunks


def _once(build: Build) -> Iterator[Article]:
    done: set[str] = set()
    for number, brought in enumerate(build.read("pages", FetchedPage)):
        build.watch("passages", number, None)
        if brought.article.id not in done:
            done.add(brought.article.id)
            yield brought.article


def _cut_all(job: tuple[list[Article], int]) -> list[Chunk]:
    articles, most = job
    return [chunk for article in articles for chunk in cut_passages(article, most)]


def cut_passages(article: Article, most: int = MAX_TOKENS) -> Iterator[Chunk]:
    """The passages of an article, in order; `article.text[start:end]` is the text of each."""
    text = article.text
    pieces = [piece for start, end in split_sentences(text) for piece in _fit(text, start, end, most)]
    total = sum(piece.tokens for piece in pieces)
    wanted = total / max(1, ceil(total / most))  # as few passages as can be, and then all alike: no scraps at the end
    start = end = size = 0
    for piece in pieces:
        if size and (size + piece.tokens > most or size + piece.tokens / 2 > wanted):
            yield _chunk(article, _Piece(start, end, size))
            start, size = piece.start, 0
        end, size = piece.end, size + piece.tokens
    if size:
        yield _chunk(article, _Piece(start, end, size))


def _chunk(article: Article, piece: _Piece) -> Chunk:
    raw = article.text[piece.start : piece.end]
    start, text = piece.start + len(raw) - len(raw.lstrip()), raw.strip()
    return Chunk(article=article.id, start=start, end=start + len(text), text=text, tokens=piece.tokens)


def _fit(text: str, start: int, end: int, most: int) -> Iterator[_Piece]:
    """A sentence, whole if it fits, else in parts that end at clauses, at spaces, or anywhere."""
    ends = [start + end for end in token_ends(text[start:end])]
    done = 0
    while len(ends) - done > most:
        cut = _last_break(text, start, ends[done + most - 1])
        upto = bisect_right(ends, cut)
        yield _Piece(start, cut, upto - done)
        start, done = cut, upto
    yield _Piece(start, end, len(ends) - done)


def _last_break(text: str, start: int, room: int) -> int:
    """The best place to cut in the second half of what fits."""
    half = (start + room) // 2
    for breaks in (_CLAUSE_ENDS, " \t\n"):
        at = max(text.rfind(mark, half, room) for mark in breaks)
        if at >= half:
            return at + 1
    return room
