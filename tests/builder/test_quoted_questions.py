"""Questions that quote a sentence with a blank: what is left out of which sentences."""

from __future__ import annotations

import pytest

from ragbed.builder.drafting import draft_question
from ragbed.builder.items import add_spellings
from ragbed.builder.rules import WRITERS
from ragbed.builder.rules.computable import is_computable
from ragbed.schema import Lang, Passage, Question

TITLE: dict[Lang, str] = {"en": "The swimming baths of Lower Quenby", "zh": "下渠镇游泳馆这一年"}


def answers(lang: Lang, text: str, title: str = "") -> set[str]:
    facts = WRITERS[lang](title or TITLE[lang], text)
    return {fact.answer for fact in facts if "____" in fact.question}


def quotations(lang: Lang, text: str) -> list[str]:
    return [fact.question for fact in WRITERS[lang](TITLE[lang], text)]


@pytest.mark.parametrize(
    ("lang", "text", "answer"),
    [
        ("en", "The *Heron* carries 46 swimmers; the *Egret* carries fewer of them.", "46"),
        ("en", "- Season tickets: 1,318 were sold at the desk during the winter.", "1,318"),
        ("en", "The old boiler ran for forty-one winters in a row.", "forty-one"),
        ("en", "The diving board was closed on 9 March after a child fell from it.", "9 March"),
        ("en", "The “cold hour” on Mondays attracted 212 swimmers in its first month.", "212"),
        ("en", "The first lesson was given by Mrs Threlkeld in the smaller basin.", "Mrs Threlkeld"),
        ("zh", "**浴场** 平日开放14小时，节假日开放时间更短一些。", "14小时"),
        ("zh", "▸ 更衣柜共换锁386把，都由镇上的铁匠铺一家承做。", "386把"),
        ("zh", "答：去年夏天这里一共来过二十三位志愿救生员。", "二十三位"),
        ("zh", "锅炉房的烟囱因为大风在3月9日倒了半截，没有伤到人。", "3月9日"),
        ("zh", "名叫“冷水钟”的早场头一个月就吸引了212人下水。", "212人"),
    ],
)
def test_values_are_left_out_of_statements(lang: Lang, text: str, answer: str) -> None:
    assert answer in answers(lang, text)


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "A second basin of 212 square metres should open, provided that the bank agrees."),
        ("en", "The repairs to the roof of the hall are put at 212,000 crowns."),
        ("en", "The club's own figure is 318 visits, assuming two visits a week for everybody."),
        ("en", "The loan for the boiler was originally to end in 2014, then a little later."),
        ("en", "The caretaker’d gladly trade the whole lot for 318 new towels."),
        ("en", "The brochure of the baths mentions 318 lockers in the main hall."),
        ("en", "The first swimmers came in by 6.45, but the doors were shut."),
        ("en", "The chance of a crowded basin fell to 1 in 20 on weekday mornings."),
        ("en", "The treasurer counted 318 members in the spring. That was wrong, as she admitted."),
        ("en", "The heating was repaired three years after Port Quenby replaced its own pumps."),
        ("en", "Tickets for the evening session cost from £15 to £18 at the side door."),
        ("en", "The gala, which was founded by swimmers, returns on 18 September with two bands."),
        ("en", "The 19.10 from Port Quenby was full of swimmers again."),
        ("en", "The hall held 318 swimmers or more on the hottest days of the summer."),
        ("en", "The third round of funding was led by Corvane Capital during the autumn."),
        ("en", "The next gala of the swimming club takes place in 2028."),
        ("en", "The coldest night in the unheated hall reached minus 11.5 degrees Celsius."),
        ("en", "It was first reported that 318 swimmers had been in the hall."),
        ("en", "The evening papers spoke of 318 swimmers in the main hall."),
        ("en", "The old ledger gives 318 lockers for the hall; in fact, 212 were built."),
        ("en", "The survey was meant to include 318 swimmers from both halls."),
        ("en", "An earlier study put the number of regular morning swimmers at 318 people."),
        ("en", "The small pool was credited with 318 visits. Photographs showed that this was a mistake."),
        ("en", "The free course for beginners ends in October 2031."),
        ("en", "The hall of the baths has a side door; the last swimmers leave at 11."),
        ("en", "The water varies between 18 degrees in winter and 26.5 units in summer."),
        ("en", "Enclose 318 stamps with every request for a season ticket of the baths."),
        ("en", "The new boiler replaced the 340, which had heated the hall for decades."),
        ("zh", "门口的铜牌把泳馆落成的年份写作1983年，这是错的。"),
        ("en", "The loss of 0.3 million is covered by the reserves of the baths."),
        ("zh", "据悉，馆里去年买下的旧柜子一共有318个，都放在地下室。"),
        ("zh", "馆里下一季的维修预算为212万元，比上一季少了三成。"),
        ("zh", "看门人小声补充，地下室的318个柜子是估的，没有数过。"),
        ("zh", "老馆长插话：当年大厅里一共有318个柜子，天天都满。"),
        ("zh", "当年大厅里一共装着318个柜子。管理员摇头：没那么多。"),
        ("zh", "原告主张大厅里的损失为212万元，被告只认可一半。"),
        ("zh", "楼顶现有20兆瓦/40兆瓦时的储能系统一套，由馆里管理。"),
        ("zh", "本次展览在大厅里共展出老照片132件（组），分四个单元。"),
        ("zh", "去年冬天馆里测得零下11.5摄氏度的最低气温，水管都冻裂。"),
        ("zh", "夜场门票在窗口买只要20元起，越靠近泳池越贵。"),
        ("zh", "周末的水上音乐会5月18日晚上在露天池边举行，凭票入场。"),
        ("zh", "退票从上午6:45起在西边的小窗口办理，请带上票根。"),
        ("zh", "馆里原定2014年换掉旧锅炉，后来又拖了好一阵子。"),
        ("zh", "按照最早那份图纸的方案，浅水池要占去212平方米的地方。"),
        ("zh", "管理处的算法是每人一年多花880元，按220个工作日计。"),
        ("zh", "通了地铁以后能缩短到40分钟，大家都这么盼着。"),
        ("zh", "门口的海报宣传写的是每天开放16小时，一直挂到今天。"),
        ("zh", "司机把车停在十八盘村口，等着送最后一批队员回家。"),
        ("zh", "统计的人记下了318张会员卡。后来发现有误，重新数过。"),
    ],
)
def test_plans_claims_and_cut_values_are_not_used(lang: Lang, text: str) -> None:
    assert answers(lang, text) == set()


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_quotations_contain_no_markup(lang: Lang) -> None:
    text = {
        "en": "**Lockers.** The hall has **318** lockers, and *every* one was repainted in 2019.\n\n| A | 212 |\n",
        "zh": "**为什么要改？** 馆里有**318**个柜子，2019年全部重新刷过一遍漆。\n\n| 甲 | 212人 |\n",
    }[lang]
    found = quotations(lang, text)
    assert found
    assert not any(mark in question for question in found for mark in ("*", "|"))


def test_a_title_keeps_its_quotation_marks_as_single_ones() -> None:
    facts = WRITERS["en"]('Talk: "The baths of Quenby"', "The keeper counted 318 towels on the last day of the year.")
    assert [fact.question for fact in facts] == [
        "Which number completes this sentence from “Talk: ‘The baths of Quenby’”: “The keeper counted ____ towels on"
        " the last day of the year”?"
    ]


@pytest.mark.parametrize(
    ("lang", "question", "answer"),
    [
        ("en", "“____ towels were lost, 8 by children and 4 by adults”", "12"),
        ("en", "“Of 88 forms, ____ were for it, 29 against it and 12 undecided”", "47"),
        ("en", "“Sales rose from 211,000 in 2022 to 236,000 in ____”", "2023"),
        ("en", "“Of 400 swimmers, 100 came twice, that is ____”", "25%"),
        ("en", "“In the survey, 58% said yes and ____ did not”", "42%"),
        ("zh", "“试验选取____学校，6所改了时间，6所不变”", "12所"),
        ("zh", "“____毕业后，他教了七年书，1963年才调走”", "1956年"),
        ("zh", "“收到物件____，修好251件，成功率64%”", "392件"),
        ("en", "“Visits rose by 12.5% to ____ from 240,000 the year before”", "270,000"),
        ("en", "“Visits rose from 240,000 to 270,000, a rise of ____”", "12.5%"),
        ("en", "“The relay finished in 3:41, ____ behind the record of 3:29”", "12 s"),
        ("zh", "“门票收入____，比前一年的240万元减少12.5%”", "210万元"),
        ("zh", "“接力队用了3分41秒，比馆内纪录3分29秒慢____”", "12秒"),
    ],
)
def test_answers_that_follow_from_other_numbers_are_given_away(lang: Lang, question: str, answer: str) -> None:
    assert is_computable(question, answer, lang)
    asked = (
        f"Which number completes this sentence from “Quenby Baths”: {question}?" if lang == "en" else f"{question}？"
    )
    assert draft_question({"question": asked, "answer": answer}, lang, None).outcome == "in-question"


@pytest.mark.parametrize(
    ("lang", "question", "answer"),
    [
        ("en", "“____ towels were lost, 8 by children and 5 by adults”", "12"),
        ("en", "“The baths opened in ____ and were closed in 1941”", "1938"),
        ("en", "“The first lesson was given by ____ to 12 children”", "Ada Holt"),
        ("zh", "“共____，其中22件涉及照明，9件涉及噪声”", "37件"),
        ("zh", "“票价由____降至90元”", "120元"),
        ("en", "“Visits rose by 12.5%, and ____ children learned to swim”", "318"),
        ("zh", "“泳池每天7:30开门，换一次水要____”", "95分钟"),
        ("zh", "“门票收入____，比前一年减少12.5%”", "210万元"),
    ],
)
def test_other_answers_are_not_given_away(lang: Lang, question: str, answer: str) -> None:
    assert not is_computable(question, answer, lang)


@pytest.mark.parametrize(
    ("lang", "question", "answer", "text"),
    [
        ("en", "Which share of the prize does the loser get?", "60%", "The loser drew three times."),
        ("zh", "去年大桥通行车辆多少？", "842万辆次", "去年大桥通行车辆842万辆次。"),
    ],
)
def test_other_values_are_not_aliases(lang: Lang, question: str, answer: str, text: str) -> None:
    asked = Question(question=question, lang=lang, answer=((answer,),))
    assert add_spellings(asked, [Passage(text=text, stance="supports")]) == asked.answer
