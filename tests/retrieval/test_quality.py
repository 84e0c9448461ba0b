"""Floors under what the bundled encoders find, pinned with the data they were measured on.

A floor is what was reached, less what one passage more or less makes on processors that round otherwise.
Lowering one takes a sentence in the changelog.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ragbed.data import Dataset
from ragbed.retrieval.base import Encoder, Matrix
from ragbed.retrieval.e5 import E5
from ragbed.schema import Item
from tests.retrieval.bm25 import bm25
from tests.retrieval.recall import RecallPool, measure_recall, pool_items

DIGESTS = {
    "en_fact": "92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5",
    "zh_refine": "7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563",
}


def read_pool(folder: Path, name: str, questions: int, *, thin: bool = False) -> RecallPool:
    """The pool of the first questions; thin: with two passages of each stance only, as many as e5 reads in seconds."""
    dataset = Dataset(name, folder / f"{name}.json")
    assert dataset.sha256() == DIGESTS[name]
    items = islice(dataset.items(), questions)
    return pool_items(map(first_two, items) if thin else items)


def first_two(item: Item) -> Item:
    supports = [passage for passage in item.passages if passage.stance == "supports"]
    distracts = [passage for passage in item.passages if passage.stance == "distracts"]
    return msgspec.structs.replace(item, passages=(*supports[:2], *distracts[:2]))


def by_vectors(pool: RecallPool, encoder: Encoder) -> Callable[[str], Matrix]:
    passages = encoder.encode(pool.passages, "passage")
    return lambda question: passages @ encoder.encode([question], "question")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "at_10", "first", "own"), [("en_fact", 0.91, 0.91, 0.74), ("zh_refine", 0.95, 0.89, 0.78)]
)
def test_e5_finds_the_passages_that_contain_the_answer(
    rgb_dir: Path, name: str, at_10: float, first: float, own: float
) -> None:
    pool = read_pool(rgb_dir, name, 12, thin=True)
    found = measure_recall(pool, by_vectors(pool, E5()))
    assert found.at_10 >= at_10, found
    assert found.first >= first, found
    assert found.own >= own, found


@pytest.mark.parametrize(
    ("name", "questions", "at_30", "at_10"), [("en_fact", 100, 0.82, 0.60), ("zh_refine", 30, 0.96, 0.79)]
)
def test_bm25_finds_most_of_them(rgb_dir: Path, name: str, questions: int, at_30: float, at_10: float) -> None:
    pool = read_pool(rgb_dir, name, questions)
    found = measure_recall(pool, lambda question: np.array(bm25(question, pool.passages), np.float32))
    assert found.at_30 >= at_30, found
    assert found.at_10 >= at_10, found
