"""Properties of the scorer: longer Chinese names, numbers in many notations, encoded text, reports without errors."""

from __future__ import annotations

import html
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbed.schema import Lang
from ragbed.scoring.robust import certainty, score
from ragbed.scoring.robust.candidates import SURNAMES
from ragbed.text import in_words
from tests.scoring.robust.cases import make_case

_GIVEN = "伟芳娜敏静强磊洋杰"
_THIRD = "丽国华明军"


def _score(question: str, answer: str, reply: str, lang: Lang = "en", fake: str | None = None) -> dict[str, object]:
    return score(make_case(question, [[answer]], [[fake]] if fake else None, lang), reply)  # type: ignore[return-value]


@given(
    st.sampled_from(sorted(SURNAMES - set("东西南北上皇长百方高金白黄马石江海田"))),
    st.sampled_from(_GIVEN),
    st.sampled_from(_THIRD),
    st.sampled_from(["{}", "{}。", "是{}。", "答案是{}", "答案：{}", "获奖的是{}。"]),
)
@settings(max_examples=120, deadline=None)
def test_a_longer_chinese_name_is_never_credited_for_a_shorter_one(
    surname: str, name: str, third: str, frame: str
) -> None:
    reply = frame.format(surname + name + third)
    assert not _score("哪位获奖？", surname + name, reply, "zh")["correct"], reply


@pytest.mark.parametrize(
    "reply", ["张伟丽获得了冠军。", "张伟丽夺冠。", "冠军是张伟丽。", '{"答案": "张伟丽"}', "张伟丽"]
)
def test_zhang_weili_is_not_zhang_wei(reply: str) -> None:
    assert not _score("谁获得了冠军？", "张伟", reply, "zh")["correct"]
    assert _score("谁获得了冠军？", "张伟丽", reply, "zh")["correct"]


@given(st.integers(13, 999_999))
@settings(max_examples=60, deadline=None)
def test_a_number_matches_in_every_notation(number: int) -> None:
    question = "How many were counted?"
    for reply in (f"{number}", f"{number:,}", f"It was {number:,}.", in_words(number), f'{{"answer": {number}}}'):
        assert _score(question, str(number), reply)["correct"], reply
        assert not _score(question, str(number + 1), reply)["correct"], reply


@given(st.integers(0, 23), st.integers(0, 59))
@settings(max_examples=60, deadline=None)
def test_a_time_of_day_matches_in_every_notation(hour: int, minute: int) -> None:
    half, short = "ap"[hour >= 12], hour % 12 or 12
    for reply in (f"{hour:02}:{minute:02}", f"{short}:{minute:02} {half}m", f"{short}.{minute:02} {half.upper()}.M."):
        for answer in (f"{short}:{minute:02} {half}.m.", f"{hour:02}:{minute:02}"):
            assert _score("What time does it start?", answer, reply)["correct"], (answer, reply)
        assert not _score("What time does it start?", f"{hour:02}:{(minute + 1) % 60:02}", reply)["correct"]
    if minute:
        reply = f"It starts at {in_words(minute)} past {in_words(short)} in the {('morning', 'afternoon')[hour >= 12]}."
        assert _score("What time does it start?", f"{hour:02}:{minute:02}", reply)["correct"], reply


@given(st.integers(12, 20), st.integers(2, 9))
def test_a_century_and_a_decade_match_in_other_notations(century: int, tens: int) -> None:
    for number in (century, century + 1):
        found = _score("In which century was it built?", f"{number}th century", f"In the {century - 1}00s.")["correct"]
        assert found is (number == century)
    assert _score("In which decade was it built?", f"{century - 1}{tens}0s", f"In the {tens}0s.")["correct"]


@pytest.mark.parametrize("name", ["Barnes & Noble", 'the "Old Mill"', "Café Müller", "Côte d'Or", "<Edge>"])
def test_html_entities_and_json_escapes_are_read(name: str) -> None:
    for reply in (html.escape(name), json.dumps({"answer": name}), json.dumps([name]), f"Answer:\\n{name}"):
        assert _score("Which one is it?", name, reply)["correct"], reply
    numeric = "".join(f"&#{ord(character)};" for character in name)
    assert _score("Which one is it?", name, numeric)["correct"]
    assert _score("是哪里？", "云南大理", json.dumps({"答案": "云南大理"}), "zh")["correct"]


@pytest.mark.parametrize(
    ("question", "answer", "report", "lang"),
    [
        ("Who led the survey?", "Ines Varga", "There were no mistakes in any of the passages.", "en"),
        ("Who led the survey?", "Ines Varga", "I see no contradictions in the sources.", "en"),
        ("Who led the survey?", "Ines Varga", "Mistakes: none", "en"),
        ("Who led the survey?", "Ines Varga", "The passages agree.", "en"),
        ("Who led the survey?", "Ines Varga", "All the documents agree on that.", "en"),
        ("谁主持了勘测？", "林晓", "文章中没有任何错误。", "zh"),
        ("谁主持了勘测？", "林晓", "资料之间不存在矛盾。", "zh"),
        ("谁主持了勘测？", "林晓", "几份文档说法一致。", "zh"),
        ("谁主持了勘测？", "林晓", "矛盾：无", "zh"),
    ],
)
def test_an_answer_with_a_report_without_errors_is_an_answer(
    question: str, answer: str, report: str, lang: Lang
) -> None:
    values = _score(question, answer, f"{answer}{'.' if lang == 'en' else '。'} {report}", lang)
    assert (values["correct"], values["refused"], values["flagged"]) == (True, False, False)
    assert _score(question, answer, report, lang)["flagged"] is False


@pytest.mark.parametrize(
    ("question", "answer", "reply", "lang"),
    [
        ("How often does the ferry sail?", "twice a day", "It sails twice a day.", "en"),
        ("How often does the ferry sail?", "never on Sundays", "Never on Sundays.", "en"),
        ("How often is the vault opened?", "rarely", "The vault is rarely opened.", "en"),
        ("渡船多久开一班？", "每天两班", "每天两班。", "zh"),
        ("金库多久打开一次？", "很少", "金库很少打开。", "zh"),
    ],
)
def test_an_answer_that_states_a_frequency_is_no_refusal(question: str, answer: str, reply: str, lang: Lang) -> None:
    values = _score(question, answer, reply, lang)
    assert (values["correct"], values["refused"]) == (True, False)


def test_a_copy_of_the_supporting_document_is_an_answer() -> None:
    document = "The survey of the northern marshes was led by Ines Varga and took two summers."
    case = make_case("Who led the survey?", [["Ines Varga"]], documents=[document, document.replace("two", "three")])
    assert score(case, document)["correct"] is True
    assert score(case, " ".join(each.text for each in case.documents))["correct"] is False


def test_a_clear_verdict_has_a_certain_probability() -> None:
    case = make_case("Who led the survey?", [["Ines Varga"]], [["Otto Lenk"]])
    assert certainty(case, "Ines Varga led the survey.")["correct"] > 0.9
    assert certainty(case, "Otto Lenk led the survey.")["correct"] < 0.1
    assert certainty(case, "The documents do not say who led it.")["refused"] > 0.9
