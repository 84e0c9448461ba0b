"""Searching documents for the questions of a build."""

from __future__ import annotations

from collections.abc import Iterable
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


def lay_out(folder: Path) -> Build:
    source = (RecipeSource(kind="folder", place="."),)
    recipe = Recipe(name="n", generator="m/x", sources=source, langs=("en",), search=RecipeSearch(hits=1))
    build = Build(folder, recipe, date(2026, 1, 1), lambda _: {})
    build.file_of("articles").parent.mkdir(parents=True, exist_ok=True)
    articles = [
        Article(id=name, url=name, title="", text=text, lang="en", sha256="0", source="s")
        for name, text in TEXTS.items()
    ]
    _write(build, "articles", articles)
    _write(build, "questions", [Draft(id="q", question="Where is rye bread sold?", lang="en", answer=(("x",),))])
    _write(build, "probes", [Probe(question="q")])
    return build


def _write(build: Build, step: str, records: Iterable[msgspec.Struct]) -> None:
    build.file_of(step).write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def test_own_documents_are_found_by_their_words(tmp_path: Path) -> None:
    assert [one.url for one in make_hits(lay_out(tmp_path)) if isinstance(one, Hit)] == ["bakery"]


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
