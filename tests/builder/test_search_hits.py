"""Searching while building."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ragbed.builder.build_context import Probe
from ragbed.builder.ranking import make_hits
from ragbed.builder.recipe import RecipeSearch
from ragbed.errors import RagbedError
from tests.builder.search.engine_server import reply, running_engine
from tests.builder.steps import draft, make_build, write


def test_an_engine_that_takes_no_key_is_not_asked_about_every_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    build = make_build(tmp_path, lambda *_: "", search=RecipeSearch(engine="brave"))
    write(build, "questions", [draft(str(n), f"Doctor {n}?", "x") for n in range(9)])
    write(build, "probes", [Probe(question=str(n)) for n in range(9)])
    with running_engine() as server:
        server.script = [reply({}, 401)]
        build = replace(build, environ={"BRAVE_API_KEY": "wrong", "BRAVE_BASE_URL": server.url})
        with pytest.raises(
            RagbedError, match=r"Searching with brave failed: .*check the API key.*3 searches in a row\)"
        ):
            list(make_hits(build))
        assert len(server.asked) == 3
