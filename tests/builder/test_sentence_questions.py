"""Questions that a model writes about a sentence and a value that the rules select."""

from __future__ import annotations

import pytest
from msgspec import structs

from ragbed.builder.drafting import draft_question
from ragbed.builder.rules.facts import Fact
from ragbed.builder.sentence_questions import make_sentence_case, read_question, select_facts
from ragbed.schema import Article, Lang

TITLES: dict[Lang, str] = {"en": "Baths of Lower Quenby reopen", "zh": "下渠镇游泳馆重新开放"}
TEXTS: dict[Lang, str] = {
    "en": "The new hall of the baths has 1,318 lockers and a café. They sold 212 tickets in the first week.",
    "zh": "新馆的大厅一共装了1318个柜子，还有一间咖啡厅。去年他们卖出2120张门票，比前几年都多。",
}


def article(lang: Lang) -> Article:
    return Article(id="a", url="a.md", title=TITLES[lang], text=TEXTS[lang], lang=lang, sha256="", source="docs")


def only_fact(lang: Lang) -> Fact:
    (fact,) = select_facts(article(lang), 9)
    return fact


@pytest.mark.parametrize(("lang", "answer"), [("en", "1,318"), ("zh", "1318个")])
def test_sentences_that_refer_to_others_are_not_selected(lang: Lang, answer: str) -> None:
    assert only_fact(lang).answer == answer


@pytest.mark.parametrize(("lang", "marked"), [("en", "has [[1,318]] lockers"), ("zh", "装了[[1318个]]柜子")])
def test_the_prompt_marks_the_answer(lang: Lang, marked: str) -> None:
    assert marked in make_sentence_case(article(lang), only_fact(lang)).messages[0].content


@pytest.mark.parametrize(
    ("lang", "reply", "question"),
    [
        ("en", "Question: How many lockers does the new hall of the baths have?",
         "According to “Baths of Lower Quenby reopen”, how many lockers does the new hall of the baths have?"),
        ("en", "How many lockers does the new hall of the baths have?",
         "According to “Baths of Lower Quenby reopen”, how many lockers does the new hall of the baths have?"),
        ("zh", "问题：新馆的大厅一共装了多少个柜子？", "根据《下渠镇游泳馆重新开放》，新馆的大厅一共装了多少个柜子？"),
    ],
)  # fmt: skip
def test_questions_that_keep_the_sentence_are_accepted(lang: Lang, reply: str, question: str) -> None:
    fields = read_question(article(lang), only_fact(lang), reply)
    assert isinstance(fields, dict)
    assert fields["question"] == question
    assert draft_question(fields, lang, article(lang)).outcome == ""


@pytest.mark.parametrize(
    ("lang", "reply", "outcome"),
    [
        ("en", "I cannot do that.", "no-question"),
        ("en", "Question: Who built the lockers of the new hall of the baths?", "type"),
        ("en", "Question: How many dolphins, sharks and penguins live in the baths?", "unrelated"),
        ("en", "Question: How many lockers?", "unrelated"),
        ("en", "Question: How many baths does the new hall with lockers and a café have?", "unrelated"),
        ("zh", "好的", "no-question"),
        ("zh", "问题：新馆的大厅由谁设计？", "type"),
        ("zh", "问题：动物园里的大象、狮子和老虎一共有多少只？", "unrelated"),
        ("zh", "问题：柜子有多少？", "unrelated"),
        ("zh", "问题：新馆的大厅一共装了多少间咖啡厅，还有柜子？", "unrelated"),
    ],
)
def test_questions_that_change_the_fact_are_rejected(lang: Lang, reply: str, outcome: str) -> None:
    found = read_question(article(lang), only_fact(lang), reply)
    assert not isinstance(found, dict)
    assert found[0] == outcome


def test_a_second_question_is_rejected() -> None:
    reply = "Question: How many lockers does the new hall of the baths have? When did the new hall of the baths reopen?"
    found = read_question(article("en"), only_fact("en"), reply)
    assert not isinstance(found, dict)
    assert found[0] == "no-question"


def test_titles_of_works_are_not_selected() -> None:
    text = "In 1998 Anna Berg directed the film “The Silent Coast” in Northport, which won 14 prizes."
    found = select_facts(structs.replace(article("en"), text=text), 9)
    assert all("Silent" not in fact.answer for fact in found)
    for fact in found:
        read_question(structs.replace(article("en"), text=text), fact, "Question: How many prizes did it win?")
