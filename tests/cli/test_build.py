"""`ragbed build` as a user types it: a whole benchmark from a folder, with a generator at the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragbed.datasets import Dataset, kind_of
from tests.build.world_site import World, make_world, running_generator
from tests.cli.typed import Done, type_command

RECIPE = """
name = "world"
generator = "openai-api/world/generator"
langs = ["en", "zh"]
[wanted]
base = 3
integration = 1
counterfactual = 1
[[sources]]
kind = "folder"
place = "docs"
licence = "CC0"
[questions]
per_article = 1
surplus = 2
[ranking]
encoder = "e5-static"
[pools]
sources = 2
spread = 3
distracts = 3
"""


@pytest.fixture(scope="module")
def world() -> World:
    return make_world()


@pytest.fixture
def place(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with documents and a recipe, and the generator at work."""
    world.asked.clear()
    world.write_folder(tmp_path / "docs")
    (tmp_path / "world.toml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
    with running_generator(world) as url:
        monkeypatch.setenv("WORLD_BASE_URL", url)
        yield tmp_path


def build(*words: str) -> Done:
    return type_command("build", "world.toml", "-o", "out", *words)


def contents(folder: Path) -> dict[str, bytes]:
    """All that a build leaves, but for what is kept from outside."""
    files = [*folder.glob("*.jsonl"), folder / "build.lock", *(folder / "steps").glob("*.jsonl")]
    return {path.name: path.read_bytes() for path in files}


def test_a_folder_becomes_a_benchmark_with_all_four_testbeds_in_both_languages(place: Path, world: World) -> None:
    done = build("--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert {(one["file"], one["wanted"], one["made"]) for one in summary["files"]} == {
        (f"{lang}_{kind}.jsonl", count, count) for lang in ("en", "zh") for kind, count in (("base", 3), ("int", 1), ("fact", 1))
    }  # fmt: skip
