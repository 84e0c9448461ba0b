"""Pins are what the outside world calls the same bytes."""

from __future__ import annotations

from pathlib import Path

from ragbed.io.pins import matches_pin, pin_of


def test_a_git_pin_is_what_git_itself_says(tmp_path: Path) -> None:
    (tmp_path / "greeting").write_bytes(b"hello\n")
    assert pin_of(tmp_path / "greeting", "git:") == "git:ce013625030ba8dba906f756967f9e9ca394464a"
    assert pin_of(tmp_path / "greeting", "sha256:").startswith("sha256:5891b5b522d5df08")


def test_a_file_of_another_size_is_wrong_without_a_look_at_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "greeting").write_bytes(b"hello\n")
    assert not matches_pin(tmp_path / "greeting", "no such scheme", size=7)
    assert not matches_pin(tmp_path / "nothing", "no such scheme")
