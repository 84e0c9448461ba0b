"""Determine the order in which documents are drawn, and their positions in the prompt.

The order depends on the seed and the item's content, not on the condition. A condition only determines how many
documents are taken from the front, so the distractors for one noise ratio are a subset of those for the next.
Adding items to a dataset does not change earlier cases.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from itertools import zip_longest

from msgspec import Struct

from ragbed.schema import Document, Item, Stance
from ragbed.text import bears_answer

# The golden ratio as a scaled integer, so that results are identical on all machines. Multiples of the ratio modulo 1
# are evenly spread.
_GOLDEN, _ONE = 618_033_988_749_895, 10**15


def digest(*parts: object) -> bytes:
    """Return a hash of the given values that is the same on every machine and in every process."""
    return _hash_of(b"".join(map(_framed, parts))).digest()


def _hash_of(data: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(data, digest_size=16)


def _framed(part: object) -> bytes:
    """Return a part prefixed with its length, so that different lists of parts produce different bytes."""
    encoded = str(part).encode("utf-8", "surrogatepass")
    return len(encoded).to_bytes(8, "big") + encoded


class Ordered(Struct, frozen=True, dict=True):
    """An item with the order in which its passages are drawn; `key` depends on the seed, question and answer."""

    item: Item
    key: bytes
    _documents: dict[int, Document] = {}

    def documents(self, indexes: Iterable[int]) -> list[Document]:
        """Return passages, given by their indexes, as documents for a case; all cases share the same documents."""
        made = self._documents
        return [made.get(index) or made.setdefault(index, as_document(self.item, index)) for index in indexes]

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """The indexes of the supporting passages; for integration items, they alternate between the sub-questions."""
        drawn = self._ordered("supports")
        parts: dict[int, list[int]] = defaultdict(list)
        for index in drawn:
            parts[self.item.passages[index].part or 0].append(index)
        if len(parts) <= 1:
            return tuple(drawn)
        rounds = zip_longest(*(parts[part] for part in sorted(parts)))
        return tuple(index for together in rounds for index in together if index is not None)

    @cached_property
    def distracts(self) -> tuple[int, ...]:
        """The indexes of the passages that contain no answer."""
        return tuple(self._ordered("distracts"))

    @cached_property
    def contradicts(self) -> tuple[int, ...]:
        """The indexes of the passages that contain the false answer."""
        return tuple(self._ordered("contradicts"))

    def _ordered(self, stance: Stance) -> list[int]:
        keyed = _hash_of(_framed(self.key))
        drawn = []
        for index, passage in enumerate(self.item.passages):
            if passage.stance == stance:
                hashed = keyed.copy()  # faster than hashing the key again
                # Passages of synthetic items are identified by index, because their texts differ within a minimal pair.
                hashed.update(_framed(passage.text if passage.dials is None else index))
                drawn.append((hashed.digest(), index))
        return _doubtful_last(self.item, stance, [index for _, index in sorted(drawn)])


def order_item(item: Item, seed: int) -> Ordered:
    """Return an item with the order in which its passages are drawn."""
    return Ordered(item, digest(seed, item.question, item.answer))


def as_document(item: Item, index: int) -> Document:
    """Return one of an item's passages as a case's document."""
    passage = item.passages[index]
    return Document(
        text=passage.text,
        stance=passage.stance,
        kind=passage.kind,
        source=index,
        part=passage.part,
        states=None if passage.dials is None else str(passage.dials.get("states") or "") or None,
    )


@lru_cache(maxsize=256)
def slots_of(turn: int, docs: int) -> tuple[int, ...]:
    """Return the position that one rotation of a cyclic Latin square assigns to the document of each rank.

    Over the rotations 0 … docs − 1, every rank gets every position exactly once.
    """
    return tuple((turn + step) % docs for step in _spread(docs))


class PositionTurns:
    """Assigns a rotation to each item so that documents appear in every position equally often.

    If all mixes are feasible for all items, the rotation is (ordinal + hash of the seed) mod K, and the balance is
    exact. Otherwise, an item gets the rotation that has been used least so far in its feasible mixes. The balance is
    then only approximate, because the rotation must not depend on the noise ratio or on later items.

    Args:
        seed: The seed, which determines the first rotation.
        is_spread: Whether consecutive items get distant rotations, so that fewer items than documents cover all parts
            of the prompt.
    """

    def __init__(self, seed: int, *, is_spread: bool = False) -> None:
        self._is_spread = is_spread
        self._start = int.from_bytes(digest("slot", seed), "big")
        self._used: dict[tuple[str, int], list[list[int]]] = {}

    def take(self, lang: str, docs: int, mixes: range) -> int:
        """Return the rotation for the next item.

        Args:
            lang: The item's language; each language is balanced separately.
            docs: The number of documents.
            mixes: The possible numbers of distractors among them.
        """
        used = self._used.setdefault((lang, docs), [])
        if not used:
            used += ([0] * docs for _ in range(docs + 2))
        # The last row of `used` is for items that have too few documents and therefore use documents from other
        # questions.
        rows = [used[distracting] for distracting in mixes] or used[-1:]
        times = list(map(sum, zip(*rows, strict=True)))
        first = self._start % docs
        turns = slots_of(first, docs) if self._is_spread else (*range(first, docs), *range(first))
        best = min(turns, key=times.__getitem__)
        for row in rows:
            row[best] += 1
        return best


@cache
def _spread(docs: int) -> tuple[int, ...]:
    """Return the positions in an order that separates adjacent ranks, e.g. 0, 3, 1, 4, 2 for five documents."""
    slots: dict[int, None] = {}
    step = 0
    while len(slots) < docs:
        slots.setdefault(step * _GOLDEN % _ONE * docs // _ONE)
        step += 1
    return tuple(slots)


def _doubtful_last(item: Item, stance: Stance, pool: Iterable[int]) -> list[int]:
    """Move duplicate passages, and passages whose text contradicts their label, to the end.

    A supporting passage must contain the answer or, for an integration item, any part of it; other passages must not.
    """
    is_evidence = stance == "supports"
    any_part = (tuple(alias for aliases in item.answer for alias in aliases),)
    seen: set[str] = set()
    good: list[int] = []
    doubtful: list[int] = []
    for index in pool:
        passage = item.passages[index]
        slots = any_part if is_evidence and passage.part is not None else item.answer
        is_good = passage.text not in seen and bears_answer(passage.text, slots, item.lang) == is_evidence
        (good if is_good else doubtful).append(index)
        seen.add(passage.text)
    return good + doubtful
