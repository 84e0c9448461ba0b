"""Tests of the page cache."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.builder.web.page_cache import CachedPage, PageCache
from ragbed.errors import RagbedError

PAGE = CachedPage(
    "http://a.test/", "http://a.test/b", "text/html", b"<p>text", '"1"', "Sat, 14 Nov 2026 08:00:00 GMT", 5.0
)


def test_pages_and_answers_are_shared_by_two_readers(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep:
        keep.keep_page(PAGE)
        keep.keep_answer("key", b"{}")
        with PageCache(tmp_path / "kept.db") as other:
            assert other.find_page(PAGE.url) == PAGE
            assert other.find_answer("key") == b"{}"
            assert other.find_page("http://b.test/") is None
            assert other.find_answer("other") is None


def test_calls_are_counted_up_to_a_limit_over_all_readers(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as one, PageCache(tmp_path / "kept.db") as two:
        assert [one.count_call("brave", 3), two.count_call("brave", 3), one.count_call("brave", 3)] == [True] * 3
        assert not two.count_call("brave", 3)
        assert not one.count_call("serper", 0)
        assert one.count_call("tavily", None)
    with closing(sqlite3.connect(tmp_path / "kept.db")) as file:
        assert dict(file.execute("SELECT service, count FROM calls")) == {"brave": 3, "tavily": 1}


def test_another_kind_of_file_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(RagbedError, match=r"kept\.db cannot be used to store pages"):
        PageCache(path)
