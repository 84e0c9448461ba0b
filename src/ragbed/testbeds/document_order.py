"""Our own choice of documents: which come first, and where each stands.

Pools are put in an order that depends on the seed and on what the item says, never on the condition:
a condition only decides how many are taken from the front, so the documents at one noise ratio are
nested in those of the next, and appending items to a dataset changes no older case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import zip_longest

from ragbed.schema import Document, Item, Passage, Stance
from ragbed.text import bears_answer

_GOLDEN, _WHOLE = 618_033_988_749_895, 10**15
"""The golden ratio, in whole numbers so that every machine agrees: its multiples, modulo one, spread evenly."""


def digest(*parts: object) -> bytes:
    """A hash that is the same on every machine and in every process."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        hasher.update(_framed(part))
    return hasher.digest()


def _digests(first: object, seconds: Iterable[object]) -> list[bytes]:
    """The hash of each pair that begins alike."""
    begun, digests = hashlib.blake2b(_framed(first), digest_size=16), []
    for second in seconds:
        hasher = begun.copy()
        hasher.update(_framed(second))
        digests.append(hasher.digest())
    return digests


def _framed(part: object) -> bytes:
    """A part with its length, so that no two lists of parts look alike."""
    encoded = str(part).encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(8, "big") + encoded


@dataclass(frozen=True)
class Ordered:
    """An item whose passages are put in drawing order, by index; each pool when it is first drawn from."""

    item: Item
    key: bytes
    """What the order hangs on: seed, question and answer."""

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """Its passages, as they stand in a case."""
        return as_documents(self.item)

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """For integration one of every sub-question first, then second ones, and so on."""
        return tuple(_one_of_each_part(self.item, self._ordered("supports")))

    @cached_property
    def distracts(self) -> tuple[int, ...]:
        """What does not bear an answer."""
        return tuple(self._ordered("distracts"))

    @cached_property
    def contradicts(self) -> tuple[int, ...]:
        """What bears the false answer."""
        return tuple(self._ordered("contradicts"))

    def _ordered(self, stance: Stance) -> list[int]:
        pool = [index for index, passage in enumerate(self.item.passages) if passage.stance == stance]
        drawn = sorted(zip(_digests(self.key, [_mark(self.item, index) for index in pool]), pool, strict=True))
        return _doubtful_last(self.item, [index for _, index in drawn])


def order_item(item: Item, seed: int) -> Ordered:
    """Puts an item's pools in drawing order."""
    return Ordered(item, digest(seed, item.question, item.answer))


def _mark(item: Item, index: int) -> str | int:
    """What a passage is known by: its words; if it was generated its place, for twins have other words there."""
    passage = item.passages[index]
    return passage.text if passage.dials is None else index


def as_documents(item: Item) -> tuple[Document, ...]:
    """All passages of an item as documents of a case."""
    return tuple(
        Document(text=passage.text, stance=passage.stance, kind=passage.kind, source=index)
        for index, passage in enumerate(item.passages)
    )


def slot_of(rank: int, turn: int, docs: int) -> int:
    """Where the document of a rank stands at a turn: a cyclic Latin square.

    Over the turns 0 … docs − 1 every rank visits every slot exactly once.
    """
    return (turn + _spread(docs)[rank]) % docs


class PositionTurns:
    """Gives every item a turn, so that documents stand in every slot equally often.

    Where all items can supply all mixes, the turn is (ordinal + hash of the seed) mod K, and the balance is exact.
    Where some cannot, an item gets the turn that was used least so far in the mixes that it can supply: no choice
    that depends neither on the ratio nor on items to come can do better than nearly.
    """

    def __init__(self, seed: int) -> None:
        self._start = int.from_bytes(digest("slot", seed), "big")
        self._used: dict[tuple[str, int], list[list[int]]] = {}

    def take(self, lang: str, docs: int, mixes: range) -> int:
        """The turn of the next item.

        Args:
            lang: Its language; each is balanced by itself.
            docs: How many documents it is asked with.
            mixes: How many of them may distract, given what the item has.
        """
        used = self._used.get((lang, docs))
        if used is None:
            used = self._used[lang, docs] = [[0] * docs for _ in range(docs + 1)]
        rows = [used[distracting] for distracting in mixes]
        times = [sum(column) for column in zip(*rows, strict=True)] or [0] * docs
        best = min(((self._start + step) % docs for step in range(docs)), key=times.__getitem__)
        for row in rows:
            row[best] += 1
        return best


@cache
def _spread(docs: int) -> tuple[int, ...]:
    """The slots in an order that keeps neighbours in rank apart: 0, 3, 1, 4, 2 for five."""
    slots: dict[int, None] = {}
    step = 0
    while len(slots) < docs:
        slots.setdefault(step * _GOLDEN % _WHOLE * docs // _WHOLE)
        step += 1
    return tuple(slots)


def _doubtful_last(item: Item, pool: Sequence[int]) -> list[int]:
    """What stands in the pool twice, or under a label that its text belies, is drawn only when nothing else is left."""
    seen: set[str] = set()
    good: list[int] = []
    doubtful: list[int] = []
    for index in pool:
        passage = item.passages[index]
        (doubtful if passage.text in seen or _is_belied(item, passage) else good).append(index)
        seen.add(passage.text)
    return good + doubtful


def _is_belied(item: Item, passage: Passage) -> bool:
    """Whether a supporting passage lacks the answer, or another holds it."""
    if passage.stance != "supports":
        return bears_answer(passage.text, item.answer, item.lang)
    slots = item.answer if passage.part is None else (tuple(alias for aliases in item.answer for alias in aliases),)
    return not bears_answer(passage.text, slots, item.lang)


def _one_of_each_part(item: Item, pool: Iterable[int]) -> list[int]:
    parts: dict[int, list[int]] = {}
    for index in pool:
        parts.setdefault(item.passages[index].part or 0, []).append(index)
    rounds = zip_longest(*(parts[part] for part in sorted(parts)))
    return [index for together in rounds for index in together if index is not None]
