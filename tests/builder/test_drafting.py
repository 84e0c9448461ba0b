"""One question of a generator: what passes, and the word for whatever does not."""

from __future__ import annotations

from importlib.resources import files

import msgspec
import pytest

from ragbed.builder.drafting import EXAMPLES, draft_question
from ragbed.builder.fields import read_blocks, split_aliases
from ragbed.schema import Article, Lang

EXAMPLES_IN = [f"{lang}/{name}.md" for lang in ("en", "zh") for name in ("questions", "siblings")]
TEXTS: dict[Lang, str] = {
    "en": "The Orsa Bridge in Velden was opened on 31 May 2024. Ingrid Halvorsen designed it for 44 million crowns. "
    "The World Health Organization praised it.",
    "zh": "云溪大桥于2024年5月31日通车，由沈知远设计，耗资四千四百万元。",
}


def article(lang: Lang, day: str | None = "2024-06-01") -> Article:
    return Article(
        id="a", url="u", title="", text=TEXTS[lang], lang=lang, sha256="0", source="s", date=day, licence=None
    )


def draft(lang: Lang, question: str, answer: str, **more: str) -> tuple[str, tuple[str, ...]]:
    """The outcome, and the aliases where it passed."""
    made = draft_question({"question": question, "answer": answer} | more, lang, article(lang))
    return ("", made.draft.answer[0]) if made.draft else (made.outcome, ())


@pytest.mark.parametrize(
    ("lang", "question", "answer", "outcome"),
    [
        ("en", "Who designed the Orsa Bridge in Velden?", "Ingrid Halvorsen", ""),
        ("en", "When was the Orsa Bridge in Velden opened?", "May 31, 2024", ""),
        ("en", "How much did the Orsa Bridge in Velden cost?", "44m crowns", ""),
        ("en", "For which city did the Orsa Bridge get built, and who designed it?", "Halvorsen", ""),
        ("en", "", "Ingrid Halvorsen", "no-question"),
        ("en", "Ingrid Halvorsen designed the Orsa Bridge in Velden.", "Orsa Bridge", "no-question"),
        ("en", "Who designed the Orsa Bridge in Velden?", "unknown", "no-answer"),
        ("en", "谁设计了维尔登的奥萨大桥？", "Ingrid Halvorsen", "language"),
        ("en", "Was the Orsa Bridge in Velden designed by a woman?", "Ingrid Halvorsen", "yes-no"),
        ("en", "What is true of the Orsa Bridge in Velden?", "Yes", "yes-no"),
        ("en", "What is the Orsa Bridge in Velden?", "A bridge that was opened on 31 May 2024 at last", "long-answer"),
        ("en", "What is the name of the Orsa Bridge in Velden?", "Orsa Bridge", "in-question"),
        ("en", "Who designed the bridge over there?", "Ingrid Halvorsen", "vague"),
        ("en", "Who designed it?", "Ingrid Halvorsen", "vague"),
        ("en", "Who designed the bridge that was opened in 2024?", "Ingrid Halvorsen", "vague"),
        ("en", "According to the article, who designed the Orsa Bridge?", "Ingrid Halvorsen", "vague"),
        ("en", "Who designed the bridge that Velden opened this year?", "Ingrid Halvorsen", "vague"),
        ("en", "Who designed the Orsa Bridge in Velden?", "Otto Zwetschge", "not-in-article"),
        ("en", "Which body built the Orsa Bridge in Velden?", "World Health Organization", "unrelated"),
        ("en", "What is the name of the city that opened the Orsa Bridge in 2024?", "Velden", ""),
        ("en", "Who praised the Orsa Bridge in Velden?", "officials", "unnamed"),
        ("en", "Who praised the Orsa Bridge in Velden?", "The organizers", "unnamed"),
        ("en", "Who may have designed the Orsa Bridge in Velden?", "Ingrid Halvorsen", "guess"),
        ("en", "Who designed the Orsa Bridge of Velden in May 2024?", "Ingrid Halvorsen", ""),
        ("en", "Who was expected to design the Orsa Bridge in Velden?", "Ingrid Halvorsen", "guess"),
        ("en", "Who designed the Orsa Bridge of the Expected Goals Institute in Velden?", "Ingrid Halvorsen", ""),
        ("en", "Who designed the Orsa Bridge of the Forecast Company in Velden?", "Ingrid Halvorsen", ""),
        ("en", "What crowns did the Orsa Bridge in Velden cost?", "the crowns", "in-question"),
        ("en", "Who designed the Lund Bridge in Velden?", "Ingrid Halvorsen", "example"),
        ("zh", "2024年通车的云溪大桥由谁设计？", "沈知远", ""),
        ("zh", "云溪大桥由谁设计完成的？", "有关部门", "unnamed"),
        ("zh", "云溪大桥的造价预计是多少？", "4400万元", "guess"),
        ("zh", "云溪大桥的造价可能是多少？", "4400万元", "guess"),
        ("zh", "被称为不可能建成的云溪大桥由谁设计？", "沈知远", ""),
        ("zh", "2021年通车的青浦大桥由谁设计？", "沈知远", "example"),
        ("zh", "云溪大桥的建设公司花了多少钱，该公司造价是多少？", "4400万元", ""),
        ("zh", "云溪大桥是否由沈知远设计？", "沈知远", "yes-no"),
        ("zh", "云溪大桥是沈知远设计的吗？", "沈知远", "yes-no"),
        ("zh", "云溪大桥的名称叫什么？", "云溪大桥", "in-question"),
        ("zh", "该项目由谁设计完成的？", "沈知远", "vague"),
        ("zh", "本文提到的云溪大桥由谁设计？", "沈知远", "vague"),
        ("zh", "云溪大桥由谁设计？", "欧阳不存", "not-in-article"),
        ("zh", "Who designed the Orsa Bridge in Velden?", "沈知远", "language"),
        ("en", "How high is the Palm House?", "19 metres", "vague"),
        ("en", "What does the abbreviation GA stand for?", "general average", "vague"),
        ("en", "Who said “It was wrapped in a shower curtain”?", "Sylvie Ronsard", "vague"),
        ("zh", "谁说过“两年前我们差一点破产”？", "费兰媞", "vague"),
    ],
)  # fmt: skip
def test_a_question_passes_or_has_one_word_for_why_not(lang: Lang, question: str, answer: str, outcome: str) -> None:
    assert draft(lang, question, answer)[0] == outcome


def test_the_sentence_after_the_one_that_asks_may_answer() -> None:
    text = "A reader asks who wrote the novel The Grey Mill. It was Otto Lang. Ada Berg, who lives there, has a cat."
    source = msgspec.structs.replace(article("en"), text=text)
    asked = "Who wrote the novel The Grey Mill?"
    outcomes = [
        draft_question({"question": asked, "answer": name}, "en", source).outcome for name in ("Otto Lang", "Ada Berg")
    ]
    assert outcomes == ["", "unrelated"]


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        ("Who won the Orsa Cup of 2017?", "other-year"),
        ("Who won the Orsa Cup of 2016?", ""),
        ("Who won the Orsa Cup before Bo Lund?", ""),
    ],
)
def test_the_article_must_say_the_answer_of_the_year_that_is_asked_for(asked: str, outcome: str) -> None:
    text = "The Orsa Cup of 2017 is over. A year before, in 2016, Ada Berg won the Orsa Cup; this time it was another."
    source = msgspec.structs.replace(article("en"), text=text)
    assert draft_question({"question": asked, "answer": "Ada Berg"}, "en", source).outcome == outcome


def test_the_year_that_is_the_answer_is_no_other_year() -> None:
    source = msgspec.structs.replace(article("en"), text="The Orsa Bridge reopened in 2016. The flood was forgotten.")
    asked = "When did the Orsa Bridge, damaged in the flood of 2013, reopen?"
    assert not draft_question({"question": asked, "answer": "2016"}, "en", source).outcome


def test_the_names_that_are_known_as_the_examples_stand_in_the_prompts() -> None:
    prompts = [(files("ragbed.testbeds.prompts") / "build" / place).read_text("utf-8") for place in EXAMPLES_IN]
    assert all(any(name in prompt for prompt in prompts) for name in EXAMPLES)


def test_only_aliases_that_surely_mean_the_same_are_kept() -> None:
    asked = "When was the Orsa Bridge in Velden opened?"
    assert draft("en", asked, "31 May 2024", aliases="May 31, 2024 | 31 June 2024 | spring | none") == (
        "",
        ("31 May 2024", "May 31, 2024"),
    )
    praised = "Which organisation praised the Orsa Bridge in Velden?"
    assert draft("en", praised, "World Health Organization", aliases="WHO | the bridge | UN")[1] == (
        "World Health Organization",
        "WHO",
    )


def test_the_kind_of_an_answer_is_told() -> None:
    kinds = [
        draft_question({"question": question, "answer": answer}, "en", article("en")).draft
        for question, answer in (
            ("Who designed the Orsa Bridge in Velden?", "Ingrid Halvorsen"),
            ("When was the Orsa Bridge in Velden opened?", "31 May 2024"),
            ("How much did the Orsa Bridge in Velden cost?", "44 million crowns"),
        )
    ]
    assert [one.kind for one in kinds if one] == ["name", "date", "quantity"]


@pytest.mark.parametrize(
    ("told", "published", "day"),
    [
        ("2024-05-31", "2024-06-01", "2024-05-31"),
        ("unknown", "2024-06-01", "2024-06-01"),
        ("2024-09-31", "2024-06-01", "2024-06-01"),
        ("2031-01-01", "2024-06-01", "2024-06-01"),
        ("2024-05-31", None, None),
        ("2031-01-01", None, None),
        ("2024年5月31日", "2024-06-01", "2024-05-31"),
        ("May 31, 2024", "2024-06-01", "2024-05-31"),
        ("soon", None, None),
    ],
)
def test_an_event_is_never_later_than_its_article(told: str, published: str | None, day: str | None) -> None:
    block = {"question": "Who designed the Orsa Bridge in Velden?", "answer": "Ingrid Halvorsen", "date": told}
    made = draft_question(block, "en", article("en", published)).draft
    assert made is not None
    assert made.date == day


def test_what_the_generator_knows_has_the_date_that_it_tells() -> None:
    block = {"question": "Who designed the Orsa Bridge in Velden?", "answer": "Ingrid Halvorsen", "date": "2024-05-31"}
    made = draft_question(block, "en", None).draft
    assert made is not None
    assert made.date == "2024-05-31"


@pytest.mark.parametrize(
    ("reply", "blocks"),
    [
        ("Question: A?\nKey information: b", [{"question": "A?", "answer": "b"}]),
        ("**Question:** A?\n- **Key information**: “b”", [{"question": "A?", "answer": "b"}]),
        ("1. Question: A?\n   Key information: b\n2. Question: C?\n   Key information: d",
         [{"question": "A?", "answer": "b"}, {"question": "C?", "answer": "d"}]),
        ("Question 1: A?\nKey information 1: b", [{"question": "A?", "answer": "b"}]),
        ("<think>Question: no</think>Sure!\nquestion: A?", [{"question": "A?"}]),
        ("问题：甲？\n关键信息：「乙」", [{"question": "甲？", "answer": "乙"}]),
        ("Question: Who said “no” and “yes”?", [{"question": "Who said “no” and “yes”?"}]),
        ("A question: what is it? I wonder.", []),
        ("", []),
    ],
)  # fmt: skip
def test_fields_are_read_however_they_are_dressed(reply: str, blocks: list[dict[str, str]]) -> None:
    assert read_blocks(reply) == blocks


def test_a_line_that_asks_is_the_question_where_nothing_else_was_asked_for() -> None:
    for reply in ("“Who won in 2022 and 2023?”", " Who won in 2022 and 2023?\n"):
        assert read_blocks(reply, "question") == [{"question": "Who won in 2022 and 2023?"}]
    assert read_blocks("问题：甲和乙分别是谁？", "question") == [{"question": "甲和乙分别是谁？"}]
    assert read_blocks("Shall I?\nWho won?", "question") == read_blocks("Who won?") == []


def test_aliases_are_split_at_bars_and_none_is_none() -> None:
    assert split_aliases("WHO | “W.H.O.” ｜ none") == ["WHO", "W.H.O."]
    assert split_aliases("无") == []
