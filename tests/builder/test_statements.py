"""Labels of passages: what gives the answer, what only holds it, and what does neither."""

from __future__ import annotations

import pytest

from ragbed.builder.statements import agrees, label_passage
from ragbed.schema import Lang, Question


def _question(text: str, *answer: tuple[str, ...], lang: Lang = "en") -> Question:
    return Question(question=text, lang=lang, answer=answer)


PRICE = _question("How much did the Orbis group pay for Tidewater Radio in 2021?", ("44 billion",))
PRIZE = _question("谁获得了2022年云岭文学奖？", ("林若舟",), lang="zh")
CHIEF = _question("Who is the new head of the Harbour Bank?", ("Maria Okonjo",))
DAY = _question("When was the Lantern Bridge opened?", ("12 November 2020", "Nov 12, 2020"))
FAIR = _question("云岭论坛何时开幕？", ("5月25日",), lang="zh")
CROP = _question("2021年河南粮食总产量是多少？", ("1308.84亿斤",), lang="zh")
PAIR = _question("Who directed and who wrote the film Low Tide?", ("Ada Brandt",), ("Piet Holm",))


@pytest.mark.parametrize(
    ("question", "text", "label", "rule"),
    [
        (PRICE, "In 2021 the Orbis group paid 44 billion for Tidewater Radio.", "positive", "anchors"),
        (PRICE, "The Orbis group bought Tidewater Radio for $44bn in 2021.", "positive", "anchors"),
        (PRICE, "In 2021 the Orbis group thought of forty-four billion for Tidewater Radio.", "positive", "anchors"),
        (PRICE, "A bakery in Lund sold 44 billion crumbs, its owner joked.", "mention", "anchors"),
        (PRICE, "The Orbis group paid 144 billion in 2021 for everything but Tidewater Radio.", "mention", "inside"),
        (PRICE, "The Orbis group paid for Tidewater Radio with 44 billion in 2015.", "mention", "year"),
        (PRICE, "The Orbis group and Tidewater Radio declined to comment in 2021.", "related", "lacks"),
        (PRICE, "In 2019 the Orbis group wanted to pay much less for Tidewater Radio.", "outdated", "year"),
        (PRICE, "Cod is best in winter.", "random", "far"),
        (PRIZE, "2022年云岭文学奖揭晓，林若舟凭新作获奖。", "positive", "anchors"),
        (PRIZE, "林若舟昨日在家中种花。", "mention", "anchors"),
        (PRIZE, "2022年云岭文学奖的颁奖礼十分热闹。", "related", "lacks"),
        (PRIZE, "2020年云岭文学奖颁给了周以南。", "outdated", "year"),
        (CHIEF, "The Harbour Bank said its new head, Okonjo, starts on Monday.", "mention", "surname"),
        (CHIEF, "The new head of the Harbour Bank is not Maria Okonjo.", "mention", "denied"),
        (DAY, "The Lantern Bridge was opened on 12.11.2020.", "positive", "anchors"),
        (DAY, "The Lantern Bridge opens on 12 November, the city says.", "mention", "vague"),
        (DAY, "Nov 12, 2020 ... The Lantern Bridge will be opened one day, the city says.", "mention", "dateline"),
        (DAY, "Nov 12, 2020 — The Lantern Bridge will be opened one day, the city says.", "mention", "dateline"),
        (FAIR, "2023年5月25日—30日，云岭论坛在海城开幕。", "positive", "anchors"),
        (CROP, "2021年河南粮食总产量为130,884,000,000斤。", "mention", "figure"),
        (PAIR, "Ada Brandt directed the film Low Tide.", "partial", "part"),
        (PAIR, "Low Tide, a film directed by Ada Brandt, was written by Piet Holm.", "positive", "anchors"),
    ],
)
def test_a_label_and_its_rule(question: Question, text: str, label: str, rule: str) -> None:
    found = label_passage(question, text)
    assert (found.label, found.rule) == (label, rule), found.reason


def test_the_sentence_that_bears_the_answer_is_kept() -> None:
    text = "It rained. The Orbis group paid 44 billion for Tidewater Radio in 2021. Shares fell."
    support = label_passage(PRICE, text).support
    assert support is not None
    assert text[slice(*support)].strip() == "The Orbis group paid 44 billion for Tidewater Radio in 2021."


def test_a_title_counts_as_standing_beside_every_sentence() -> None:
    text = "They gave 44 billion, more than anybody had thought."
    assert label_passage(PRICE, text).label == "mention"
    assert label_passage(PRICE, text, title="Orbis group pays for Tidewater Radio in 2021").label == "positive"


def test_a_passage_that_gives_the_false_answer_contradicts() -> None:
    text = "In 2021 the Orbis group paid 17 billion for Tidewater Radio."
    assert label_passage(PRICE, text, fake=(("17 billion",),)).label == "contradicting"
    assert label_passage(PRICE, text).label == "related"


@pytest.mark.parametrize("text", ["", " \n", "\ud800", "İ" * 40 + "44 billion", "。" * 10_000])
def test_odd_texts_get_a_label(text: str) -> None:
    assert label_passage(PRICE, text).reason


@pytest.mark.parametrize(
    ("answer", "reply", "same"),
    [
        ("12 percent", "12%", True),
        ("12%", "It is twelve per cent.", True),
        ("27 days", "27 days", True),
        ("the office manager", "office manager", True),
        ("within 14 days", "14 days", True),
        ("Ada Lund", "Ada Lund, the office manager", True),
        ("12 percent", "20%", False),
        ("27 days", "28 days", False),
        ("the office manager", "the head of department", False),
        ("12 percent", "unknown", False),
    ],
)
def test_a_response_agrees_whatever_its_form(answer: str, reply: str, same: bool) -> None:
    assert agrees(_question("What does Orsa Ltd name in its rules?", (answer,)), reply) is same
