"""Tests of the page cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.builder.web.page_cache import CachedPage, PageCache
from ragbed.errors import RagbedError

PAGE = CachedPage("http://a.test/", "http://a.test/b", "text/html", b"<p>text", 5.0)


def test_pages_and_answers_are_shared_by_two_readers(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep:
        keep.keep_page(PAGE)
        keep.keep_answer("key", b"{}")
        with PageCache(tmp_path / "kept.db") as other:
            assert other.find_page(PAGE.url) == PAGE
            assert other.find_answer("key") == b"{}"
            assert other.find_page("http://b.test/") is None
            assert other.find_answer("other") is None


def test_another_kind_of_file_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(RagbedError, match=r"kept\.db cannot be used to store pages"):
        PageCache(path)
