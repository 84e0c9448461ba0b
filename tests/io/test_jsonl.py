"""Test that files are written completely or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ragbed.errors import RagbedError
from ragbed.io.jsonl import read_lines, write_whole, write_whole_folder


def _write(path: Path, content: bytes) -> None:
    with write_whole(path) as sink:
        sink.write(content)


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    _write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_special_file_is_written_directly(tmp_path: Path) -> None:
    _write(Path("/dev/null"), b"gone")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    _write(pipe, b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    _write(tmp_path / "new", b"x")
    (tmp_path / "usual").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_an_error_in_the_block_is_not_attributed_to_the_output(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the reader"), write_whole(tmp_path / "out"):
        raise OSError("of the reader")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_replaced_where_folders_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows does not rename a folder to the name of another one."""
    rename = Path.replace

    def replace_as_windows(path: Path, target: Path) -> Path:
        if target.is_dir():
            raise PermissionError(13, "Access is denied", str(target))
        return rename(path, target)

    monkeypatch.setattr(Path, "replace", replace_as_windows)
    (tmp_path / "out").mkdir()
    with write_whole_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("text")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "file"]


def test_a_file_that_fails_while_it_is_read_is_named() -> None:
    with pytest.raises(RagbedError, match="/proc/self/mem cannot be read: Input/output error"):
        list(read_lines(Path("/proc/self/mem")))
