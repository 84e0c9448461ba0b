"""Test scores and order with small vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ragbed.retrieval.base import Encoded, Matrix, Role
from ragbed.retrieval.ranking import best, max_similarity, rank


class Letters:
    """An encoder of the first three letters of a text."""

    name = "letters"

    def identity(self) -> str:
        return self.name

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        rows = [[float(letter in text[:3]) for letter in "abc"] for text in texts]
        cut = tuple(place for place, text in enumerate(texts) if len(text) > 3)
        return Encoded(np.array(rows, np.float32).reshape(len(texts), 3), cut)


def matrix(*rows: Sequence[float]) -> Matrix:
    return np.array(rows, np.float32)


def test_equal_scores_keep_the_order_of_the_passages() -> None:
    ranking = rank("ab", ["c", "a", "b", "ab", "a"], Letters(), top=4)
    assert ranking.places == (3, 1, 2, 4)
    assert ranking.scores == (2.0, 1.0, 1.0, 1.0)


def test_a_truncated_passage_is_named() -> None:
    assert rank("a", ["abc", "cccc", "aaaa"], Letters(), top=1).truncated == (1, 2)


@pytest.mark.parametrize(("passages", "top"), [([], 30), (["a"], 0)])
def test_nothing_to_rank_is_an_empty_ranking(passages: list[str], top: int) -> None:
    assert rank("a", passages, Letters(), top).places == ()


def test_a_top_beyond_the_number_of_passages_gives_all() -> None:
    assert rank("a", ["b", "a"], Letters(), top=30).places == (1, 0)


def test_each_token_of_the_question_uses_its_nearest_token() -> None:
    question = matrix([1, 0], [0, 1])
    passages = [matrix([1, 0]), matrix([0.6, 0.8], [0.8, 0.6]), matrix([0, 1], [1, 0], [0, -1])]
    assert max_similarity(question, passages) == pytest.approx([0.5, 0.8, 1.0])
    assert max_similarity(question, []).shape == (0,)


def test_the_best_are_the_highest() -> None:
    assert best(np.array([0.1, 0.3, 0.3, -1], np.float32), 3) == [1, 2, 0]
