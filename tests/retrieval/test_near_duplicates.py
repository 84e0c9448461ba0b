"""Test that the fast method finds the same near duplicates as comparing all pairs."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbed.retrieval.near_duplicates import Distinct, find_near


def _grams(text: str) -> set[str]:
    bare = "".join(text.split())
    return {bare[at : at + 5] for at in range(len(bare) - 4)}


def _near_by_definition(texts: list[str]) -> list[set[int]]:
    grams = [_grams(text) for text in texts]
    near: list[set[int]] = [set() for _ in texts]
    for (one, own), (other, its) in combinations(enumerate(grams), 2):
        if own and its and len(own & its) / min(len(own), len(its)) >= 0.8:
            near[one].add(other)
            near[other].add(one)
    return near


@settings(deadline=None)  # a busy machine is no fault
@given(st.lists(st.text("abc ", max_size=24), max_size=8))
def test_the_fast_method_equals_the_definition(texts: list[str]) -> None:
    assert find_near(texts) == _near_by_definition(texts)


@settings(deadline=None)
@given(st.lists(st.text("abc ", max_size=24), max_size=8))
def test_a_stream_keeps_texts_that_are_not_near_an_earlier_one(texts: list[str]) -> None:
    near, kept, distinct = _near_by_definition(texts), set[int](), Distinct()
    for place, text in enumerate(texts):
        is_new = near[place].isdisjoint(kept)
        assert distinct.keep(text) is is_new
        kept |= {place} if is_new else set()


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("abcdefghi", "abcdefghi", True),  # the same
        ("abcdefghi", "ab cd\nef ghi", True),  # white space does not count
        ("abcdefghi", "abcdefgh?", True),  # 4 of 5 grams
        ("abcdefghi", "abcdefg??", False),  # 3 of 5
        ("abcdef", "xxxxabcdefxxxxxxxxxxxx", True),  # contained in a longer one
        ("abcd", "abcd", False),  # too short for a gram
        ("", "abcdef", False),
    ],
)
def test_four_fifths_of_the_shorter_text_decide(one: str, other: str, near: bool) -> None:
    assert find_near([one, other]) == ([{1}, {0}] if near else [set(), set()])
