"""Text prepared for matching: normalised and split into sentences."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache
from typing import NamedTuple

from ragbed.schema import Lang
from ragbed.scoring.robust.gold import Gold, GoldSlot
from ragbed.scoring.robust.match import FoldedResponse, Mention, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.text import split_sentences

_TOKEN = re.compile(r"[a-z0-9]+(?:['.,-][a-z0-9]+)*|[\u3400-\u9fff]")


class Sentence(NamedTuple):
    """A sentence in a text, with its character positions."""

    number: int
    start: int
    end: int
    text: str
    folded: str


class ParsedText:
    """A normalised document or response."""

    def __init__(self, text: str, lang: Lang) -> None:
        self.text, self.lang = text, lang
        self.folded = fold(text, lang)
        self._reading = FoldedResponse(self.folded)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return all sentences; together they cover the whole text."""
        spans = split_sentences(self.text)
        return [
            Sentence(number, start, end, self.text[start:end], fold(self.text[start:end], self.lang))
            for number, (start, end) in enumerate(spans)
        ]

    @cached_property
    def _origins(self) -> list[int]:
        return origins(self.text, self.lang)

    @cached_property
    def _starts(self) -> list[int]:
        return [sentence.start for sentence in self.sentences]

    def mentions(self, slot: GoldSlot, gold: Gold) -> list[Mention]:
        """Return the mentions of an answer in the normalised text."""
        return find_mentions(slot, gold, self._reading)

    def says(self, slot: GoldSlot, gold: Gold) -> bool:
        """Return whether the text contains the given answer."""
        return bool(self.mentions(slot, gold))

    def place(self, mention: Mention) -> tuple[int, int]:
        """Return the start and end of a mention in the original text."""
        return self._origins[mention.start], self._origins[max(mention.start, mention.end - 1)] + 1

    def sentence_at(self, mention: Mention) -> Sentence:
        """Return the sentence in which a mention starts."""
        return self.sentences[max(0, bisect_right(self._starts, self.place(mention)[0]) - 1)]


@lru_cache(maxsize=8_192)
def open_page(text: str, lang: Lang) -> ParsedText:
    """Return a parsed document. The result is cached, because many conditions and models share documents."""
    return ParsedText(text, lang)


def tokens(folded: str) -> list[str]:
    """Return the words in a normalised text, or the characters if the text is Chinese."""
    return _TOKEN.findall(folded)
