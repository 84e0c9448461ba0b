"""`ragbed demo` shows every ability in both languages, as a person would want to read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.runner.store import open_store
from tests.cli.typed import type_command


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "demo")


def test_the_examples_of_figure_1_are_shown_with_what_is_expected(folder: str) -> None:
    done = type_command("demo", "-m", "baseline/lexical", "--out", folder)
    shown = " ".join(done.out.split())
    assert done.code == 0
    for expected in (
        "Expected Annie Ernaux",
        "Expected I can not answer the question because of the insufficient information in documents.",
        "Expected May 18 and March 1",
        "Expected There are factual errors in the provided documents. Athens",
        "期望 安妮·埃尔诺",
        "期望 文档信息不足，因此我无法基于提供的文档回答该问题。",
        "期望 5月18日、3月1日",
        "期望 提供文档的文档存在事实性错误。 雅典",
    ):
        assert expected in shown


def test_a_run_on_every_testbed_follows_and_stays_there_to_be_looked_at(folder: str) -> None:
    done = type_command("demo", "-m", "baseline/lexical", "--lang", "en", "--out", folder)
    for testbed, asked in (
        ("noise", 22), ("rejection", 11), ("integration", 6), ("counterfactual", 11), ("closed-book", 33)
    ):  # fmt: skip
        row = next(line.split() for line in done.out.splitlines() if line.startswith(f"{testbed} "))
        assert str(asked) in row
    with open_store(Path(folder), create=False) as store:
        assert len(list(store.results())) == 83
    assert f"ragbed export {folder}" in done.out
    assert f"browser: {folder}/report.html" in done.out
    assert "baseline/lexical" in Path(folder, "report.html").read_text()
    assert type_command("demo", "-m", "baseline/lexical", "--lang", "en", "--out", folder).out == done.out


def test_without_the_weights_the_baseline_stands_in_and_the_command_is_told(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = type_command("demo", "--out", folder, env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert done.code == 0
    assert "bring them with: ragbed data get smollm2" in done.err
    assert "bundled/smollm2 reads English only" in done.out
    assert not Path(folder).exists()


def test_a_language_can_be_chosen(folder: str) -> None:
    assert "Annie Ernaux" not in type_command("demo", "--lang", "zh", "--out", folder).out
    assert type_command("demo", "--lang", "xx").code == 2
