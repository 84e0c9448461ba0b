"""Searching one's own documents while building: words and vectors together, in an index that outlives a crash."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.build_context import Build, BuildServices, Draft, Probe
from ragbed.builder.ranking import make_hits
from ragbed.builder.recipe import Recipe, RecipeSearch, RecipeSource
from ragbed.errors import RagbedError
from ragbed.schema import Article, Hit
from tests.builder.search.engine_server import reply, running_engine

TEXTS = {
    "physician": "The physician treated the wounded soldiers in a tent near the front.",
    "bakery": "The bakery on Mill Lane sells rye bread on Fridays.",
    "bridge": "The Orsa Bridge in Velden was designed by Ingrid Halvorsen.",
    "tax": "The council raised the property tax by two per cent.",
}


def lay_out(folder: Path, encoder: str = "e5-static", texts: dict[str, str] = TEXTS) -> Build:
    source = (RecipeSource(kind="folder", place="."),)
    search = RecipeSearch(hits=1, encoder=encoder)
    recipe = Recipe(name="n", generator="m/x", sources=source, langs=("en",), search=search)
    build = Build(folder, recipe, date(2026, 1, 1), lambda _: {})
    build.file_of("articles").parent.mkdir(parents=True, exist_ok=True)
    articles = [
        Article(id=name, url=name, title="", text=text, lang="en", sha256="0", source="s")
        for name, text in texts.items()
    ]
    draft = Draft(id="q", question="Doctor, hospital?", lang="en", answer=(("x",),))
    _write(build, "articles", articles)
    _write(build, "questions", [draft])
    _write(build, "probes", [Probe(question="q")])
    return build


def _write(build: Build, step: str, records: Iterable[msgspec.Struct]) -> None:
    build.file_of(step).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def found(build: Build) -> list[str]:
    return [one.url for one in make_hits(build) if isinstance(one, Hit)]


def test_a_page_that_shares_no_word_with_the_question_is_found_by_its_meaning(tmp_path: Path) -> None:
    assert found(lay_out(tmp_path)) == ["physician"]


def test_without_an_encoder_words_alone_decide(tmp_path: Path) -> None:
    assert found(lay_out(tmp_path, "")) == []


def test_an_index_that_a_killed_build_left_is_gone_on_with(tmp_path: Path) -> None:
    build = lay_out(tmp_path)
    first = found(build)
    (path,) = build.kept.glob("index-*.db")
    with closing(sqlite3.connect(path)) as index:  # as if it had been killed before the last document
        index.execute("DELETE FROM documents WHERE url = 'tax'")
        index.execute("UPDATE passages SET text = 'kept as it was' WHERE document = 2")
        index.commit()
    assert found(build) == first
    with closing(sqlite3.connect(path)) as index:
        assert index.execute("SELECT count(*) FROM documents").fetchone() == (len(TEXTS),)
        assert index.execute("SELECT text FROM passages WHERE document = 2").fetchone() == ("kept as it was",)


def test_other_articles_have_another_index_and_the_old_one_goes(tmp_path: Path) -> None:
    found(lay_out(tmp_path))
    build = lay_out(tmp_path, texts={"bakery": TEXTS["bakery"]})
    assert found(build) == ["bakery"]
    assert len(list(build.kept.glob("index-*.db"))) == 1


@pytest.mark.parametrize("what", ["VERSION", "SPLITTER_VERSION"])
def test_other_tables_or_another_cutter_have_another_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    build = lay_out(tmp_path, "")
    found(build)
    (before,) = build.kept.glob("index-*.db")
    monkeypatch.setattr(f"ragbed.builder.ranking.{what}", -1)
    found(build)
    (after,) = build.kept.glob("index-*.db")
    assert after != before


def test_an_engine_that_takes_no_key_is_not_asked_about_every_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    build = lay_out(tmp_path)
    with running_engine() as server:
        server.script = [reply({}, 401)]
        environ = {"BRAVE_API_KEY": "wrong", "BRAVE_BASE_URL": server.url}
        recipe = msgspec.structs.replace(build.recipe, search=RecipeSearch(engine="brave"))
        build = Build(build.folder, recipe, build.today, build.ask, BuildServices(environ))
        (draft,) = build.read("questions", Draft)
        drafts = [msgspec.structs.replace(draft, id=str(n), question=f"Doctor {n}?") for n in range(9)]
        _write(build, "questions", drafts)
        _write(build, "probes", [Probe(question=one.id) for one in drafts])
        with pytest.raises(
            RagbedError, match=r"Searching with brave failed: .*check the API key.*3 searches in a row\)"
        ):
            list(make_hits(build))
        assert len(server.asked) == 3
