"""Dates and numbers in forms that resemble another date or number."""

from __future__ import annotations

import time

import pytest

from ragbed.schema import Lang
from ragbed.scoring.robust import score
from tests.scoring.robust.cases import make_case

_HOW_MANY = {"en": "How many were there?", "zh": "有多少？"}
_YEAR_ZH = "哪一年开业？"


def _is_correct(question: str, gold: str, reply: str, lang: Lang) -> bool:
    return bool(score(make_case(question, [[gold]], None, lang), reply)["correct"])


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("1990年", "工程历时90年。"),
        ("1960年", "开业60年了。"),
        ("1978年", "他花了七八年才完成。"),
        ("1989年", "八九年时间。"),
        ("1999年", "九九年义务。"),
        ("1964年", "昭和64年开业。"),
        ("1960年", "乾隆60年春开业。"),
        ("1979年", "公元79年。"),
        ("1980年", "在80年的时间里建成。"),
    ],
)
def test_a_duration_or_another_calendar_is_not_a_year(gold: str, reply: str) -> None:
    assert not _is_correct(_YEAR_ZH, gold, reply, "zh")


@pytest.mark.parametrize(
    ("gold", "reply"),
    [
        ("10", "They counted 5 to 10 animals."),
        ("5", "They counted 5 to 10 animals."),
        ("10", "Five to ten were counted."),
        ("10", "Between 5 and 10 animals were counted."),
        ("50 million", "It had between 40 million and 50 million users."),
        ("10 km", "It is 5 km to 10 km long."),
        ("10", "5-10 animals."),
        ("50 million", "It had 40 to 50 million users."),
        ("50%", "40-50 percent."),
        ("10只", "5到10只。"),
        ("10只", "有5只至10只。"),
        ("10万只", "大约5万到10万只。"),
    ],
)
def test_one_end_of_a_range_is_not_the_number(gold: str, reply: str) -> None:
    lang: Lang = "en" if reply.isascii() else "zh"
    assert not _is_correct(_HOW_MANY[lang], gold, reply, lang)


@pytest.mark.parametrize(
    ("question", "gold", "reply"),
    [
        (_HOW_MANY["en"], "5 to 10", "They counted 5 to 10 animals."),
        (_HOW_MANY["en"], "5-10", "They counted between 5 and 10."),
        (_HOW_MANY["en"], "2-3 times", "2 to 3 times"),
        (_HOW_MANY["en"], "10", "The number rose from 5 to 10."),
        (_HOW_MANY["en"], "193 members", "It has grown from its original 51 to 193 members."),
        (_HOW_MANY["en"], "3.5 million", "The population grew from 1.2 million in 2010 to 3.5 million in 2020."),
        (_HOW_MANY["en"], "359,500 units", "Sales surged in 2018 to 359,500 units."),
        (_HOW_MANY["en"], "1,200 students", "The fund awarded $500 to 1,200 students."),
        (_HOW_MANY["en"], "5 cars", "They donated 5 cars to 12 schools."),
        (_HOW_MANY["en"], "12,000", "2020 - 12,000."),
        (_HOW_MANY["en"], "8 people", "8 people – 12% of those on board – were hurt."),
        (_HOW_MANY["en"], "10 episodes", "Season 2 - 10 episodes"),
        ("How many goals did they score?", "3", "They lost 2-3."),
        ("How many votes were against it?", "52", "The tally was 48 to 52."),
        ("What does it cost?", "€75", "The price went up from €60 to €75."),
        ("What does it cost?", "$35,000", "They cut the price of the Model 3 to $35,000."),
        ("How much revenue did it report?", "$10 million", "Revenue soared 5% to $10 million."),
        ("By how much did profit rise?", "5%", "Profit surged 5% to $10 million."),
        (_HOW_MANY["zh"], "10只", "从5只增加到10只。"),
        (_HOW_MANY["zh"], "65岁", "退休年龄提高5岁到65岁。"),
        ("利率是多少？", "5.25%", "利率上调0.25%至5.25%。"),
        ("奖金是多少？", "68万元", "2019年度文学奖的得主拿到68万元。"),
    ],
)
def test_changes_results_and_lists_are_not_ranges(question: str, gold: str, reply: str) -> None:
    assert _is_correct(question, gold, reply, "en" if question.isascii() else "zh")


@pytest.mark.parametrize(
    ("gold", "reply", "is_correct"),
    [
        ("3 years", "It lasted 3 years and cost 6 million.", True),
        ("63 years", "It lasted 63 years and 7 months.", True),
        ("3年", "用了三年。", True),
        ("6个月", "2018年6个月建成。", True),
        ("6个月", "二〇一八年6个月建成。", True),
        ("8小时", "一天8小时。", True),
        ("5小时", "第一天5小时。", True),
        ("5天", "5天半价促销。", True),
        ("3 days", "It lasted 3 days and a half-hour.", True),
        ("5 days", "It lasted 5 days, 3 hours a day.", True),
        ("41 years", "She is 41 years and 20 days old.", True),
        ("5年", "5年级。", False),
        ("5年", "五年级。", False),
    ],
)
def test_one_part_of_a_duration_is_not_the_duration(gold: str, reply: str, is_correct: bool) -> None:
    lang: Lang = "en" if gold.isascii() else "zh"
    question = "How long did it take?" if lang == "en" else "用了多久？"
    assert _is_correct(question, gold, reply, lang) is is_correct


@pytest.mark.parametrize(
    ("question", "gold", "reply", "lang", "is_correct"),
    [
        ("主峰標高多少公尺？", "3952公尺", "三千九百五十二公尺。", "zh", True),
        ("跑道有多長？", "500公尺", "500平方公尺。", "zh", False),
        ("泳池有多大？", "500平方公尺", "五百平方公尺。", "zh", True),
        ("民國幾年開業？", "107年", "民國107年。", "zh", True),
        ("How hot was it?", "40 °F", "It was 40 degrees Fahrenheit.", "en", True),
        ("How hot was it?", "40 °C", "It was 40 degrees Celsius.", "en", True),
        ("How hot was it?", "40 °F", "It was 40 degrees Celsius.", "en", False),
        ("How hot was it?", "40 °C", "It was 40 degrees.", "en", True),
        ("How hot was it?", "40 degrees", "It was 40 degrees Fahrenheit.", "en", True),
        ("用了多久？", "90年", "九十年。", "zh", True),
        ("用了多久？", "50年", "五十年", "zh", True),
        ("用了多久？", "80年", "80年", "zh", True),
        ("用了多久？", "60年", "于1960年建成。", "zh", False),
        ("What share burned?", "12.5%", "One eighth of it.", "en", True),
    ],
)
def test_a_number_can_be_written_in_another_form(
    question: str, gold: str, reply: str, lang: Lang, is_correct: bool
) -> None:
    assert _is_correct(question, gold, reply, lang) is is_correct


@pytest.mark.parametrize(
    ("gold", "reply", "lang", "is_correct"),
    [
        ("5", "½ cup.", "en", False),
        ("5", "1 ½ cups.", "en", False),
        ("25", "¼ cup.", "en", False),
        ("11", "1½ cups.", "en", False),
        ("1/2", "½.", "en", True),
        ("50%", "0.5% of them.", "en", False),
        ("5升", "½升。", "zh", False),
        ("30", "3 × 10¹⁰.", "en", False),
        ("10", "About 10⁵ bacteria.", "en", False),
        ("5", "10⁵ bacteria.", "en", False),
        ("1", "There are 10¹ stars.", "en", False),
        ("12 km²", "12 km².", "en", True),
    ],
)
def test_fractions_and_powers_are_single_numbers(gold: str, reply: str, lang: Lang, is_correct: bool) -> None:
    assert _is_correct(_HOW_MANY[lang], gold, reply, lang) is is_correct


@pytest.mark.parametrize(
    ("question", "gold", "reply"),
    [
        ("In which place did she finish?", "third", "She finished second with 33% of the vote."),
        ("In which place did she finish?", "fifth", "She finished second, ahead of 20% of the field."),
        ("In which place did she finish?", "eighth", "She came 1/8 of a second behind, in second."),
        ("How many items are there?", "3", "3. Athens"),
        ("How many items are there?", "7", "7. None of them are counted."),
        ("How many items are there?", "12", "1. Athens\n12. Rome"),
        ("When was it built?", "2nd century", "100s of people built it in 1950."),
        ("When was it built?", "11th century", "1000s of people built it in 1950."),
    ],
)
def test_ordinals_and_list_numbers_are_not_quantities(question: str, gold: str, reply: str) -> None:
    assert not _is_correct(question, gold, reply, "en")


@pytest.mark.parametrize(
    ("question", "gold", "is_correct"),
    [
        ("What was the interest rate?", "5%", True),
        ("What share of the vote did it win?", "5%", True),
        ("What were the shares of coal and gas?", "5%", True),
        ("2022年美国 GDP growth rate 是多少？", "5%", True),
        ("How many plants were operated in 2020?", "5%", False),
        ("How many corporate shares were sold?", "5%", False),
        ("How many separate buildings are there?", "5%", False),
    ],
)
def test_the_percent_sign_can_be_omitted_only_if_the_question_asks_for_a_percentage(
    question: str, gold: str, is_correct: bool
) -> None:
    assert _is_correct(question, gold, "It was 5.", "en" if question.isascii() else "zh") == is_correct


@pytest.mark.parametrize(
    ("gold", "reply", "lang"),
    [
        ("12345人", "约" + "一" * 5000, "zh"),
        ("一" * 5000, "约12300人。", "zh"),
        ("12345人", "约" + "亿" * 2000, "zh"),
        ("1" * 4000, "It was 2.", "en"),
        ("1" * 4000 + "年", "2年。", "zh"),
        ("50", "51. a\n" * 4000, "en"),
        ("50", "51. a " * 4000, "en"),
        ("5 June 2018", "In 2019 and 2020 on 6 June. " + "5 June; " * 2000, "en"),
    ],
)
def test_long_numbers_and_lists_are_scored_in_little_time(gold: str, reply: str, lang: Lang) -> None:
    start = time.process_time()
    assert not _is_correct(_HOW_MANY[lang], gold, reply, lang)
    assert time.process_time() - start < 5
