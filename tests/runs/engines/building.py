"""The part of a build that an engine runs: splitting pages into passages."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import msgspec

from ragbed.builder.articles import make_articles
from ragbed.builder.build_context import Build, FetchedPage
from ragbed.builder.passages import make_passages
from ragbed.builder.recipe import read_recipe
from ragbed.runs.engines import Engine
from ragbed.schema import Article, Chunk

_RECIPE = """
name = "made"
generator = "scripted/refuser"
langs = ["en"]
[wanted]
base = 1
[[sources]]
kind = "folder"
place = "{place}"
"""


def write_pages(folder: Path, count: int) -> None:
    """Write pages that all differ."""
    folder.mkdir()
    for number in range(count):
        told = (f"In the year {number} the bridge number {place} was built over the river." for place in range(60))
        (folder / f"{number:06}.html").write_text(
            f"<html><head><title>Bridge {number}</title></head><body><p>{' '.join(told)}</p></body></html>"
        )


def build_with(engine: Engine, pages: Path, folder: Path) -> tuple[str, int, int]:
    """Read and split pages as a build does; return a hash and the numbers of articles and chunks."""
    (folder / "steps").mkdir(parents=True)
    (folder / "recipe.toml").write_text(_RECIPE.format(place=pages))
    build = Build(
        folder, read_recipe(folder / "recipe.toml"), date(2026, 11, 15), lambda _: {}, engine=engine, home=folder
    )
    digest, articles = hashlib.sha256(), 0
    with open(build.file_of("pages"), "wb") as sink:
        for found in make_articles(build):
            digest.update(msgspec.json.encode(found))
            if isinstance(found, Article):
                articles += 1
                sink.write(msgspec.json.encode(FetchedPage(hit=found.url, article=found)) + b"\n")
    passages: list[Chunk] = []
    for chunk in make_passages(build):
        digest.update(msgspec.json.encode(chunk))
        passages.append(chunk)
    return digest.hexdigest(), articles, len(passages)
