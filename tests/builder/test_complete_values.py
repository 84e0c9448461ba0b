"""Faults of questions that leave out a value: false aliases, parts of values, hints, cut and denied sentences."""

from __future__ import annotations

import pytest

from ragbed.builder.blank_aliases import fits_blank
from ragbed.builder.items import add_spellings
from ragbed.builder.rules import write_fields
from ragbed.builder.rules.revealed import is_revealed
from ragbed.schema import Article, Lang, Passage, Question

TITLE: dict[Lang, str] = {"en": "The swimming baths of Lower Quenby", "zh": "下渠镇游泳馆这一年"}


def ask(lang: Lang, text: str, title: str = "") -> dict[str, str]:
    article = Article(id="a", lang=lang, title=title or TITLE[lang], text=text, url="a.md", sha256="0", source="docs")
    return {fields["answer"]: fields["question"] for fields in write_fields(article, 20)}


@pytest.mark.parametrize(
    ("lang", "quoted", "answer", "form"),
    [
        ("en", "The leak was found in the summer of ____", "2019", "November 2019"),
        ("en", "The audit of March ____ names two pumps", "2019", "October 2019"),
        ("en", "Lost towels are kept for ____ days at the desk", "16", "16.00"),
        ("en", "The boiler used ____ megawatt-hours of gas", "8.4", "8.4 megawatt"),
        ("en", "The water flows at ____ metres per second", "2.5", "2.5 metre"),
        ("zh", "证件在申请后____内寄出", "15个工作日", "15个"),
        ("zh", "锅炉房于____改建", "2019年", "2019年11月"),
    ],
)
def test_another_value_does_not_fit_a_blank(lang: Lang, quoted: str, answer: str, form: str) -> None:
    assert not fits_blank(f"“{quoted}”", answer, form, lang)


@pytest.mark.parametrize(
    ("lang", "quoted", "answer", "form"),
    [
        ("en", "Lost towels are kept for ____ days at the desk", "16", "16 days"),
        ("en", "The audit of March ____ names two pumps", "2019", "March 2019"),
        ("en", "The old boiler ran for ____ winters", "forty-one", "41"),
        ("en", "The hall has ____ lockers", "1,318", "1318"),
        ("en", "The roof fell in on ____", "9 March 2019", "March 9, 2019"),
        ("zh", "去年来过____志愿者", "二十三位", "23位"),
        ("zh", "改建花了____", "1.2万元", "12000元"),
        ("zh", "烟囱在____倒了", "3月9日", "三月九日"),
    ],
)
def test_other_notations_of_the_value_fit_a_blank(lang: Lang, quoted: str, answer: str, form: str) -> None:
    assert fits_blank(f"“{quoted}”", answer, form, lang)


def test_a_date_elsewhere_in_the_document_is_no_alias_of_a_year() -> None:
    asked = Question(
        question="Which year completes this sentence from “Quenby Baths”: “The roof leaked in the summer of ____”?",
        lang="en",
        answer=(("2019",),),
    )
    text = "The roof leaked in the summer of 2019. The repairs ended in November 2019."
    assert add_spellings(asked, [Passage(text=text, stance="supports")]) == asked.answer


@pytest.mark.parametrize(
    ("lang", "text", "part"),
    [
        ("en", "The pumps in the cellar were inspected on 17 and 18 October by two engineers.", "17"),
        ("en", "The pumps in the cellar were inspected on 17, 18 and 19 October by two engineers.", "17"),
        ("en", "The caretaker locks the side entrance at half past eleven on Sundays.", "eleven"),
        ("en", "The caretaker counted 26 318 towels in the cellar of the baths.", "318"),
        ("en", "The town paid €26 318 for new lamps in the hall of the baths.", "€26"),
        ("zh", "去年夏天馆里一共卖出门票26 318张，比前年多得多。", "318张"),
        ("zh", "去年夏天馆里一共卖出门票26\u2009318张，比前年多得多。", "318张"),
        ("zh", "去年夏天馆里一共卖出门票26\u00a0318张，比前年多得多。", "318张"),
        ("zh", "造浪池在测试时测得水流速度13.6米/秒，创下了纪录。", "13.6米"),
        ("zh", "造浪池在测试时测得水流速度13.6米每秒，创下了纪录。", "13.6米"),
    ],
)
def test_a_part_of_a_longer_value_is_not_asked_for(lang: Lang, text: str, part: str) -> None:
    assert part not in ask(lang, text)


@pytest.mark.parametrize(
    ("lang", "question", "answer"),
    [
        ("zh", "“游泳馆____（清光绪五年）由盐商创办”", "1879年"),
        ("zh", "“游泳馆于民国二十三年（____）由盐商创办”", "1934年"),
        ("zh", "“日本分馆于令和三年即____开放”", "2021年"),
        ("zh", "“闭馆从3月9日持续到4月2日，共____”", "25天"),
        ("zh", "“墙上有____瓷砖，闰年的每一天一块”", "366块"),
        ("en", "“The bath was founded in ____ (Meiji 12) by a merchant”", "1879"),
        ("en", "“The bath was closed from 9 March to 2 April, for ____ days”", "25"),
        ("en", "“The wall has ____ tiles, one for each week of the year”", "52"),
        ("en", "“The race started at 10.05 and ended at 10.52, after ____ minutes”", "47"),
    ],
)
def test_a_question_that_tells_the_answer_in_other_words(lang: Lang, question: str, answer: str) -> None:
    assert is_revealed(question, answer, lang)


@pytest.mark.parametrize(
    ("lang", "question", "answer"),
    [
        ("zh", "“光绪五年，盐商在镇上办起了浴场，后来在____改成游泳馆”", "1934年"),
        ("zh", "“闭馆从3月9日持续到4月2日，损失____”", "25万元"),
        ("en", "“The bath was closed from 9 March to 2 April, for repairs of ____ pumps”", "25"),
        ("en", "“The wall has ____ tiles, one for each member”", "52"),
    ],
)
def test_a_question_that_does_not_tell_the_answer(lang: Lang, question: str, answer: str) -> None:
    assert not is_revealed(question, answer, lang)


def test_a_title_with_full_stops_does_not_end_a_sentence() -> None:
    asked = ask("en", "The diary of the caretaker was printed as *Cold. Deep.* in 1986; the cover shows the basin.")
    assert "printed as Cold. Deep. in ____" in asked["1986"]


def test_an_abbreviated_unit_does_not_end_a_sentence() -> None:
    text = 'The ledger found in 1986 lists a fee of 3s. 6d. "for hot water" under the name of the keeper.'
    assert not any(question.endswith("3s”?") for question in ask("en", text).values())


def test_the_last_part_of_a_chinese_list_is_no_sentence() -> None:
    text = "馆里有三个池子：长50米的主池；长25米的训练池；以及一个供儿童戏水用的18平方米浅池。"
    assert not any("“以及" in question for question in ask("zh", text).values())


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Tom Hale: The old boiler heated 318 rooms every winter.\n\nAnn Pike: He is wrong, it never did."),
        (
            "en",
            "The old boiler heated 318 rooms every winter.\n\nIt stood below the hall.\n\nThat is simply not true.",
        ),
        ("en", "Tom Hale: The old boiler heated 318 rooms of our house every winter."),
        ("en", "The owners of the baths had reported in May that the old boiler heated 318 rooms."),
        ("zh", "**郑伯（1950年生）**　全镇第一张季票是我买的，1983年，花了十二块。\n\n**许婶**　他记错了，是我家。"),
        ("zh", "郑伯：旧锅炉一个冬天烧掉318吨煤，都靠人推上去。\n\n许婶：不对，没有那么多。"),
        ("zh", "旧锅炉一个冬天烧掉318吨煤，都靠人推上去。这个说法不对，账上没有那么多。"),
        ("zh", "郑伯：我们那时一个冬天烧掉318吨煤，都靠人推上去。"),
    ],
)
def test_denied_statements_and_speaker_labels_are_not_quoted(lang: Lang, text: str) -> None:
    assert not ask(lang, text)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "The old boiler heated 318 rooms every winter.\n\nIt was loud.\n\nThe coal came up the river by barge."),
        ("en", "Season tickets: 318 were sold at the desk during the winter."),
        ("zh", "旧锅炉一个冬天烧掉318吨煤，都靠人推上去。\n\n许婶在门口卖票，卖了很多年。"),
        ("zh", "锅炉：一个冬天烧掉318吨煤，都靠人推上去。"),
    ],
)
def test_undisputed_statements_are_quoted(lang: Lang, text: str) -> None:
    assert any(answer.startswith("318") for answer in ask(lang, text))


@pytest.mark.parametrize(
    ("lang", "title", "text"),
    [
        ("en", "*The Quenby Ledger*", "The Quenby Ledger was printed by Hale & Pike in Port Quenby in March 1986."),
        ("en", "A walk with the *Quenby Ledger*", "The caretaker counted 318 towels in the cellar of the baths."),
        ("zh", "*下渠镇*游泳馆这一年", "更衣柜共换锁386把，都由镇上的铁匠铺一家承做。"),
    ],
)
def test_titles_are_quoted_without_marks_of_emphasis(lang: Lang, title: str, text: str) -> None:
    asked = ask(lang, text, title)
    assert asked
    assert not any("*" in question for question in asked.values())
