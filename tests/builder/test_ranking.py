"""Passages by their nearness to a question: one vector or many, resumed from half a file, of one language."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.build_context import Build, Draft, FetchedPage, Ranked
from ragbed.builder.ranking import make_ranking
from ragbed.builder.recipe import Recipe, RecipeRanking, RecipeSearch, RecipeSource
from ragbed.schema import Article, Chunk, Hit, Lang, Reject

TEXTS: dict[str, tuple[Lang, list[str]]] = {
    "bridge": ("en", ["The Orsa Bridge in Velden was designed by Ingrid Halvorsen.", "Tickets are sold at the gate."]),
    "bakery": ("en", ["The bakery on Mill Lane sells rye bread on Fridays."]),
    "桥": ("zh", ["奥萨大桥由英格丽设计。"]),
}


def lay_out(folder: Path, ranking: RecipeRanking, engine: str = "local") -> Build:
    source = (RecipeSource(kind="folder", place="."),)
    recipe = Recipe(
        name="n", generator="m/x", sources=source, langs=("en",), ranking=ranking, search=RecipeSearch(engine=engine)
    )
    build = Build(folder, recipe, date(2026, 1, 1), lambda _: {})
    build.file_of("pages").parent.mkdir(parents=True, exist_ok=True)
    _write(build, "questions", [_draft("q", "Who designed the Orsa Bridge in Velden?"), _draft("lost", "Who is lost?")])
    hits = [_hit("q", name) for name in TEXTS] + [_hit("lost", "gone")]
    _write(build, "hits", hits)
    _write(build, "pages", [FetchedPage(hit=name, article=_article(name)) for name in TEXTS])
    chunks = [
        Chunk(article=name, start=0, end=1, text=text, tokens=9) for name, (_, some) in TEXTS.items() for text in some
    ]
    _write(build, "passages", chunks)
    return build


def _write(build: Build, step: str, records: Iterable[msgspec.Struct]) -> None:
    build.file_of(step).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def _draft(name: str, question: str) -> Draft:
    return Draft(id=name, question=question, lang="en", answer=(("x",),))


def _hit(question: str, url: str) -> Hit:
    return Hit(question=question, rank=1, url=url, title=url, snippet=f"{url} …", engine="double")


def _article(name: str) -> Article:
    lang, texts = TEXTS[name]
    return Article(id=name, url=name, title=name, text="\n".join(texts), lang=lang, sha256="0", source="s")


def ranked(build: Build) -> tuple[list[Ranked], list[Reject]]:
    found = list(make_ranking(build))
    return [one for one in found if isinstance(one, Ranked)], [one for one in found if isinstance(one, Reject)]


@pytest.mark.parametrize("encoder", ["e5-static", "e5"])
def test_the_passage_that_answers_comes_first_and_other_languages_do_not_come(tmp_path: Path, encoder: str) -> None:
    (one,), rejects = ranked(lay_out(tmp_path, RecipeRanking(encoder=encoder)))
    assert one.candidates[0].text == TEXTS["bridge"][1][0]
    assert len(one.candidates) == 3
    scores = [candidate.score or 0 for candidate in one.candidates]
    assert scores == sorted(scores, reverse=True)
    assert [(reject.what, reject.outcome) for reject in rejects] == [("桥", "language"), ("Who is lost?", "no-pages")]


def test_so_many_passages_and_then_the_snippets_of_an_engine_stay(tmp_path: Path) -> None:
    (one,), _ = ranked(lay_out(tmp_path, RecipeRanking(encoder="e5-static", top=1), "searxng"))
    assert [candidate.is_snippet for candidate in one.candidates] == [False, True, True, True]
    assert one.candidates[1].text == "bridge …"


def test_vectors_that_a_killed_build_left_are_gone_on_with(tmp_path: Path) -> None:
    build = lay_out(tmp_path, RecipeRanking(encoder="e5-static"))
    whole, _ = ranked(build)
    (kept,) = (tmp_path / "kept").glob("vectors-*")
    vectors = kept.read_bytes()
    kept.write_bytes(vectors[: len(vectors) // 2])
    assert ranked(build)[0] == whole
    assert kept.read_bytes() == vectors
