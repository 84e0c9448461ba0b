"""The files of a build that a review reads beside the items: none of them can stop it or end it with a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbed.errors import DataError, UsageError
from ragbed.ui.review.item_page import Provenance


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    os.mkfifo(tmp_path / "steps" / "articles.jsonl")
    with pytest.raises(UsageError, match="is a named pipe, not a regular file"):
        Provenance(tmp_path)


def test_a_step_file_that_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "articles.jsonl").write_bytes(b'{"id": ' + b"[" * 100_000 + b"\n")
    with pytest.raises(DataError, match=r"articles\.jsonl"):
        Provenance(tmp_path)
