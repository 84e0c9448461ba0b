"""Passages by their nearness to a question, in its language; their vectors are kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.builder.build_context import Build, FetchedPage, Pool
from ragbed.builder.ranking import make_ranking
from ragbed.builder.recipe import RecipeRanking
from ragbed.schema import Hit, Lang, Reject
from tests.builder.steps import article, draft, make_build, write

BRIDGE = "The Orsa Bridge in Velden was designed by Ingrid Halvorsen."
TEXTS: dict[str, tuple[Lang, str]] = {
    "bakery": ("en", "The bakery on Mill Lane sells rye bread on Fridays."),
    "bridge": ("en", f"{BRIDGE} {'Tickets are sold at the gate on most days of the year. ' * 6}"),
    "桥": ("zh", "奥萨大桥由英格丽设计。"),
}


def lay_out(folder: Path, ranking: RecipeRanking) -> Build:
    build = make_build(folder, lambda *_: "", ranking=ranking)
    asked = {"q": "Who designed the Orsa Bridge in Velden?", "lost": "Who is lost?"}
    write(build, "questions", [draft(name, question, "x") for name, question in asked.items()])
    found = [("q", name) for name in TEXTS] + [("lost", "gone")]
    write(build, "hits", [
        Hit(question=question, rank=1, url=url, title=url, snippet="", engine="double") for question, url in found
    ])  # fmt: skip
    pages = {name: article(name, text, lang=lang) for name, (lang, text) in TEXTS.items()}
    write(build, "pages", [FetchedPage(hit=name, article=page) for name, page in pages.items()])
    return build


def ranked(build: Build) -> tuple[Pool, list[Reject]]:
    found = list(make_ranking(build))
    (one,) = (one for one in found if isinstance(one, Pool))
    return one, [one for one in found if isinstance(one, Reject)]


@pytest.mark.parametrize("encoder", ["bm25", "e5"])
def test_the_passage_that_answers_comes_first_and_other_languages_do_not_come(tmp_path: Path, encoder: str) -> None:
    one, rejects = ranked(lay_out(tmp_path, RecipeRanking(encoder=encoder, tokens=60)))
    assert one.passages[0].text.startswith(BRIDGE)
    assert {passage.url for passage in one.passages} == {"bridge", "bakery"}
    assert len(one.passages) == 3
    assert [(reject.what, reject.outcome) for reject in rejects] == [("桥", "language"), ("Who is lost?", "no-pages")]


def test_so_many_passages_stay_and_kept_vectors_are_used(tmp_path: Path) -> None:
    build = lay_out(tmp_path, RecipeRanking(top=1, tokens=60))
    one, _ = ranked(build)
    assert [passage.text[: len(BRIDGE)] for passage in one.passages] == [BRIDGE]
    with closing(sqlite3.connect(build.kept / "pages.db")) as file:
        file.execute("UPDATE answers SET body = zeroblob(length(body))")
        file.commit()
    assert [passage.url for passage in ranked(build)[0].passages] == ["bakery"]  # the first of equals
