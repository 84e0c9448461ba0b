"""Verdicts and their evidence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import ragbed
from ragbed.data import Dataset
from ragbed.schema import Lang
from ragbed.scoring.robust import explain, score
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.golden.facts import closed_book_cases, make_response, read_facts
from tests.scoring.robust.cases import make_case, spread

OLYMPICS = make_case("Which city hosted the 2004 Summer Olympics?", [["Athens"]], [["New York"]])

# Expected verdicts and the kinds of responses that get them, independent of the labels of the original code.
VERDICTS = {
    "correct": "gold every_alias lower last_alias_upper flag_gold flag_other_language refuse_then_gold",
    "correct partial": "first_slot last_slot no_flag",
    "refused": (
        "refuse refuse_capital refuse_first_letter refuse_upper refuse_short refuse_other_language refuse_spaced "
        "flag_refuse"
    ),
    "flag-only": "flag_one flag_only flag_short flag_upper",
    "incorrect": "negated wrong",
    "empty": "empty",
}


def test_every_golden_response_gets_the_verdict_of_its_kind(rgb_dir: Path) -> None:
    cases = closed_book_cases(rgb_dir)
    given: dict[str, Counter[str]] = {}
    for line in read_facts("labels"):
        case = cases[line["file"], str(line["id"])]
        values = score(case, make_response(case, line["kind"]))
        given.setdefault(line["kind"], Counter())[str(values["verdict"])] += 1
        assert values["flagged"] is line["kind"].startswith("flag")
    wanted = {kind: set(verdicts.split()) for verdicts, kinds in VERDICTS.items() for kind in kinds.split()}
    assert {kind: set(given[kind]) for kind in wanted} == wanted


def test_a_verdict_names_its_rules_and_their_spans() -> None:
    reply = "The documents are wrong. It was probably ＡＴＨＥＮＳ, not New York."
    assert explain(OLYMPICS, reply) == (
        "correct",
        [
            ("flag", 0, 25, "The documents are wrong. "),
            ("answer.name.asserted", 41, 47, "ＡＴＨＥＮＳ"),
            ("fake.name.denied", 53, 61, "New York"),
        ],
    )


def test_positions_refer_to_the_original_reply() -> None:
    reply = "<think>纽约？</think>\n 奧運會 在 雅 典。"
    verdict, findings = explain(make_case("在哪里？", [["雅典"]], [["纽约"]], "zh"), reply)
    assert verdict == "correct"
    assert [(finding.rule, finding.text) for finding in findings] == [("answer.name.asserted", "雅 典")]


@pytest.mark.parametrize("reply", ["", "\x00\x07\u200b\u202e", " \n\t", "<think>Athens, I would say", "…!?"])
def test_a_reply_without_words_is_empty(reply: str) -> None:
    values = score(OLYMPICS, reply)
    assert (values["verdict"], values["correct"], values["refused"]) == ("empty", False, False)


@pytest.mark.parametrize("answer", [[], [[]], [[""]], [["Athens"], ["…"]]])
def test_an_answer_that_cannot_be_matched_gives_no_value(answer: list[list[str]]) -> None:
    values = score(make_case("Where?", answer), "Athens")
    assert values["verdict"] == "unscored"
    assert (values["correct"], values["partial"], values["aligned"]) == (None, None, None)


def test_a_false_answer_that_equals_the_true_one_does_not_mislead() -> None:
    values = score(make_case("导演是谁？", [["詹姆斯·卡梅隆"]], [["詹姆斯•卡梅隆"]], "zh"), "詹姆斯·卡梅隆")
    assert (values["correct"], values["misled"]) == (True, False)


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    [
        ("$44 billion", "44 billion US dollars", True),
        ("44 billion U.S. dollars", "It paid $44bn.", True),
        ("440亿美元", "440亿港元", False),
    ],
)
def test_different_dollars_are_different_units(answer: str, reply: str, correct: bool) -> None:
    assert score(make_case("How much was it?", [[answer]], None, "en"), reply)["correct"] is correct


def test_a_reply_with_both_answers_is_misled_and_not_correct() -> None:
    values = score(OLYMPICS, "Athens hosted the games. New York hosted the games.")
    assert (values["correct"], values["misled"], values["partial"]) == (False, True, 1.0)


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("Apple", "Was it Apple? Yes, it was. / Was it Google? No, it was Apple.", ""),
        ("Apple", "Formerly thought to be Google, it was in fact Apple.", "Was it Apple? No, it was Google."),
        ("Apple", "", "Could it be Apple? It could not: Google made it. / Google, formerly thought to be Apple"),
        ("Apple", "", "It was once believed to be Apple, but it was Google."),
        ("苹果", "是谷歌吗？不，是苹果。", "是苹果吗？不，是谷歌。 / 我原以为是苹果，后来知道是谷歌。"),
    ),
)
def test_a_question_or_a_former_belief_is_not_the_answer(answer: str, reply: str, correct: bool) -> None:
    case = make_case("Which company made it?", [[answer]], lang="en" if answer.isascii() else "zh")
    assert score(case, reply)["correct"] is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("12", "- 12 / 10-12 / 3胜12负 / It is 20 minus 12.", "-12 / minus 12 / It was −12 degrees. / minus twelve"),
        ("12", "", "零下12度 / 负十二"),
        ("-12", "It was minus twelve.", "12"),
        ("−5°C", "minus 5°C", "5°C"),
    ),
)
def test_the_sign_is_a_part_of_the_number(answer: str, reply: str, correct: bool) -> None:
    _, evidence = explain(make_case("How cold was it?", [[answer]]), reply)
    assert any(finding.rule.startswith("answer.number") for finding in evidence) is correct


@pytest.mark.parametrize(
    ("answer", "reply", "correct"),
    spread(
        ("no", "No. / No, they did not. / The answer is no", "There is no information. / There was no winner."),
        ("no", "", "Yes, no doubt. / They wore No. 5."),
        ("none", "None of them survived.", "None of the documents says so."),
        ("nothing", "", "Nothing is known about it."),
        ("没有", "没有，他们输了。", "没有相关信息。"),
        ("否", "答案：否", "是否获胜不得而知。"),
    ),
)
def test_a_no_that_negates_something_else_is_not_the_answer(answer: str, reply: str, correct: bool) -> None:
    case = make_case("Did they win?", [[answer]], lang="en" if answer.isascii() else "zh")
    assert score(case, reply)["correct"] is correct


@pytest.mark.parametrize(
    ("reply", "refused"),
    spread(
        ("找不到。 / 抱歉，文档里找不到相关的信息。 / 抱歉，我查不到。请换一份文档。 / 资料中未查到。", ""),
        ("文档有错误，也没有说明举办城市。 / There are errors, and the document does not mention the city.", ""),
        ("", "如果文档里找不到答案，可以查百科。 / 他找不到钥匙，只好翻墙。 / 错误的地方是：原文中没有提到纽约。"),
        ("", "文档的错误在于，它没有说明举办城市。 / The error is that the document does not mention Athens."),
    ),
)
def test_finding_nothing_is_a_refusal_and_naming_an_error_is_not(reply: str, refused: bool) -> None:
    case = make_case("2004年夏季奥运会在哪座城市举行？", [["雅典"]], [["纽约"]], "zh")
    assert score(case, reply)["refused"] is refused


def test_copying_several_documents_is_not_an_answer() -> None:
    documents = ["The games of 2004 were held in Athens, they said.", "Many cities applied for the games of 2008."]
    case = make_case("Where?", [["Athens"]], documents=documents)
    assert score(case, "\n".join(documents))["verdict"] == "incorrect"
    assert score(case, documents[0])["verdict"] == "correct"


@pytest.mark.parametrize(
    "reply",
    [
        "a" * 10_000_000,
        "not " * 2_500_000,
        "4 May " * 1_700_000,
        "1," * 5_000_000,
        "<think>" * 1_400_000,
        "Rome or " * 1_200_000,
        "信息不" * 3_300_000,
    ],
    ids=lambda reply: reply[:10],
)
@pytest.mark.parametrize(("answer", "lang"), [("Athens", "en"), ("70 people", "en"), ("5月3日", "zh")])
def test_replies_of_ten_megabytes_are_scored(reply: str, answer: str, lang: Lang) -> None:
    assert score(make_case("How many?", [[answer]], [["New York"]], lang), reply)["correct"] is False


def test_an_answer_at_the_end_of_a_very_long_reply_has_its_original_position() -> None:
    reply = "x " * 500_000 + "The answer is Athens."
    verdict, findings = explain(OLYMPICS, reply)
    assert verdict == "correct"
    assert findings[-1] == ("answer.name.asserted", len(reply) - 7, len(reply) - 1, "Athens")


SCORES = "How many votes did the 2020 version get, and how many votes did the 2022 version get?"


@pytest.mark.parametrize(
    ("reply", "partial", "aligned"),
    [
        ("10 votes and 20 votes.", 1, 1),
        ("20 votes and 10 votes, respectively.", 1, 0),
        ("In 2022 it got 20 votes, in 2020 it got 10 votes.", 1, 1),
        ("In 2022 it got 10 votes and in 2020 20 votes.", 1, 0),
        ("The 2020 version got 10 votes. Nothing is known of the other.", 0.5, 0.5),
        ("30 votes", 0, 0),
    ],
)
def test_parts_count_alone_and_with_their_sub_question(reply: str, partial: float, aligned: float) -> None:
    values = score(make_case(SCORES, [["10 votes"], ["20 votes"]]), reply)
    assert (values["partial"], values["aligned"]) == (partial, aligned)


@pytest.mark.parametrize(
    ("question", "answers", "reply", "swapped"),
    [
        (
            "Who were the captain and the coach of the team?",
            ("Bo Moor", "Al Rams"),
            "{1} coached a side captained by {0}.",
            "{0} coached a side captained by {1}.",
        ),
        (
            "In the divorce, who got the house and who got the boat?",
            ("Carla", "Luigi"),
            "{1} sailed off with the boat. {0} stayed in the house.",
            "{0} sailed off with the boat. {1} stayed in the house.",
        ),
        ("日本和韩国的首都分别是哪里？", ("东京", "首尔"), "{1}是韩国的，日本则是{0}。", "{0}是韩国的，日本则是{1}。"),
        ("县花和县树是什么？", ("山茶", "银杏"), "县树选了{1}，县花是{0}。", "县树选了{0}，县花是{1}。"),
    ],
)
def test_parts_belong_to_the_nearest_words_of_their_sub_question(
    question: str, answers: tuple[str, str], reply: str, swapped: str
) -> None:
    case = make_case(question, [[answer] for answer in answers], lang="en" if question.isascii() else "zh")
    assert score(case, reply.format(*answers))["aligned"] == 1
    assert score(case, swapped.format(*answers))["aligned"] == 0


def test_parts_of_different_kinds_cannot_be_confused() -> None:
    case = make_case("谁获奖，奖金是多少？", [["薛之钧"], ["90.5万元"]], lang="zh")
    assert score(case, "奖金90.5万元，由薛之钧获得。")["aligned"] == 1


def _check_answers(path: Path) -> int:
    """Check that every alias is correct and every false answer misleads; return the number of replies."""
    tried = 0
    for case in TESTBEDS["closed-book"].cases(Dataset(path.stem, path), Settings()):
        comma = "，" if case.lang == "zh" else ", "
        for number in range(max(map(len, case.answer))):
            reply = comma.join(aliases[min(number, len(aliases) - 1)] for aliases in case.answer)
            values = score(case, reply)
            assert (values["correct"], values["aligned"]) == (True, 1), (case.case, reply)
            tried += 1
        for alias in (alias for aliases in case.fake or () for alias in aliases):
            values = score(case, alias)
            assert (values["correct"], values["misled"]) == (False, True), (case.case, alias)
            tried += 1
    return tried


def test_every_bundled_answer_is_right_in_every_form_and_every_false_one_misleads() -> None:
    bundled = Path(ragbed.__file__).parent / "data" / "bundled"
    assert sum(map(_check_answers, sorted(bundled.glob("*.jsonl")))) > 500


@pytest.mark.parametrize("name", ["en_fact", "zh_int", "zh_refine"])
def test_every_published_answer_is_right_in_every_form_and_every_false_one_misleads(rgb_dir: Path, name: str) -> None:
    assert _check_answers(rgb_dir / f"{name}.json") > 100


@pytest.mark.parametrize(
    "reply",
    [
        "Insufficient information.",
        "None of the passages mention this.",
        "Unclear from the documents.",
        "Unanswerable.",
        "Nobody is named in the documents.",
        "Cannot determine.",
        "Unavailable in these sources.",
        "Undisclosed.",
    ],
)
@pytest.mark.parametrize(("question", "gold"), [("Who won the prize?", "Ann Lee"), ("Which city is it?", "Paris")])
def test_a_word_that_denies_knowledge_is_not_a_name(question: str, gold: str, reply: str) -> None:
    assert explain(make_case(question, [[gold]], None, "en"), reply)[0] == "refused"


@pytest.mark.parametrize("reply", ["London.", "Innsbruck.", "Unna.", "Indianapolis."])
def test_a_capitalised_word_as_the_whole_response_is_an_answer(reply: str) -> None:
    assert explain(make_case("Which city is it?", [["Paris"]], None, "en"), reply)[0] == "incorrect"
