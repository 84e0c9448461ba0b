"""The files of a build that a review reads beside the items: none of them can stop it or end it with a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbed.errors import DataError, UsageError
from ragbed.ui.review.item_page import Provenance


@pytest.mark.parametrize("content", [b"", b"{", b'{"sources": 1}', b'{"pages": {"\xff": ""}}', b"[" * 100_000])
def test_a_lock_file_that_cannot_be_read_has_no_hashes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "build.lock").write_bytes(content)
    assert Provenance(tmp_path).page_hash("https://example.org/") is None


@pytest.mark.parametrize("name", ["build.lock", "steps/articles.jsonl"])
def test_a_pipe_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "steps").mkdir()
    os.mkfifo(tmp_path / name)
    with pytest.raises(UsageError, match="is a named pipe, not a regular file"):
        Provenance(tmp_path)


def test_a_step_file_that_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "articles.jsonl").write_bytes(b'{"id": ' + b"[" * 100_000 + b"\n")
    with pytest.raises(DataError, match=r"articles\.jsonl"):
        Provenance(tmp_path)
