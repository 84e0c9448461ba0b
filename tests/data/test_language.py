"""The language of a file: detected from its questions, given by its items, or set by the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragbed.data import Dataset
from ragbed.data.language import detect_language
from ragbed.errors import DataError
from tests.cli.typed import type_command

_GERMAN = (
    "Wer gewann 2022 den Friedensnobelpreis?", "Wann wurde die Elbphilharmonie eröffnet?",
    "Wie hoch ist der Kölner Dom?", "In welcher Stadt fand die EM 2024 statt?", "Welche Firma kaufte Twitter?",
    "Wie viele Einwohner hat Leipzig?", "Wo liegt der Hauptsitz von SAP?", "Wer schrieb den Roman Tyll?",
    "Wann trat Olaf Scholz sein Amt an?", "Wie lange dauert die Fahrt von Berlin nach Prag?",
)  # fmt: skip
_FRENCH = (
    "Qui a remporté la Coupe du monde 2018 ?", "Quand la tour Eiffel a-t-elle été construite ?",
    "Combien d'habitants compte Lyon ?", "Où se trouve le siège de Renault ?", "Qui a écrit L'Étranger ?",
)  # fmt: skip
_SPANISH = (
    "¿Quién ganó el Mundial de 2022?", "¿Cuándo se inauguró el Museo Guggenheim?", "¿Cuántos habitantes tiene Sevilla?",
    "¿Dónde está la sede de Inditex?", "¿Quién escribió La sombra del viento?",
)  # fmt: skip
_JAPANESE = (
    "2022年のノーベル平和賞の受賞者は誰ですか？", "任天堂の本社はどこにありますか？", "富士山の標高は？",
    "京都市の人口は何人ですか？", "2024年のオリンピックの開催都市は？",
)  # fmt: skip
_CHINESE = (
    "谁获得了冠军？",
    "2022年世界杯在哪里举行？",
    "该公司的总部在哪个城市？",
    "新任市长是谁？",
    "大桥全长多少米？",
)
_ENGLISH = (
    "Who won the 2022 Citrus Bowl?", "When does the new season start?", "Where is the company's headquarters?",
    "How many people live in Utrecht?", "Which team signed the striker?",
)  # fmt: skip


@pytest.mark.parametrize(
    ("questions", "lang"),
    [
        (_GERMAN * 2, "de"), (_FRENCH * 4, "fr"), (_SPANISH * 4, "es"), (_JAPANESE * 4, "ja"), (_CHINESE * 4, "zh"),
        (_ENGLISH * 4, "en"), (_ENGLISH * 3 + _GERMAN[:8], "en"), (_JAPANESE, "ja"), (_CHINESE, "zh"),
        (("Who won?",), "en"), (("2022?",), "en"), (("iPhone 14 Pro Max发布日期",), "zh"),
        (("Who directed 霸王别姬 in the year 1993?",), "en"), (("Кто выиграл?",), "Cyrillic"),
        (("누가 이겼나요?",), "ko"),
    ],
)  # fmt: skip
def test_the_language_is_that_of_most_questions(questions: tuple[str, ...], lang: str) -> None:
    assert detect_language(questions) == lang


def _write(path: Path, *questions: str) -> Path:
    record = {"answer": "Ann Lee", "positive": ["Ann Lee."] * 5, "negative": ["Bo."] * 5}
    lines = (json.dumps({"id": number, "query": query, **record}) for number, query in enumerate(questions))
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.mark.parametrize(("questions", "lang"), [(_GERMAN * 2, "de"), (_JAPANESE * 4, "ja"), (_JAPANESE[:1], "ja")])
def test_a_file_in_another_language_is_refused(tmp_path: Path, questions: tuple[str, ...], lang: str) -> None:
    """A German file was read as English, and a Japanese one got the Chinese prompt."""
    path = _write(tmp_path / "faq.json", *questions)
    with pytest.raises(DataError, match=f"the questions are in {lang}, but prompts"):
        list(Dataset("faq", path).items())
    done = type_command("run", "-m", "scripted/oracle", "-d", str(path), "--out", str(tmp_path / "run"))
    assert (done.code, (tmp_path / "run").exists()) == (1, False)
    assert "validated scoring exist only for en and zh. To use those of en or zh anyway, set --data-lang\n" in done.err


def test_a_language_that_the_user_sets_is_used_and_its_rows_are_marked(tmp_path: Path) -> None:
    words = ("--data-lang", "en", "--testbeds", "noise", "--noise", "0", "--cache", "off", "--out", str(tmp_path / "r"))
    path = _write(tmp_path / "faq.json", *_GERMAN * 2)
    done = type_command("run", "-m", "scripted/oracle", "-d", str(path), *words)
    assert done.code == 0, done.err
    mark = "faq (de, scorer not validated for this language)"
    assert mark in done.out
    (cell, *_) = json.loads(type_command("report", str(tmp_path / "r"), "-f", "json").out)
    assert (cell["data"], cell["lang"]) == (mark, "en")


def test_a_language_that_fits_the_file_leaves_no_mark(tmp_path: Path) -> None:
    (dataset,) = (Dataset("faq", _write(tmp_path / "faq.json", *_ENGLISH)).in_language("en"),)
    assert (dataset.name, {item.lang for item in dataset.items()}) == ("faq", {"en"})


def test_the_language_of_an_item_takes_precedence(tmp_path: Path) -> None:
    item = {"id": "1", "question": _GERMAN[0], "lang": "en", "answer": [["Ann Lee"]]}
    path = tmp_path / "native.jsonl"
    path.write_text(json.dumps(item | {"passages": [{"text": "Ann Lee.", "stance": "supports"}]}), "utf-8")
    dataset = Dataset("native", path).in_language("zh")
    assert (dataset.name, [item.lang for item in dataset.items()]) == ("native", ["en"])
    done = type_command("run", "-m", "scripted/oracle", "-d", str(path), "--data-lang", "de")
    assert (done.code, "--data-lang 'de' is not one of en, zh." in done.err) == (2, True)
