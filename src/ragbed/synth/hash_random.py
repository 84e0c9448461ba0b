"""Draw random numbers from the hash of a key, so that they are identical on every machine and Python version.

The methods of the standard generator may change between Python versions, and a generator shared by all items would make
each item depend on the items before it. Here, each item and each document has its own key, so items can be generated in
any order and by any number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Key: TypeAlias = tuple[str | int, ...]
_WORDS = Struct("<16I")


class HashRandom:
    """A random generator that depends only on its key.

    Args:
        key: Strings and numbers that identify the draws, e.g. (seed, language, ordinal, "documents").
    """

    __slots__ = ("_count", "_key", "_pool")

    def __init__(self, *key: str | int) -> None:
        self._key = blake2b("\x1f".join(map(str, key)).encode()).digest()
        self._count = 0
        self._pool: list[int] = list(_WORDS.unpack(self._key))

    def below(self, bound: int) -> int:
        """Return a random integer from 0 to bound - 1. The bias is below bound / 2³²."""
        try:
            return (self._pool.pop() * bound) >> 32
        except IndexError:
            return (self._next() * bound) >> 32

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices at random."""
        return choices[self.below(len(choices))]

    def _next(self) -> int:
        self._count += 1
        self._pool.extend(_WORDS.unpack(blake2b(self._key + self._count.to_bytes(8, "little")).digest()))
        return self._pool.pop()

    def between(self, low: int, high: int) -> int:
        """Return a random integer from low to high, inclusive."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Return True with the given probability in percent."""
        return self.below(100) < percent

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """Return the choices in random order (Fisher-Yates)."""
        order = list(choices)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def tag(self) -> str:
        """Return a short identifier for the key."""
        return blake2b(self._key, digest_size=4).hexdigest()
