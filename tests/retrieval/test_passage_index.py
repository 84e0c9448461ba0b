"""The index of passages ranks as BM25 does, in both languages and in several chunks."""

from __future__ import annotations

import pytest

from ragbed.retrieval import passage_index
from ragbed.retrieval.passage_index import LexicalIndex
from tests.retrieval.bm25 import bm25

TEXTS = [
    "The harbour of Tornio opened in May.",
    "A harbour festival was held in Oulu, at the old harbour.",
    "2023年诺贝尔文学奖授予约恩·福瑟。",
    "诺贝尔和平奖由挪威颁发。",
    "Nothing to see here.",
    "",
]


@pytest.mark.parametrize("chunk", [2, 50_000])
def test_the_ranking_is_that_of_bm25(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "_CHUNK", chunk)
    index = LexicalIndex(iter(TEXTS))
    for query in ("harbour of Tornio", "诺贝尔文学奖", "the harbour festival in May", "here"):
        scores = bm25(query, TEXTS)
        expected = sorted((at for at in range(len(TEXTS)) if scores[at] > 0), key=lambda at: (-scores[at], at))
        assert index.search(query, 10) == expected
        assert index.search(query, 1) == expected[:1]


def test_a_query_without_known_words_finds_nothing_and_ties_are_in_order() -> None:
    index = LexicalIndex(["same words"] * 10)
    assert index.search("zzz", 5) == []
    assert index.search("", 5) == []
    assert index.search("words", 3) == [0, 1, 2]
    assert LexicalIndex([]).search("words", 3) == []


def test_common_words_are_left_out_if_there_are_rarer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "_MAX_POSTINGS", 5)
    index = LexicalIndex([f"common {'rare' if number == 7 else 'word'}" for number in range(20)])
    assert index.search("common rare", 3) == [7]
    assert index.search("common", 2) == [0, 1]
