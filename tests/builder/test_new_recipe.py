"""What a build will find in a folder, and the recipe that it gets."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest

from ragbed.builder.new_recipe import survey_folder, write_recipe
from ragbed.builder.recipe import RecipeCounts, read_recipe
from ragbed.io.locations import open_regular


def make_folder(folder: Path) -> None:
    (folder / "deep").mkdir(parents=True)
    (folder / "a.md").write_text("The harbour was opened in 1931 and the town grew with it for many years. " * 9)
    (folder / "deep" / "b.txt").write_text("港口于1931年开放，此后城市随之发展了许多年，居民越来越多。" * 9)
    (folder / "empty.txt").write_text("")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8")
    (folder / ".hidden.txt").write_text("hidden")


def test_a_folder_is_counted_by_what_can_be_read(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "loop").symlink_to(".")
    survey = survey_folder(tmp_path)
    assert (survey.documents, survey.skipped) == (2, {"empty": 1, ".jpg": 1, "link to a folder": 1})
    assert survey.langs == {"en": 0.5, "zh": 0.5}
    assert survey.tokens > 100


def test_a_file_that_cannot_be_read_is_counted_as_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_folder(tmp_path)

    def open_others(path: Path, *, follow_links: bool) -> IO[bytes]:
        if path.name == "a.md":
            raise PermissionError(13, "Permission denied", str(path))
        return open_regular(path, follow_links=follow_links)

    monkeypatch.setattr("ragbed.builder.new_recipe.open_regular", open_others)
    survey = survey_folder(tmp_path)
    assert (survey.documents, survey.skipped) == (1, {"empty": 1, ".jpg": 1, "unreadable": 1})
    assert survey.langs == {"zh": 1.0}


def test_a_folder_becomes_a_recipe_that_can_be_read(tmp_path: Path) -> None:
    docs, target = tmp_path / "My docs", tmp_path / "recipe.toml"
    docs.mkdir()
    (docs / "a.md").write_text("The council opened the bridge on Tuesday, and the mayor was glad of it. " * 3)
    target.write_text(write_recipe(docs, "openai/gpt-4o", survey=survey_folder(docs), items=7))
    recipe = read_recipe(target)
    assert (recipe.name, recipe.langs, recipe.wanted) == ("My-docs", ("en",), RecipeCounts(base=7))
    assert (recipe.sources[0].kind, Path(recipe.sources[0].place)) == ("folder", docs)
    target.write_text(write_recipe(docs, "openai/gpt-4o", survey=None, items=7, home=tmp_path))
    assert (read_recipe(target).sources[0].place, read_recipe(target).langs) == ("My docs", ("en", "zh"))
