"""Draw documents from other questions, for the `random` condition and the length-matched `control` condition.

They are drawn from a limited number of neighbouring items, so datasets of any size can be streamed. An item draws from
the items before it, in an order that depends on its content; the first few items also draw from the items after them,
in file order. Therefore, adding items to the end of a file does not change earlier draws.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from ragbed.schema import Document, Item
from ragbed.testbeds.document_order import Ordered, digest
from ragbed.text import mentions_answer

# Maximum number of earlier items to draw documents from. With a higher maximum, the first items are used too often:
# without a maximum, the first 30 of 300 items provide a third of all documents. With 32, they provide a sixth, and all
# later items provide equal numbers.
BEFORE = 32
AFTER = 64  # maximum number of later items to draw documents from, enough to fill any prompt for a file's first item


class NearbyItems(NamedTuple):
    """The items before and after an item, in file order."""

    before: tuple[Item, ...] = ()
    after: tuple[Item, ...] = ()


def with_neighbours(items: Iterable[Item]) -> Iterator[tuple[Item, NearbyItems]]:
    """Yield every item with its neighbours; no other items are kept in memory."""
    source = iter(items)
    before: deque[Item] = deque(maxlen=BEFORE)
    ahead = deque(islice(source, AFTER + 1))
    while ahead:
        item = ahead.popleft()
        yield item, NearbyItems(tuple(before), tuple(ahead))
        before.append(item)
        ahead.extend(islice(source, 1))


class DocumentBank:
    """The documents from neighbours that an item's cases can use, in an order specific to the item."""

    def __init__(self, ordered: Ordered, around: NearbyItems) -> None:
        self._item, self._key, self._around = ordered.item, ordered.key, around
        self._mentions: dict[str, bool] = {}

    def random(self, count: int) -> list[Document]:
        """Return the first `count` documents, or all documents if there are fewer.

        Up to BEFORE documents are from different questions. More are drawn from BEFORE neighbours in rounds, one from
        each per round; these neighbours are the same if items are appended to the file.
        """
        found = (next(self._usable(other), None) for other in self._others)
        one_each = (document for document in found if document is not None)
        return list(islice(one_each if count <= BEFORE else self._in_rounds(), count))

    def _in_rounds(self) -> Iterator[Document]:
        before, after = self._around
        near = {other.id for other in (*before, *after[: BEFORE - len(before)])}
        sources = [self._usable(other) for other in self._others if other.id in near]
        while sources and len(near) == BEFORE:
            left = []
            for source in sources:
                document = next(source, None)
                if document is not None:
                    left.append(source)
                    yield document
            sources = left

    def control(self, lengths: Sequence[int]) -> list[Document]:
        """Return at most one document for each requested length in characters, each from a different question."""
        found: dict[str, Document] = {}
        for length in lengths:
            for other in self._others:
                document = None if other.id in found else next(self._usable(other, min_chars=length), None)
                if document is not None:
                    found[other.id] = replace(document, text=_cut(document.text, length))
                    break
        return list(found.values())

    @cached_property
    def _others(self) -> list[Item]:
        earlier = sorted(self._around.before, key=lambda other: digest(self._key, other.id))
        return [
            other
            for other in (*earlier, *self._around.after)
            if other.lang == self._item.lang and other.question != self._item.question
        ]

    def _usable(self, other: Item, min_chars: int = 0) -> Iterator[Document]:
        """Yield documents from another question that do not contain this item's answer, starting at a random one."""
        pool = [index for index, passage in enumerate(other.passages) if passage.stance != "contradicts"]
        start = int.from_bytes(digest(self._key, other.id), "big") % max(1, len(pool))
        for index in pool[start:] + pool[:start]:
            text = other.passages[index].text
            if len(text) >= min_chars and not self._mentions_gold(text):
                yield Document(text=text, stance="distracts", kind="random", source=index, item=other.id)

    def _mentions_gold(self, text: str) -> bool:
        if text not in self._mentions:  # cached, because several conditions check the same text
            self._mentions[text] = mentions_answer(text, self._item.answer)
        return self._mentions[text]


def _cut(text: str, length: int) -> str:
    """Truncate a text without splitting a word."""
    cut = text[:length]
    splits_a_word = cut[-1:].isascii() and cut[-1:].isalnum() and text[length : length + 1].isalnum()
    return cut[: cut.rfind(" ")] if splits_a_word and " " in cut else cut
