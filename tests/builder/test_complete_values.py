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
        ("en", "Soap at the desk costs ____ per kilogram", "£4.20", "£4.20 per kilogram"),
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
        ("zh", "烟囱在____倒了", "2019年3月9日", "2019/3/9"),
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
        ("en", "The repair of the boiler in the cellar of the baths took 4 h 19 min.", "19"),
        ("en", "The relay team of the baths won the race with a lead of 12 min 20 s.", "20"),
        ("en", "The repair of the boiler took the engineers of the baths six hours and forty minutes.", "forty"),
        ("en", "The oldest statue in the hall of the baths measures 16 ft 11 in and is made of tin.", "11"),
        ("en", "The keeper of the baths stayed in the lodge for 12 and a half years.", "12"),
        ("en", "The oldest tile in the hall of the baths measures 28 x 21 cm and is blue.", "21"),
        ("en", "The oldest tile in the hall of the baths measures 28 × 21 cm and is blue.", "28"),
        ("zh", "地下室里的旧锅炉去年修了14小时19分钟，花了不少钱。", "19分钟"),
        ("zh", "地下室里的旧锅炉去年修了14小时19分钟，花了不少钱。", "14小时"),
        ("zh", "大厅里最旧的一块蓝色瓷砖尺寸是28×21厘米，已经裂了。", "21厘米"),
        ("zh", "大厅门口的铜像连底座高三丈六尺，是盐商捐的。", "三丈"),
        ("zh", "馆长在旧浴室里前后一共住了13个月零18天，没有搬家。", "18天"),
        ("zh", "去年夏天馆里一共卖出门票26,318张，比前年多得多。", "318张"),
    ],
)
def test_a_part_of_a_longer_value_is_not_asked_for(lang: Lang, text: str, part: str) -> None:
    assert part not in ask(lang, text)


@pytest.mark.parametrize(
    ("lang", "text", "value"),
    [
        ("en", "The keeper's lodge was sold in the 1860s, with 112 merchants at the auction in the hall.", "112"),
        ("zh", "去年夏天馆里一共卖出门票26,318张，比前年多得多。", "26,318张"),
        ("zh", "馆里的夏令营办了5天，每天来了36名孩子，比前年多得多。", "36名"),
    ],
)
def test_a_complete_value_is_asked_for(lang: Lang, text: str, value: str) -> None:
    assert value in ask(lang, text)


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


@pytest.mark.parametrize("short", ["no.", "No.", "p.", "fig.", "vol."])
def test_an_abbreviation_before_a_number_does_not_end_a_sentence(short: str) -> None:
    text = f"The oldest tile of the baths is shown as {short} 30, a blue one that was fired in 1961 by the keeper."
    assert not any(": “30" in question for question in ask("en", text).values())
    assert "The oldest tile" in ask("en", text)["1961"]


def test_an_abbreviation_before_a_name_does_not_end_a_sentence() -> None:
    asked = ask("en", "The tiles of the baths come from a kiln at Mt. Quenby that was built in 1961 by two brothers.")
    assert "The tiles of the baths" in asked["1961"]


@pytest.mark.parametrize(
    ("lang", "text", "value"),
    [
        ("en", "The hall of the baths has 318 lockers.\n\nIt is warm.\n\n*Correction: 381 lockers, not 318.*", "318"),
        ("en", "The hall was tiled in 1961 by two brothers.\n\nAn earlier version of this page said 1961.", "1961"),
        ("en", "The hall was tiled in 1961 by two brothers.\n\n## Errata\n\n1961 should read 1916.", "1961"),
        ("zh", "浴室的大厅里一共装了318个柜子。\n\n池子很深。\n\n更正：柜子应为381个，上文318个有误。", "318个"),
        ("zh", "旧锅炉于1963年2月在地下室里爆炸。\n\n碑上刻的是1963年3月，没有错，是大家传错了。", "1963年2月"),
        ("zh", "浴室的海报上说演出时长是70分钟，以本表90分钟为准。", "70分钟"),
    ],
)  # fmt: skip
def test_a_value_that_the_text_corrects_is_not_asked_for(lang: Lang, text: str, value: str) -> None:
    assert value not in ask(lang, text)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "## Plans for 2026\n\nThe hall of the baths gets 318 lockers and a café."),
        ("en", "**What's next?**\n\nThe hall of the baths gets 318 lockers and a café."),
        ("en", "The keeper of the baths wishes to install 318 lockers in the hall."),
        ("en", "The board of the baths voted to install 318 lockers in the hall."),
        ("en", "The town pledged £318 for the new lockers in the hall of the baths."),
        ("zh", "## 明年计划\n\n浴室的大厅里装上318个新柜子，还有一间咖啡厅。"),
        ("zh", "理事会提议，盈余先提一成作公积金；其余318万元，六成按票数返还给会员。"),
        ("zh", "馆长今年想试着给318个旧柜子编号，缺会写字的人。"),
        ("zh", "镇里承诺给浴室的大厅装上318个新柜子。"),
    ],
)
def test_plans_and_wishes_are_not_facts(lang: Lang, text: str) -> None:
    assert not ask(lang, text)


def test_the_text_after_a_section_with_plans_is_read() -> None:
    text = "## Plans\n\nThe hall gets 318 lockers.\n\n## History\n\nThe hall was tiled in 1961 by the two brothers."
    assert list(ask("en", text)) == ["1961"]


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


@pytest.mark.parametrize(
    "text",
    [
        "旧锅炉一个冬天烧掉 318 吨煤,都靠人推上去。",
        "- 旧锅炉一个冬天烧掉318 吨煤, 都靠人推上去(共 1,250 车)。",
        "旧锅炉(10:30 点火)一个冬天烧掉 318吨煤,都靠人推上去。",
    ],
)
def test_half_width_punctuation_and_spaces_in_chinese_text(text: str) -> None:
    question = ask("zh", text)["318吨"]
    assert "一个冬天烧掉____煤，都靠人推上去" in question
    assert "“-" not in question


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("代表作《四十种白》由同样大小的水彩画组成，挂在她家的门厅里。", "四十种"),
        ("新潮日报2023年9月2日讯（记者许婶）昨天早上，小学的铁钟敲了很多下。", "2023年9月2日"),
        ("合作社的账目今后每季度结束后20天内公布，不再另行通知。", "20天"),
        ("轮渡公司取消了原来的113次夜航，因为去年乘客太少。", "113次"),
        ("## 被告辩称\n\n喷药属于正常生产；每箱1,600元的价格明显高于镇上的市价。", "1,600元"),
    ],
)
def test_values_in_titles_datelines_promises_and_claims_are_not_asked_for(text: str, value: str) -> None:
    assert value not in ask("zh", text)


def test_a_chinese_unit_is_not_split() -> None:
    assert "310单位" in ask("zh", "O型血的库存为310单位，警戒线由血液中心公布。")


def test_addresses_in_chinese_text_are_not_changed() -> None:
    text = "新馆的网页是https://a.com/x?y=1,大厅一共装了1318个柜子,还有一间咖啡厅。"
    question = ask("zh", text)["1318个"]
    assert "https://a.com/x?y=1" in question
    assert "柜子，还有一间咖啡厅" in question


def test_a_correction_in_another_part_of_a_long_text_is_found() -> None:
    filler = "镇上的人都来游泳，夏天尤其热闹。\n" * 1_500
    text = f"更衣柜共换锁386把，都由镇上的铁匠铺一家承做。\n{filler}更正：更衣柜换锁不是386把。\n"
    assert "386把" not in ask("zh", text)
