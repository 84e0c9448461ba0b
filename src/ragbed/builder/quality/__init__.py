"""Quality measures of a dataset, beside RGB's values, with gates (docs/quality.md).

To add a family of measures: a file with a class that has `add` and `tell`, and one line in FAMILIES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from ragbed import __version__
from ragbed.builder.delivery import listed_files
from ragbed.builder.quality.abilities import AbilityMeasures
from ragbed.builder.quality.answers import AnswerMeasures
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.knowledge import KnowledgeMeasures
from ragbed.builder.quality.labels import LabelMeasures
from ragbed.builder.quality.measure import Measure
from ragbed.builder.quality.pools import PoolMeasures
from ragbed.builder.quality.review_results import Reviewed, tell_people
from ragbed.builder.quality.sources import SourceMeasures
from ragbed.data import Dataset

__all__ = ["FAMILIES", "MeasureFamily", "Quality", "measure_quality"]

MOST_LABELLED = 50_000
"""Passages that are labelled again, from the start: some two minutes; their number stands in the report."""


class MeasureFamily(Protocol):
    """Some figures that are measured together."""

    def add(self, look: ItemView) -> None:
        """Takes one item in."""

    def tell(self) -> Iterator[Measure]:
        """The figures."""
        ...


FAMILIES: dict[str, Callable[[], MeasureFamily]] = {
    "labels": LabelMeasures,
    "pools": PoolMeasures,
    "answers": AnswerMeasures,
    "abilities": AbilityMeasures,
    "sources": SourceMeasures,
    "knowledge": KnowledgeMeasures,
}


class Quality(Struct, frozen=True, kw_only=True):
    """A quality report."""

    version: str
    """Of ragbed."""
    data: dict[str, str]
    """Each dataset's name and the hash of its file."""
    items: int
    passages: int
    families: dict[str, tuple[Measure, ...]]
    steps: dict[str, tuple[int, int]] = {}
    """Of a build: what entered each step and what came out."""

    @property
    def failed(self) -> list[Measure]:
        """The figures whose gate does not hold."""
        return [one for family in self.families.values() for one in family if one.passed == "failed"]


def measure_quality(
    datasets: Iterable[Dataset],
    steps: Mapping[str, tuple[int, int]] | None = None,
    reviewed: Reviewed | None = None,
    more: Mapping[str, MeasureFamily] | None = None,
) -> Quality:
    """Measures some datasets together; one pass, one item at a time.

    Args:
        datasets: What is measured.
        steps: Of a build: what entered each step and what came out.
        reviewed: What people found.
        more: Families that need more than the data: runs of models, corpora.
    """
    families = {name: make() for name, make in FAMILIES.items()} | dict(more or {})
    items = passages = 0
    hashes = {}
    for dataset in datasets:
        hashes[dataset.name] = digest = dataset.sha256()
        # Every build probes; items of other origin, or changed since, may have been asked of nobody.
        here = dataset.path
        is_probed = isinstance(here, Path) and listed_files(here.parent).get(here.name) == digest
        for item in dataset.items():
            look = ItemView(item, dataset.name, is_labelled=passages < MOST_LABELLED, is_probed=is_probed)
            items, passages = items + 1, passages + len(item.passages)
            for family in families.values():
                family.add(look)
    return Quality(
        version=__version__,
        data=hashes,
        items=items,
        passages=passages,
        families={name: tuple(family.tell()) for name, family in families.items()} | _people(reviewed, hashes),
        steps=dict(steps or {}),
    )


def _people(reviewed: Reviewed | None, hashes: Mapping[str, str]) -> dict[str, tuple[Measure, ...]]:
    return {} if reviewed is None else {"people": tuple(tell_people(reviewed, hashes))}
