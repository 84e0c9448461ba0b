"""Measure the quality of a dataset, compare it with RGB's values and check gates (docs/reference/build.md).

To add a family of measures, write a class with `add` and `results`, and add one line to FAMILIES.
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
from ragbed.builder.quality.review_results import Reviewed, review_measures
from ragbed.builder.quality.sources import SourceMeasures
from ragbed.data import Dataset

# Maximum number of passages to relabel. Relabelling this many takes about two minutes; the report states how many
# were relabelled.
MAX_LABELLED = 50_000


class MeasureFamily(Protocol):
    """A group of related measures that are computed together."""

    def add(self, view: ItemView) -> None:
        """Add one item."""

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
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

    version: str  # version of ragbed
    data: dict[str, str]  # SHA-256 hash of each dataset's file, by dataset name
    items: int
    passages: int
    families: dict[str, tuple[Measure, ...]]
    steps: dict[str, tuple[int, int]] = {}  # numbers of input and output records, by build step
    # For each sample: "accepted" or the failed check, the question, and the answer or the reason for the rejection.
    samples: tuple[tuple[str, str, str], ...] = ()

    @property
    def failed(self) -> list[Measure]:
        """The measures whose gates failed."""
        return [measure for family in self.families.values() for measure in family if measure.passed == "failed"]


def measure_quality(
    datasets: Iterable[Dataset],
    steps: Mapping[str, tuple[int, int]] | None = None,
    reviewed: Reviewed | None = None,
) -> Quality:
    """Measure several datasets together in a single pass, one item at a time.

    Args:
        datasets: Datasets to measure.
        steps: Numbers of input and output records for each build step.
        reviewed: Results of a human review.
    """
    families = {name: make() for name, make in FAMILIES.items()}
    items = passages = 0
    hashes = {}
    for dataset in datasets:
        hashes[dataset.name] = digest = dataset.sha256()
        # A build tests whether models know the answers to its questions. Files that have changed since the build, and
        # data from other sources, may be untested.
        path = dataset.path
        is_probed = isinstance(path, Path) and listed_files(path.parent).get(path.name) == digest
        for item in dataset.items():
            view = ItemView(item, dataset.name, is_labelled=passages < MAX_LABELLED, is_probed=is_probed)
            items, passages = items + 1, passages + len(item.passages)
            for family in families.values():
                family.add(view)
    found = {name: tuple(family.results()) for name, family in families.items()}
    if reviewed is not None:
        found["people"] = tuple(review_measures(reviewed, hashes))
    return Quality(
        version=__version__, data=hashes, items=items, passages=passages, families=found, steps=dict(steps or {})
    )
