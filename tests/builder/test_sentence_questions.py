"""Questions that a model writes about a sentence and a value that the rules select."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from msgspec import json, structs

from ragbed.builder.build_context import Build
from ragbed.builder.drafting import draft_question
from ragbed.builder.model_requests import Request
from ragbed.builder.questions import make_questions
from ragbed.builder.recipe import Recipe
from ragbed.builder.records import Draft
from ragbed.builder.rules.facts import Fact
from ragbed.builder.sentence_questions import is_clear, make_sentence_case, read_question, select_facts
from ragbed.schema import Article, Completion, Lang, Reject

TITLES: dict[Lang, str] = {"en": "Baths of Lower Quenby reopen", "zh": "下渠镇游泳馆重新开放"}
TEXTS: dict[Lang, str] = {
    "en": "The new hall of the baths has 1,318 lockers and a café. They sold 212 tickets in the first week.",
    "zh": "新馆的大厅一共装了1318个柜子，还有一间咖啡厅。去年他们卖出2120张门票，比前几年都多。",
}


def article(lang: Lang) -> Article:
    return Article(id="a", url="a.md", title=TITLES[lang], text=TEXTS[lang], lang=lang, sha256="", source="docs")


def only_fact(lang: Lang) -> Fact:
    (fact,) = select_facts(article(lang), 1)
    return fact


@pytest.mark.parametrize(("lang", "answers"), [("en", ["1,318", "212"]), ("zh", ["1318个", "2120张"])])
def test_sentences_that_refer_to_others_are_selected_last(lang: Lang, answers: list[str]) -> None:
    found = select_facts(article(lang), 9)
    assert [fact.answer for fact in found] == answers
    assert [is_clear(fact, lang) for fact in found] == [True, False]


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


@pytest.mark.parametrize(("lang", "words"), [("en", "begin the question with: How many lockers"), ("zh", "“多少个”")])
def test_the_prompt_names_the_question_words(lang: Lang, words: str) -> None:
    assert words in make_sentence_case(article(lang), only_fact(lang)).messages[0].content


GOOD = "Question: How many lockers does the new hall of the baths have?"
BAD = "Question: Who built the lockers of the new hall of the baths?"


CLEAR, UNCLEAR = TEXTS["en"].split(". ")


def write_questions(
    folder: Path, replies: dict[str, Completion], text: str = f"{CLEAR}."
) -> tuple[list[Draft], list[str], list[str]]:
    """Return the drafts, the outcomes of the rejects and the tasks, given the response to each task."""
    asked = []

    def ask(request: Request) -> dict[str, list[Completion]]:
        asked.append(request.task)
        return {case.case: [replies[request.task]] for case in request.cases}

    (folder / "steps").mkdir()
    (folder / "steps" / "articles.jsonl").write_bytes(json.encode(structs.replace(article("en"), text=text)) + b"\n")
    recipe = json.decode(
        b'{"name": "baths", "generator": "m", "langs": ["en"], "wanted": {"base": 5},'
        b' "sources": [{"kind": "folder", "place": "docs"}], "questions": {"prompt": "sentence"}}',
        type=Recipe,
    )
    found = list(make_questions(Build(folder, recipe, date(2026, 1, 1), ask)))
    drafts = [one for one in found if isinstance(one, Draft)]
    return drafts, [one.outcome for one in found if isinstance(one, Reject)], asked


def test_a_usable_question_is_not_written_again(tmp_path: Path) -> None:
    (draft,), outcomes, asked = write_questions(tmp_path, {"sentence": Completion(outcome="ok", reply=GOOD)})
    assert (draft.by_rules, outcomes, asked) == (False, [], ["sentence"])


def test_the_generator_may_repair_a_question_once(tmp_path: Path) -> None:
    replies = {"sentence": Completion(outcome="ok", reply=BAD), "repair": Completion(outcome="ok", reply=GOOD)}
    (draft,), outcomes, asked = write_questions(tmp_path, replies)
    assert (draft.by_rules, outcomes, asked) == (False, [], ["sentence", "repair"])


def test_a_question_by_the_rules_replaces_one_that_cannot_be_used(tmp_path: Path) -> None:
    replies = {"sentence": Completion(outcome="ok", reply=BAD), "repair": Completion(outcome="ok", reply=BAD)}
    (draft,), outcomes, _ = write_questions(tmp_path, replies)
    assert draft.by_rules
    assert draft.question == only_fact("en").question
    assert outcomes == ["type"]


def test_a_sentence_that_refers_to_another_is_quoted_without_a_call(tmp_path: Path) -> None:
    (draft,), outcomes, asked = write_questions(tmp_path, {}, UNCLEAR)
    assert (draft.by_rules, draft.answer, outcomes, asked) == (True, (("212",),), ["vague"], [])


def test_a_failed_call_is_not_replaced(tmp_path: Path) -> None:
    drafts, outcomes, _ = write_questions(tmp_path, {"sentence": Completion(outcome="error", error="timeout: 10 s")})
    assert (drafts, outcomes) == ([], ["error"])


@pytest.mark.parametrize(
    ("lang", "text", "answer", "reply"),
    [
        ("en", "Small lockers in the hall cost 20 cents, large lockers 45 cents.", "45",
         "How many cents do small lockers in the hall cost?"),
        ("en", "Small lockers in the hall cost 20 cents, large lockers 45 cents.", "45",
         "How many cents do lockers cost in the hall?"),
        ("en", "The keeper Anna Berg left the baths after 34 years.", "34",
         "How many years did the keeper Anna Berg leave?"),
        ("en", "Anna Berg kept the old baths of Quenby until 1969.", "1969",
         "In which year did Anna Berg keep the baths of Quenby?"),
        ("zh", "小柜子在大厅里每天收费20元，大柜子每天收费45元。", "45元", "小柜子在大厅里每天收费多少元？"),
        ("zh", "大厅里的新柜子均完工于2022年之后，由馆里验收。", "2022年", "大厅里的新柜子完工于哪一年？"),
    ],
)  # fmt: skip
def test_questions_about_another_value_or_part_are_rejected(lang: Lang, text: str, answer: str, reply: str) -> None:
    source = structs.replace(article(lang), text=text)
    fact = next(fact for fact in select_facts(source, 9) if fact.answer == answer)
    found = read_question(source, fact, reply)
    assert not isinstance(found, dict)
    assert found[0] == "unrelated"


def test_years_are_asked_for_with_their_preposition() -> None:
    source = structs.replace(article("en"), text="Anna Berg kept the old baths of Quenby until 1969.")
    (fact,) = select_facts(source, 9)
    assert "with: Until which year" in make_sentence_case(source, fact).messages[0].content


@pytest.mark.parametrize(
    ("lang", "text", "answer", "reply"),
    [
        ("en", "The keeper's lodge of Quenby stood in the park until 1969, when a storm felled the chimney.", "1969",
         "Until which year did the keeper's lodge of Quenby stand in the park?"),
        ("en", "On 9 March a tunnel of the old baths was opened in the north wall.", "9 March",
         "On which date was a tunnel of the old baths opened in the north wall?"),
        ("en", "Anna Berg, the keeper, has run the steam rooms of Quenby since 2009.", "2009",
         "Since which year has Anna Berg run the steam rooms of Quenby?"),
        ("zh", "下渠镇的旧浴室一共有318张长椅，每张坐四个人。", "318张", "下渠镇的旧浴室一共有多少张长椅？"),
        ("zh", "下渠镇的旧浴室于1934年关闭，锅炉拆走了。", "1934年", "下渠镇的旧浴室于哪一年关闭？"),
        ("zh", "下渠镇的旧浴室一共有26,318块瓷砖，都是蓝的。", "26,318块", "下渠镇的旧浴室一共有多少块瓷砖？"),
        ("en", "The keeper Anna Berg carried 318 towels of the Quenby baths.", "318",
         "How many towels of the Quenby baths did the keeper Anna Berg carry?"),
    ],
)  # fmt: skip
def test_a_question_may_leave_out_other_parts_of_the_sentence(lang: Lang, text: str, answer: str, reply: str) -> None:
    source = structs.replace(article(lang), text=text)
    fact = next(fact for fact in select_facts(source, 9) if fact.answer == answer)
    assert isinstance(read_question(source, fact, reply), dict)


@pytest.mark.parametrize(
    ("lang", "text", "answer", "reply"),
    [
        # The value is an apposition, in a part without a verb, or in a relative clause.
        ("en", "The steamer Anna Berg, 318 tons, sailed from Quenby in 1905.", "318",
         "How many tons did the steamer Anna Berg sail from Quenby in 1905?"),
        ("en", "On the left is the lodge where the keeper Anna Berg of Quenby was born in 1843.", "1843",
         "In which year was the lodge where the keeper Anna Berg of Quenby was born?"),
        # The question changes a preposition, the subject, or adds an adjective.
        ("en", "The weight limit of the Quenby slide is 120 kg, including luggage.", "120",
         "How many kg is the weight limit of the Quenby slide for luggage?"),
        ("en", "The weight limit of the Quenby slide is 120 kg, including luggage.", "120",
         "How many kg is the weight limit of the Quenby slide?"),
        ("en", "Students of the Quenby College paid £11 a month.", "£11",
         "How much did the Quenby College pay per month?"),
        ("en", "The keeper Anna Berg painted 318 tiles of the Quenby baths.", "318",
         "How many blue tiles of the Quenby baths did the keeper Anna Berg paint?"),
        # Another verb with the same first letter.
        ("en", "The keeper Anna Berg built 318 huts of the Quenby baths.", "318",
         "How many huts of the Quenby baths did the keeper Anna Berg burn?"),
        # Two statements in one part.
        ("en", "The Quenby baths were opened in 1905 and closed by the keeper Anna Berg.", "1905",
         "In which year were the Quenby baths opened and closed by the keeper Anna Berg?"),
        ("zh", "塑料桶一来生意就不行了，1987年只剩21名木匠，1991年散伙。", "1987年",
         "塑料桶一来生意就不行了，哪一年只剩21名木匠，1991年散伙？"),
        ("zh", "1921年，商人殷子厚合资2万元在河边租地建起了浴室，有锅炉6台。", "1921年",
         "商人殷子厚合资2万元在河边租地建起了浴室，有锅炉6台是在哪一年建立的？"),
        ("zh", "浴室的门票从春天起改了，成人每次收费45元。", "45元", "成人每次收费多少元？"),
        ("zh", "浴室的大柜子每月350元，小柜子180元。", "180元", "浴室的大柜子每月350元，小柜子多少元？"),
    ],
)  # fmt: skip
def test_a_question_must_not_add_move_or_leave_out_words(lang: Lang, text: str, answer: str, reply: str) -> None:
    source = structs.replace(article(lang), text=text)
    fact = next(fact for fact in select_facts(source, 9) if fact.answer == answer)
    found = read_question(source, fact, reply)
    assert not isinstance(found, dict)
    assert found[0] == "unrelated"
