"""Responses that were written to mislead the scorer: `adversarial/{en,zh}.txt`."""

from __future__ import annotations

import time

import msgspec
import pytest

from ragbed.schema import Document, Lang
from ragbed.scoring.robust import explain, score
from tests.scoring.robust.adversarial_cases import read_cases
from tests.scoring.robust.cases import make_case


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_adversarial_responses_get_their_labels(lang: Lang) -> None:
    cases = list(read_cases(lang))
    assert len(cases) >= 190
    wrong = []
    for each in cases:
        values = score(each.case, each.reply)
        found = {
            name: values[name] for name in ("correct", "refused", "flagged") if values[name] != getattr(each, name)
        }
        if found or values["verdict"] == "unsure":
            wrong.append((each.reply, found, explain(each.case, each.reply)))
    assert not wrong


# Cases of `phrasings` that the rules get wrong. They were written before the rules were run on them.
KNOWN = {"en": 7, "zh": 4}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_phrasings_written_before_the_rules_get_their_labels(lang: Lang) -> None:
    cases = list(read_cases(lang, "phrasings"))
    assert len(cases) >= 270
    wrong = []
    for each in cases:
        values = score(each.case, each.reply)
        if any(values[name] != getattr(each, name) for name in ("correct", "refused", "flagged")):
            wrong.append((each.category, each.reply, values["verdict"]))
    assert len(wrong) <= KNOWN[lang], wrong


@pytest.mark.parametrize(
    ("answer", "fake", "reply", "lang"),
    [
        ("Athens", "New York", "Athens hosted the games. New York hosted the games.", "en"),
        ("雅典", "纽约", "雅典举办了奥运会。纽约举办了奥运会。", "zh"),
    ],
)
def test_a_response_that_gives_two_answers_is_unsure_and_keeps_both_spans(
    answer: str, fake: str, reply: str, lang: Lang
) -> None:
    question = "Which city hosted the games?" if lang == "en" else "哪座城市举办了奥运会？"
    case = make_case(question, [[answer]], [[fake]], lang)
    verdict, evidence = explain(case, reply)
    assert verdict == "unsure"
    assert {answer, fake} <= {finding.text for finding in evidence}
    assert score(case, reply)["correct"] is False


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        ("7", "7" * 1_000_000),
        ("Ada Moor", "Ada Moor lost to Eva Lind, but " * 32_000),
        ("It", "It was it. " * 90_000),
        ("北京", "北京大学从北京比" * 125_000),
        ("Ян Berg李", "Ян Berg李 beat Anna. " * 50_000),
    ],
)
def test_long_responses_are_scored_in_bounded_time(answer: str, reply: str) -> None:
    started = time.process_time()
    lang: Lang = "zh" if "京" in answer else "en"
    assert score(make_case("Who won?", [[answer]], [["Eva Lind"]], lang), reply)["verdict"] != "unscored"
    assert time.process_time() - started < 10


def test_an_alias_that_is_part_of_a_rival_is_not_the_answer() -> None:
    case = make_case("Which bank lent the money?", [["Norbank"]], [["Norbank East"]])
    assert score(case, "Norbank East lent the money.")["correct"] is False
    assert score(case, "Norbank lent the money.")["correct"] is True


def test_recorded_values_of_documents_are_rivals() -> None:
    case = make_case("Which crop is grown most in the delta?", [["jute"]])
    rival = Document(text="The delta grows rice.", stance="distracts", kind="related", source=0, states="rice")
    with_rival = msgspec.structs.replace(case, documents=(rival,))
    assert score(with_rival, "Last century it was jute, but now it is rice.")["correct"] is False
    assert score(with_rival, "Last century it was rice, but now it is jute.")["correct"] is True
    same = msgspec.structs.replace(rival, states="jute")
    assert score(msgspec.structs.replace(case, documents=(same,)), "It is jute.")["correct"] is True


@pytest.mark.parametrize(
    ("answer", "fake", "reply", "verdict"),
    [
        ([["Oslo"]], [["Oslo"]], "It is Oslo.", "correct"),  # the gold answer is also the false one
        ([[""]], None, "It is Oslo.", "unscored"),
        ([["7"]], [["17"]], "17", "incorrect"),
        ([["7"]], [["17"]], "7", "correct"),
        ([["Ян Berg李"]], None, "It was Ян Berg李.", "correct"),
        ([["Oslo"]], None, "\u200b \n", "empty"),
    ],
)
def test_unusual_answers_get_a_verdict(
    answer: list[list[str]], fake: list[list[str]] | None, reply: str, verdict: str
) -> None:
    assert score(make_case("What is it?", answer, fake), reply)["verdict"] == verdict
