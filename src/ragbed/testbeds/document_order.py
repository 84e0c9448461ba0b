"""Determine the order in which documents are drawn, and their positions in the prompt.

The order depends on the seed and the item's content, not on the condition. A condition only determines how many
documents are taken from the front, so the distractors for one noise ratio are a subset of those for the next.
Adding items to a dataset does not change earlier cases.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import zip_longest

from msgspec import Struct

from ragbed.schema import Document, Item, Passage, Stance
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

    @cached_property
    def documents(self) -> tuple[Document, ...]:
        """The item's passages, converted to documents for a case."""
        return as_documents(self.item)

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """The indexes of the supporting passages; for integration items, they alternate between the sub-questions."""
        parts: dict[int, list[int]] = defaultdict(list)
        for index in self._ordered("supports"):
            parts[self.item.passages[index].part or 0].append(index)
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
        return _doubtful_last(self.item, [index for _, index in sorted(drawn)])


def order_item(item: Item, seed: int) -> Ordered:
    """Return an item with the order in which its passages are drawn."""
    return Ordered(item, digest(seed, item.question, item.answer))


def as_documents(item: Item) -> tuple[Document, ...]:
    """Return all of an item's passages as a case's documents."""
    return tuple(
        [
            Document(
                text=passage.text,
                stance=passage.stance,
                kind=passage.kind,
                source=index,
                part=passage.part,
                states=None if passage.dials is None else str(passage.dials.get("states") or "") or None,
            )
            for index, passage in enumerate(item.passages)
        ]
    )


def slot_of(rank: int, turn: int, docs: int) -> int:
    """Return the position that one rotation of a cyclic Latin square assigns to the document with a given rank.

    Over the rotations 0 … docs − 1, every rank gets every position exactly once.
    """
    return (turn + _spread(docs)[rank]) % docs


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
        times = [sum(column) for column in zip(*rows, strict=True)]
        steps = _spread(docs) if self._is_spread else range(docs)
        best = min(((self._start + step) % docs for step in steps), key=times.__getitem__)
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


def _doubtful_last(item: Item, pool: Sequence[int]) -> list[int]:
    """Move duplicate passages, and passages whose text contradicts their label, to the end."""
    seen: set[str] = set()
    good: list[int] = []
    doubtful: list[int] = []
    for index in pool:
        passage = item.passages[index]
        (doubtful if passage.text in seen or _is_mislabelled(item, passage) else good).append(index)
        seen.add(passage.text)
    return good + doubtful


def _is_mislabelled(item: Item, passage: Passage) -> bool:
    """Return whether a supporting passage lacks the answer, or a passage with another label contains the answer."""
    if passage.stance != "supports":
        return bears_answer(passage.text, item.answer, item.lang)
    slots = item.answer if passage.part is None else (tuple(alias for aliases in item.answer for alias in aliases),)
    return not bears_answer(passage.text, slots, item.lang)
