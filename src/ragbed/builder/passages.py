"""Split articles into passages of similar length that contain whole sentences and at most 300 tokens, as in the paper.

`semchunk` is not used because it ignores the Chinese full stop and splits Chinese sentences at arbitrary positions.

The title and the headings of its section are repeated at the start of every passage, because a passage without them
often does not say which organisation, person or case it is about.

Tokens are counted without a model: each Han, kana or Hangul character, digit or punctuation mark counts as 1, and a
word counts as 1 for every five letters. Language models' tokenizers usually give fewer (docs/reference/build.md).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from ragbed.schema import Article
from ragbed.text import split_sentences

MAX_TOKENS = 300  # maximum length of a passage in tokens, as in the paper (section "Data construction")
_CLAUSE_ENDS = "，、；：,;:—"
_ONE_EACH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
HEADING = re.compile(r"^[ \t]*(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_MIN_SECTION = 25  # minimum number of tokens in a section; a shorter one is joined with the next
_MAX_HEADER = 0.5  # maximum share of a passage's tokens that the title and the headings may take
_TOKEN = re.compile(rf"[{_ONE_EACH}]|[^\W\d_{_ONE_EACH}]{{1,5}}|\d|[^\s\w]|_")


class _Piece(NamedTuple):
    """A span of a text: a sentence, part of a long sentence, or several sentences."""

    start: int
    end: int
    tokens: int


class Chunk(NamedTuple):
    """A passage of an article: its character offsets in the article's text, and the text with title and headings."""

    start: int
    end: int
    text: str


def count_tokens(text: str) -> int:
    """Return the number of tokens in a text."""
    return len(_TOKEN.findall(text))


class ArticleSection(NamedTuple):
    """A part of an article with the same headings.

    Attributes:
        header: The article's title and the section's headings, one per line.
        start, end: Character offsets of the section's text, without the headings, in the article's text.
    """

    header: str
    start: int
    end: int


def split_sections(article: Article) -> list[ArticleSection]:
    """Return the sections of an article; an article without Markdown headings has one section."""
    text, title = article.text, article.title.strip()
    sections: list[ArticleSection] = []
    path: dict[int, str] = {}  # headings by level
    header, start = title, 0
    for heading in [*HEADING.finditer(text), None]:
        end = len(text) if heading is None else heading.start()
        is_last = heading is None and not sections
        if text[start:end].strip() and (is_last or heading is None or count_tokens(text[start:end]) >= _MIN_SECTION):
            sections.append(ArticleSection(header, start, end))
        elif text[start:end].strip():
            continue  # a short section: its text and the next heading stay together
        if heading is not None:
            level = len(heading[1])
            path = {depth: name for depth, name in path.items() if depth < level} | {level: heading[2].strip()}
            header = "\n".join(dict.fromkeys(filter(None, (title, *path.values()))))
            start = heading.end()
    return sections


def split_article(article: Article, most: int = MAX_TOKENS) -> Iterator[Chunk]:
    """Yield an article's passages in order: the title and headings, and then `article.text[start:end]`."""
    for section in split_sections(article):
        yield from _split_section(article, section, most)


def _split_section(article: Article, section: ArticleSection, most: int) -> Iterator[Chunk]:
    text = article.text[section.start : section.end]
    header = section.header if count_tokens(section.header) <= _MAX_HEADER * most else ""
    if text.lstrip().startswith(header):
        header = ""  # the text repeats its title
    most -= count_tokens(header)
    pieces = [
        _Piece(piece.start + section.start, piece.end + section.start, piece.tokens)
        for start, end in split_sentences(text)
        for piece in _split_sentence(text, start, end, most)
    ]
    total = sum(piece.tokens for piece in pieces)
    wanted = total / max(1, ceil(total / most))  # use as few passages as possible, all of similar length
    start = end = size = 0
    for piece in pieces:
        if size and (size + piece.tokens > most or size + piece.tokens / 2 > wanted):
            yield _chunk(article, header, _Piece(start, end, size))
            size = 0
        if not size:
            start = piece.start
        end, size = piece.end, size + piece.tokens
    if size:
        yield _chunk(article, header, _Piece(start, end, size))


def _chunk(article: Article, header: str, piece: _Piece) -> Chunk:
    raw = article.text[piece.start : piece.end]
    start, body = piece.start + len(raw) - len(raw.lstrip()), raw.strip()
    return Chunk(start, start + len(body), f"{header}\n{body}" if header else body)


def _split_sentence(text: str, start: int, end: int, most: int) -> Iterator[_Piece]:
    """Yield a sentence whole if it fits; otherwise, split it after clauses, at spaces or, failing that, anywhere."""
    if end - start <= most:  # a token has at least one character
        yield _Piece(start, end, count_tokens(text[start:end]))
        return
    ends = [start + token.end() for token in _TOKEN.finditer(text[start:end])]
    done = 0
    while len(ends) - done > most:
        cut = _last_break(text, start, ends[done + most - 1])
        upto = bisect_right(ends, cut)
        yield _Piece(start, cut, upto - done)
        start, done = cut, upto
    yield _Piece(start, end, len(ends) - done)


def _last_break(text: str, start: int, limit: int) -> int:
    """Return the best split position in the second half of the text between a start and a limit."""
    half = (start + limit) // 2
    for breaks in (_CLAUSE_ENDS, " \t\n"):
        at = max(text.rfind(mark, half, limit) for mark in breaks)
        if at >= half:
            return at + 1
    return limit
