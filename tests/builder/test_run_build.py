"""The files that a build leaves: its own come and go, those of others stay."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ragbed.builder.build_context import Build
from ragbed.builder.recipe import Recipe, RecipeSource
from ragbed.builder.run_build import write_files
from tests.items import base_item

RECIPE = Recipe(name="n", generator="m/x", sources=(RecipeSource(kind="folder", place="."),))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A build that made one English base item, in a folder where one in Chinese was made before."""
    build = Build(tmp_path, RECIPE, date(2026, 11, 15), ask=lambda _: {})
    build.file_of("items").parent.mkdir()
    build.file_of("items").write_bytes(msgspec.json.encode(replace(base_item(), id="en-base-0")) + b"\n")
    (tmp_path / "build.lock").write_text('{"files": {"zh_base.jsonl": "0"}}')
    for name in ("zh_base.jsonl", "zh_int.jsonl"):
        (tmp_path / name).write_text("earlier\n")
    return build


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.jsonl")}


def test_only_what_the_earlier_build_made_goes(build: Build) -> None:
    assert list(write_files(build)) == ["en_base.jsonl"]
    assert names(build.folder) == {"en_base.jsonl", "zh_int.jsonl"}


def test_without_a_lock_that_can_be_read_nothing_goes(build: Build) -> None:
    (build.folder / "build.lock").write_text("no lock")
    write_files(build)
    assert names(build.folder) == {"en_base.jsonl", "zh_base.jsonl", "zh_int.jsonl"}


def test_where_nothing_was_made_everything_stays(build: Build) -> None:
    build.file_of("items").write_text("")
    assert write_files(build) == {}
    assert names(build.folder) == {"zh_base.jsonl", "zh_int.jsonl"}
