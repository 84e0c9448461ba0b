"""Find, remove and parse citation marks in a response, e.g. `[2]`.

docs/reference/metrics.md lists the accepted forms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ragbed.text import split_sentences

_NUMBER = r"(?:(?:documents?|docs?|sources?|no\.?|文档|资料|来源|文献)\s*|[#^])?(?:\d{1,9}|第\s*\d{1,9}\s*[篇份号])"
_TO = r"[-‐-―−－~～〜至到]"  # half-width and full-width hyphens, dashes and tildes, and the Chinese words for "to"
_NUMBERS = rf"{_NUMBER}(?:\s*(?:{_TO}|[,;，、；]|and|&|和)\s*{_NUMBER})*"
_SQUARE = rf"\s?[\[［【〔]\s*({_NUMBERS})\s*[\]］】〕]"
# Round brackets are also used for enumerations, so they count as citations only at the end of a clause.
_ROUND = rf"(?<=\S)\s?[(（]\s*({_NUMBERS})\s*[)）](?=\s*(?:[.,;:!?。，；：！？(（]|$))"
_RANGE = rf"(\d+)(?:\s*[篇份号]?\s*{_TO}\s*\D{{0,12}}?(\d+))?"
_WORD = re.compile(r"\w")
_MAX_RANGE = 200  # maximum number of documents in a range such as [1-5]; only the ends of a longer range count


class CitedSentence(NamedTuple):
    """A sentence without its citation marks, and the numbers of the documents that it cites, counted from 1."""

    text: str
    numbers: tuple[int, ...]


def strip_citations(reply: str) -> str:
    """Remove the citation marks from a response, so that their numbers are not mistaken for answers."""
    return _marks(reply).sub("", reply).strip()


def parse_citations(reply: str) -> list[CitedSentence]:
    """Split a response into sentences with their citations.

    A citation mark after a full stop belongs to the sentence before it.
    """
    marks = _marks(reply)
    # Move citation marks from after a full stop to before it, so that the sentence splitter assigns them correctly.
    moved = re.sub(rf"([.!?。！？…]+)((?:{marks.pattern})+)", r"\2\1", reply, flags=marks.flags)
    found = []
    for start, end in split_sentences(moved):
        sentence = moved[start:end]
        text = marks.sub("", sentence).strip()
        if _WORD.search(text):
            numbers = (number for mark in marks.finditer(sentence) for number in _numbers_in(mark[1]))
            found.append(CitedSentence(text, tuple(numbers)))
    return found


def _marks(reply: str) -> re.Pattern[str]:
    """Return the pattern for a response's citation marks: square brackets or, if there are none, round brackets."""
    square = _compiled(_SQUARE)
    return square if square.search(reply) else _compiled(_ROUND)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because few runs request citations."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _numbers_in(mark: str) -> Iterator[int]:
    for found in _compiled(_RANGE).finditer(unicodedata.normalize("NFKC", mark)):
        first, last = int(found[1]), int(found[2] or found[1])
        yield from range(first, last + 1) if 0 <= last - first < _MAX_RANGE else (first, last)
