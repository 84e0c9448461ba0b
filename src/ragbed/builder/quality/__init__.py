"""Measure the quality of a dataset, compare it with RGB's values and check gates (docs/reference/build.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from ragbed import __version__
from ragbed.builder.delivery import listed_files
from ragbed.builder.quality.items import ItemMeasures
from ragbed.builder.quality.measure import Measure
from ragbed.builder.quality.review_results import Reviewed, review_measures
from ragbed.data import Dataset


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
    counts, hashes = ItemMeasures(), {}
    for dataset in datasets:
        hashes[dataset.name] = digest = dataset.sha256()
        # A build tests whether models know the answers to its questions. Files that have changed since the build, and
        # data from other sources, may be untested.
        path = dataset.path
        is_probed = isinstance(path, Path) and listed_files(path.parent).get(path.name) == digest
        for item in dataset.items():
            counts.add(item, is_probed=is_probed)
    families = {"labels": tuple(counts.labels()), "pools": tuple(counts.pools())}
    if reviewed is not None:
        families["people"] = tuple(review_measures(reviewed, hashes))
    return Quality(
        version=__version__,
        data=hashes,
        items=counts.items,
        passages=counts.passages,
        families=families,
        steps=dict(steps or {}),
    )
