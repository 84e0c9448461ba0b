"""Test the measures with five passages."""

from __future__ import annotations

import numpy as np
import pytest

from ragbed.retrieval.base import Matrix
from ragbed.schema import Item, Passage, Stance
from tests.retrieval.recall import measure_recall, pool_items


def make_item(name: str, *passages: tuple[str, Stance]) -> Item:
    texts = tuple(Passage(text=text, stance=stance) for text, stance in passages)
    return Item(id=name, question=name, lang="en", answer=(("x",),), passages=texts)


POOL = pool_items(
    [
        make_item("q1", ("a", "supports"), ("b", "distracts"), ("a", "supports"), ("fake", "contradicts")),
        make_item("q2", ("c", "supports"), ("d", "supports"), ("e", "distracts"), ("a", "distracts")),
        make_item("hopeless", ("e", "distracts")),
    ]
)


def test_duplicates_count_once_and_edited_passages_not_at_all() -> None:
    assert POOL.passages == ("a", "b", "c", "d", "e")
    assert [(sought.question, set(sought.supports), set(sought.distracts)) for sought in POOL.sought] == [
        ("q1", {0}, {1}),
        ("q2", {2, 3}, {0, 4}),
    ]


def test_the_means_are_over_questions() -> None:
    order = {"q1": "bacde", "q2": "cabed"}

    def score(question: str) -> Matrix:
        return np.array([-order[question].index(text) for text in POOL.passages], np.float32)

    found = measure_recall(POOL, score)
    assert (found.questions, found.at_30, found.at_10) == (2, 1.0, 1.0)
    assert found.first == pytest.approx((1 / 2 + 1 / 1) / 2)
    assert found.own == pytest.approx((0 + 1 / 2) / 2)
    assert found.own_chance == pytest.approx((1 / 2 + 2 / 4) / 2)
