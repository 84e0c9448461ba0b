"""An item whose labels and near-duplicates are computed once and shared by all families of measures."""

from __future__ import annotations

import re
from functools import cached_property

from ragbed.builder.relabel import label_again
from ragbed.builder.search.base import read_day
from ragbed.data import kind_of
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Item, Kind, Labelling, Stance

_ISO_YEAR = re.compile(r"\d{4}(?:-|$)")


class ItemView:
    """An item to measure.

    Args:
        item: The item.
        data: Name of its dataset.
        is_labelled: Whether its passages are relabelled. If not, measures that need labels skip the item.
        is_probed: Whether models were asked the question without documents when the dataset was built.
    """

    def __init__(self, item: Item, data: str = "", *, is_labelled: bool = True, is_probed: bool = False) -> None:
        self.item, self.data, self.is_labelled = item, data, is_labelled
        self.is_probed = is_probed or bool(item.known_by)

    @cached_property
    def kind(self) -> Kind:
        """The item's kind."""
        return kind_of(self.item)

    @cached_property
    def date(self) -> str | None:
        """The item's date, or at least its year, in ISO format; None if the item has no date that can be read."""
        text = self.item.date or ""
        return text if _ISO_YEAR.match(text) else read_day(text)

    @cached_property
    def places(self) -> dict[Stance, list[int]]:
        """The indexes of the passages, grouped by relevance label."""
        found: dict[Stance, list[int]] = {"supports": [], "distracts": [], "contradicts": []}
        for place, passage in enumerate(self.item.passages):
            found[passage.stance].append(place)
        return found

    @cached_property
    def pooled(self) -> list[int]:
        """The indexes of all passages except edited ones, which are omitted as they repeat the original passages."""
        return sorted(self.places["supports"] + self.places["distracts"])

    @cached_property
    def labels(self) -> list[Labelling]:
        """Every passage's label according to ragbed's rules."""
        return [label_again(self.item, passage, "support") for passage in self.item.passages]

    @cached_property
    def plain_labels(self) -> list[Labelling]:
        """Every passage's label according to RGB's rule."""
        return [label_again(self.item, passage, "plain") for passage in self.item.passages]

    @cached_property
    def near(self) -> dict[int, set[int]]:
        """The near-duplicates of each pooled passage, including exact copies."""
        texts = [self.item.passages[place].text for place in self.pooled]
        distinct = list(dict.fromkeys(texts))
        alike = dict(zip(distinct, find_near(distinct), strict=True))
        found = {}
        for place, text in zip(self.pooled, texts, strict=True):
            near = {text, *(distinct[other] for other in alike[text])}
            found[place] = {index for index, other in zip(self.pooled, texts, strict=True) if other in near} - {place}
        return found
