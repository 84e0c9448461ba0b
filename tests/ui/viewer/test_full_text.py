from __future__ import annotations

import sqlite3

import pytest

from ragbed.ui.viewer.search_index import spaced, to_match

TEXTS = (
    "Ada Marlowe won the 2022 final.",
    "2022年奥登杯决赛在石桥市举行，林若水夺得冠军。",
    "Beyoncé sang in 北京 on 3 May; the stadium's roof held.",
)


@pytest.fixture
def index() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    options = "content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'"
    connection.execute(f"CREATE VIRTUAL TABLE words USING fts5 (text, {options})")
    connection.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", enumerate(map(spaced, TEXTS)))
    return connection


@pytest.mark.parametrize(
    ("query", "found"),
    [
        # the last word may be unfinished
        *((query, [0]) for query in ("marlowe", "MARLOWE ada", "marl", '"ada marlowe"')),
        *((query, [1]) for query in ("水", "林若水", "奥登杯 冠军", "“若水夺得”")),
        *((query, [2]) for query in ("beyonce", "stadium's", "京", "北京", "sang 北京")),
        *((query, []) for query in ("marl won", '"marlowe ada"', "京北")),
        ("2022", [0, 1]),
    ],
)
def test_words_are_found(index: sqlite3.Connection, query: str, found: list[int]) -> None:
    rows = index.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", (to_match(query),))
    assert [row for (row,) in rows] == found


@pytest.mark.parametrize("query", ["", "  ", "***", '"', "。", "()", "-"])
def test_a_query_without_words_is_ignored(query: str) -> None:
    assert to_match(query) is None


@pytest.mark.parametrize(
    "query",
    [
        *("a AND", "NOT b", "a NEAR(b", "text:x", "^a", "a + b", "'; DROP TABLE words; --", '"""', "a*b", "{x}: y"),
        "a\x00b",
    ],
)
def test_operators_are_searched_as_words(index: sqlite3.Connection, query: str) -> None:
    match = to_match(query)
    if match is not None:
        index.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,)).fetchall()
