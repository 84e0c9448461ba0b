"""Chance by counting: numbers drawn from a hash of a key, the same on every machine and Python.

The standard generator's methods may change between versions of Python, and one generator shared by
all items would make each depend on those before it. Here every item and every document has a key of
its own, so items can be made in any order, by any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

T = TypeVar("T")
_WORDS = Struct("<16I")


class HashRandom:
    """A stream of draws that depends on nothing but its key.

    Args:
        key: What is drawn for, as (seed, language, ordinal, "documents"); text and numbers only.
    """

    __slots__ = ("_count", "_key", "_pool")

    def __init__(self, *key: str | int) -> None:
        self._key = blake2b("\x1f".join(map(str, key)).encode()).digest()
        self._count = 0
        self._pool: list[int] = list(_WORDS.unpack(self._key))

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound − 1; the bias is below bound / 2³²."""
        try:
            return (self._pool.pop() * bound) >> 32
        except IndexError:
            return (self._next() * bound) >> 32

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        try:  # as in `below`; the call saved is a tenth of the time a document takes
            return choices[(self._pool.pop() * len(choices)) >> 32]
        except IndexError:
            return choices[(self._next() * len(choices)) >> 32]

    def _next(self) -> int:
        self._count += 1
        self._pool.extend(_WORDS.unpack(blake2b(self._key + self._count.to_bytes(8, "little")).digest()))
        return self._pool.pop()

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred."""
        return self.below(100) < percent

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """The choices in an order of chance (Fisher and Yates)."""
        order = list(choices)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def tag(self) -> str:
        """A short name for what the key stands for."""
        return blake2b(self._key, digest_size=4).hexdigest()
