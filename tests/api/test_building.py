"""Datasets built and measured from Python; tests/cli/test_build.py builds with a real generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragbed
from tests.cli.typed import type_command
from tests.servers.function_model import ModelRequest, function_model


def test_a_build_reports_its_steps_and_is_resumed(tmp_path: Path) -> None:
    documents = tmp_path / "docs"
    documents.mkdir()
    (documents / "hours.txt").write_text("The library opens at nine and closes at five. " * 20)
    recipe = ragbed.build_init(documents, model="scripted/echo", out=tmp_path / "hours.toml", trial=0)
    assert (recipe["recipe"]["generator"], recipe["recipe"]["wanted"]["base"]) == ("scripted/echo", 20)
    with pytest.raises(ragbed.UsageError, match="already exists"):
        ragbed.build_init(documents, model="scripted/echo", out=recipe["path"])
    messages: list[str] = []

    class Messages(ragbed.Progress):
        def message(self, text: str) -> None:
            messages.append(text)

    built = ragbed.build(recipe["path"], out=tmp_path / "built", progress=Messages())
    assert (built["steps"]["articles"].made, built["steps"]["questions"].rejected) == (1, {"unreadable": 1})
    assert built.exit_code == 3
    assert built.tables()[1][0] == {"file": str(tmp_path / "built/en_base.jsonl"), "wanted": 20, "delivered": 0}
    assert messages[0] == "articles: 1 → 1"
    messages.clear()
    ragbed.build(recipe["path"], out=tmp_path / "built", progress=Messages())
    assert messages[0] == "articles: 1 → 1 (unchanged; from_=articles runs it again)"
    with pytest.raises(ragbed.UsageError, match=r"unknown step 'artcles'\. Did you mean 'articles'"):
        ragbed.build(recipe["path"], out=tmp_path / "built", from_="artcles")


@pytest.mark.parametrize(("documents", "code"), [(1, 3), (40, 1)])
def test_a_build_whose_requests_are_all_rejected_says_what_to_check(documents: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(documents):
        (tmp_path / "docs" / f"{number}.txt").write_text(f"Museum {number} opens at nine and closes at five. " * 20)
    recipe = ragbed.build_init(tmp_path / "docs", model="openai-api/t/m", out=tmp_path / "hours.toml", trial=0)
    with open(recipe["path"], "a", encoding="utf-8") as file:
        file.write("\n[questions]\nper_section = 1\n")  # one request per document, so that all are in one batch
    with function_model(lambda _: (400, {"error": {"message": "Tenant not allowed"}})) as url:
        words = ("build", "run", str(recipe["path"]), "-o", str(tmp_path / "built"), "--cache", "off")
        done = type_command(*words, "--max-connections", "1", env={"T_BASE_URL": url})
    assert done.code == code
    assert "the same command would fail again. Check the key (T_API_KEY), the model name (m)" in done.err
    assert "e.g. --thinking, --reasoning-effort or --extra-body" in done.err
    assert "erun the same command" not in done.err


def test_a_build_calls_its_generator_at_the_chosen_temperature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hours.txt").write_text("The library opens at nine and closes at five. " * 20)
    recipe = ragbed.build_init(tmp_path / "docs", model="openai-api/t/m", out=tmp_path / "hours.toml", trial=0)
    received: list[float | None] = []

    def respond(request: ModelRequest) -> str:
        received.append(request.body.get("temperature"))
        return "prose"

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        for temperature in (None, "none", 0.5, 0):
            options: dict[str, Any] = {"from_": "articles", "progress": False, "cache": "off"}
            ragbed.build(recipe["path"], out=tmp_path / "built", temperature=temperature, **options)
    assert list(dict.fromkeys(received)) == [0, None, 0.5]
    assert received[-1] == 0.5  # the last build finds the responses of the first
    assert len([*(tmp_path / "built/kept/asked").iterdir()]) == 3


def test_quality_is_measured() -> None:
    measured = ragbed.build_quality("ragbed-mini-en_base")
    assert {row["family"] for row in measured.records()} >= {"labels", "pools"}
    assert measured["ok"] is (not measured["quality"].failed)


def test_the_installation_and_the_cache_are_inspected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path))
    assert ragbed.doctor()["models"]["scripted"].works
    assert ragbed.doctor()["cache"]["entries"] == 0
    ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=2, out=tmp_path / "run")
    assert ragbed.doctor()["cache"]["entries"] == 2
