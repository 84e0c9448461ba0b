"""An item as all families of measures look at it: its passages labelled once, its near duplicates found once."""

from __future__ import annotations

from functools import cached_property

from ragbed.builder.relabel import label_again
from ragbed.data import kind_of
from ragbed.retrieval.near_duplicates import find_near
from ragbed.schema import Item, Kind, Labelling, Stance


class ItemView:
    """An item being looked at.

    Args:
        item: The item.
        data: Name of its dataset.
        is_labelled: Whether its passages are labelled again; where not, what needs labels leaves it out.
        is_probed: Whether models were asked its question without documents when it was made.
    """

    def __init__(self, item: Item, data: str = "", *, is_labelled: bool = True, is_probed: bool = False) -> None:
        self.item = item
        self.data = data
        self.is_labelled = is_labelled
        self.is_probed = is_probed or bool(item.known_by)

    @cached_property
    def kind(self) -> Kind:
        """What it tests."""
        return kind_of(self.item)

    @cached_property
    def places(self) -> dict[Stance, list[int]]:
        """Where the passages of each stance are."""
        found: dict[Stance, list[int]] = {"supports": [], "distracts": [], "contradicts": []}
        for place, passage in enumerate(self.item.passages):
            found[passage.stance].append(place)
        return found

    @cached_property
    def pooled(self) -> list[int]:
        """Supporting and distracting passages; edited ones repeat the true ones by nature."""
        return sorted(self.places["supports"] + self.places["distracts"])

    @cached_property
    def labels(self) -> list[Labelling]:
        """Of every passage, by our rules."""
        return [label_again(self.item, passage, "support") for passage in self.item.passages]

    @cached_property
    def plain_labels(self) -> list[Labelling]:
        """Of every passage, by RGB's rule."""
        return [label_again(self.item, passage, "plain") for passage in self.item.passages]

    @cached_property
    def near(self) -> dict[int, set[int]]:
        """For each pooled passage its near duplicates, copies included."""
        texts = [self.item.passages[place].text for place in self.pooled]
        distinct = list(dict.fromkeys(texts))
        alike = dict(zip(distinct, find_near(distinct), strict=True))
        found = {}
        for place, text in zip(self.pooled, texts, strict=True):
            others = {text, *(distinct[other] for other in alike[text])}
            found[place] = {
                other for other, its in zip(self.pooled, texts, strict=True) if other != place and its in others
            }
        return found
