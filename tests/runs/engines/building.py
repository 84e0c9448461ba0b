"""Articles of a build, split into passages by an engine."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path

import msgspec

from ragbed.builder.articles import make_articles
from ragbed.builder.build_context import Build
from ragbed.builder.passages import split_article
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
    found = list(make_articles(build))
    chunks = list(engine.spread(_split, (one for one in found if isinstance(one, Article))))
    digest = hashlib.sha256(msgspec.json.encode((found, chunks))).hexdigest()
    return digest, len(chunks), sum(map(len, chunks))


def _split(article: Article) -> list[Chunk]:
    return list(split_article(article))
