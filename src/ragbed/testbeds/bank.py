"""Documents of other questions: the `random` arm, and the length-matched `control` of the `fixed` one.

They are drawn from a bounded neighbourhood, so that a dataset of any size streams; from items before an
item in an order that hangs on its content, and, for the first few items, from those after it in file order.
Appending items therefore changes no older draw.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from ragbed.schema import Document, Item
from ragbed.testbeds.order import Ordered, digest
from ragbed.text import mentions_answer

BEFORE = 256
"""How many earlier items a draw looks at: nearly all of a file of RGB's size, a few MB of a file of any size."""
AFTER = 64
"""How many later items: enough for the first item of a file to fill the largest prompts."""


class Neighbours(NamedTuple):
    """The items around one."""

    before: tuple[Item, ...]
    after: tuple[Item, ...]


NOBODY = Neighbours((), ())


def with_neighbours(items: Iterable[Item]) -> Iterator[tuple[Item, Neighbours]]:
    """Yields every item with those around it, holding no more than these."""
    source = iter(items)
    before: deque[Item] = deque(maxlen=BEFORE)
    ahead = deque(islice(source, AFTER + 1))
    while ahead:
        item = ahead.popleft()
        yield item, Neighbours(tuple(before), tuple(ahead))
        before.append(item)
        ahead.extend(islice(source, 1))


def random_documents(ordered: Ordered, around: Neighbours) -> Iterator[Document]:
    """Yields documents of other questions that do not mention the gold, one of each question."""
    for _, document in _candidates(ordered, around, min_chars=0):
        yield document


def control_documents(ordered: Ordered, around: Neighbours, lengths: Iterable[int]) -> Iterator[Document]:
    """Yields, for each length in characters, another question's document cut to it; ends early if none is left."""
    taken: set[str] = set()
    for length in lengths:
        for key, document in _candidates(ordered, around, min_chars=length):
            if key not in taken:
                taken.add(key)
                yield Document(
                    text=document.text[:length],
                    stance=document.stance,
                    kind=document.kind,
                    source=document.source,
                    item=document.item,
                )
                break
        else:
            return


def _candidates(ordered: Ordered, around: Neighbours, min_chars: int) -> Iterator[tuple[str, Document]]:
    earlier = sorted(around.before, key=lambda other: digest(ordered.key, other.id))
    for other in (*earlier, *around.after):
        if other.lang != ordered.item.lang or other.question == ordered.item.question:
            continue
        pool = [index for index, passage in enumerate(other.passages) if passage.stance != "contradicts"]
        for index in sorted(pool, key=lambda index: digest(ordered.key, other.id, index)):
            text = other.passages[index].text
            if len(text) >= min_chars and not mentions_answer(text, ordered.item.answer):
                yield other.id, Document(text=text, stance="distracts", kind="random", source=index, item=other.id)
                break
