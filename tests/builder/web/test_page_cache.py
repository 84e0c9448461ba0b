"""What came from outside is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.builder.web.page_cache import CachedPage, PageCache
from ragbed.errors import RagbedError

PAGE = CachedPage(
    "http://a.test/", "http://a.test/b", "text/html", b"<p>text", '"1"', "Sat, 14 Nov 2026 08:00:00 GMT", 5.0
)


def test_pages_and_answers_are_found_again_by_another_reader(tmp_path: Path) -> None:
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
        assert [one.calls_of(name) for name in ("brave", "serper", "tavily")] == [3, 0, 1]


def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(RagbedError, match=r"kept\.db, where pages are kept, cannot be used"):
        PageCache(path)
