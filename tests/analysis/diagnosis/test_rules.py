"""Error types of single trials, and their evidence."""

from __future__ import annotations

import pytest

from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.analysis.diagnosis.trial import KnownAnswer
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Completion, Lang, Stance
from ragbed.testbeds.prompts import REFUSAL
from tests.analysis.diagnosis.printed import CHINESE, ENGLISH, Printed, diagnose_stored, make_case

QUESTION, ANSWER = "Who won the Aster Cup in 2020?", (("Ada Merton",),)
SUPPORT: tuple[Stance, str] = ("supports", "Ada Merton won the Aster Cup in 2020.")
OTHER_YEAR: tuple[Stance, str] = ("distracts", "Bo Karlin won the Aster Cup in 2018.")
CAPITALS, CAPITAL = "What is the capital of Tanzania?", (("Dodoma",),)
FALSE: tuple[Stance, str] = ("contradicts", "The capital of Tanzania is Arusha.")


def diagnose(case: Case, reply: str | None, closed_book: str | None = None, **changes: str) -> Diagnosis | None:
    known = None if closed_book is None else KnownAnswer("Dodoma" in closed_book, closed_book)
    fields = {"outcome": "ok", "reply": reply} | changes
    return diagnose_stored(StoredResult(case, "test/model", 0, Completion(**fields)), known)  # type: ignore[arg-type]


def types(case: Case, reply: str | None, closed_book: str | None = None, **changes: str) -> tuple[str, ...]:
    diagnosis = diagnose(case, reply, closed_book, **changes)
    assert diagnosis is not None
    return diagnosis.types


def fact(reply: str, closed_book: str | None, *documents: tuple[Stance, str]) -> Diagnosis:
    case = make_case(CAPITALS, CAPITAL, documents or (FALSE,), expect="correct", fake=(("Arusha",),))
    diagnosis = diagnose(case, reply, closed_book)
    assert diagnosis is not None
    return diagnosis


def test_a_right_reply_is_not_diagnosed() -> None:
    assert diagnose(make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR)), "Ada Merton") is None
    refusing = make_case(QUESTION, ANSWER, (OTHER_YEAR,), expect="refuse")
    assert diagnose(refusing, "The documents do not say who won in 2020.") is None  # wrong only by the paper's scoring


def test_the_position_of_the_evidence_is_right() -> None:
    for printed in (*ENGLISH[:5], *CHINESE[:4]):
        diagnosis = diagnose_stored(printed.stored())
        assert diagnosis is not None
        for one in diagnosis.evidence:
            assert one.document is not None
            assert one.sentence is not None
            assert printed.documents[one.document][1][one.start : one.end].strip() == one.sentence


def test_another_year_is_reported_with_the_requested_one() -> None:
    diagnosis = diagnose(make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR)), "Bo Karlin won it.")
    assert diagnosis is not None
    assert (diagnosis.types, diagnosis.source, diagnosis.said, diagnosis.document) == (
        ("E3",),
        "distracts",
        "Bo Karlin",
        1,
    )
    (evidence,) = diagnosis.evidence
    assert evidence.cue == "2020 → 2018"


def test_the_year_of_its_own_clause_counts() -> None:
    text = "2022年湖南省报名人数是655000人，而2023年报名人数是680000人。"
    case = make_case("2022年湖南省报名人数是多少？", (("66万人",),), (("distracts", text),), "zh")
    assert types(case, "655000人") == ()
    assert types(case, "680000人") == ("E3",)


def test_an_edited_document_is_about_the_subject() -> None:
    false: tuple[Stance, str] = ("contradicts", "In 2018 a guide said that the capital of Tanzania is Arusha.")
    case = make_case(
        "What was the capital of Tanzania in 2020?", CAPITAL, (false,), expect="correct", fake=(("Arusha",),)
    )
    assert types(case, "It was Arusha.") == ()


def test_the_answer_to_a_question_about_a_date_is_a_date() -> None:
    text = "Beatrix Ostdal has died. The Aster Cup final was on 14 June 2018."
    case = make_case("When was the Aster Cup final of 2020?", (("7 June 2020", "June 7"),), (("distracts", text),))
    diagnosis = diagnose(case, text)
    assert diagnosis is not None
    assert diagnosis.said == "14 June 2018"


def test_swapped_answers_are_misaligned() -> None:
    question = "Who won the Aster Cup in 2020, and who won the Aster Cup in 2021?"
    case = make_case(question, (("Ada Merton",), ("Bo Karlin",)), (SUPPORT, ("supports", "Bo Karlin won in 2021.")))
    diagnosis = diagnose(case, "In 2020 Bo Karlin won, and in 2021 Ada Merton won.")
    assert diagnosis is not None  # every part is there, but each is given for the other sub-question
    assert diagnosis.types == ("E6",)
    assert [one.part for one in diagnosis.evidence] == [0, 1]
    diagnosis = diagnose(case, "In 2021 Ada Merton won.")
    assert diagnosis is not None
    assert diagnosis.types == ("E5", "E6")
    assert [one.part for one in diagnosis.evidence] == [1, 0]


@pytest.mark.parametrize(
    ("question", "lang", "replies"),
    [
        ("Who won the 2020 Aster Cup and the 2021 Aster Cup?", "en", (
            "Ada Merton won the 2020 Aster Cup and the 2021 Aster Cup.", "Ada Merton won the 2020 Aster Cup."
        )),
        ("Who led the Aster Cup? Who painted the hall?", "en", (
            "Ada Merton led the Aster Cup and painted the hall.", "Ada Merton led the Aster Cup."
        )),
        ("2020年阿斯特杯和2021年阿斯特杯的冠军分别是谁？", "zh", (
            "2020年阿斯特杯和2021年阿斯特杯的冠军都是Ada Merton。", "2020年阿斯特杯的冠军是Ada Merton。"
        )),
        ("Aster 1和Aster 2 Pro分别是谁设计的？", "zh", (
            "Aster 1和Aster 2 Pro都是Ada Merton设计的。", "Aster 1是Ada Merton设计的。"
        )),
        ("阿斯特馆谁建的？谁是院长", "zh", (
            "阿斯特馆是Ada Merton建的，院长也是Ada Merton。", "建阿斯特馆的人是Ada Merton。"
        )),
    ],
)  # fmt: skip
def test_one_answer_for_all_parts_is_merging_and_for_one_part_ignoring(
    question: str, lang: Lang, replies: tuple[str, str]
) -> None:
    texts: tuple[tuple[Stance, str], ...] = (("supports", "Ada Merton."), ("supports", "Bo Karlin."))
    case = make_case(question, (("Ada Merton",), ("Bo Karlin",)), texts, lang)
    assert [types(case, reply) for reply in replies] == [("E4",), ("E5",)]


def test_over_trust_needs_a_right_closed_book_answer() -> None:
    assert fact("It is Arusha.", "Dodoma").types == ("E8",)
    assert fact("It is Arusha.", "I think Nairobi.").types == ()
    assert fact("It is Arusha.", None).types == ()
    assert fact("It is Arusha.", None).source == "contradicts"


def test_a_refusal_despite_a_supporting_document_is_over_refusal() -> None:
    assert types(make_case(QUESTION, ANSWER, (SUPPORT,)), REFUSAL["en"]) == ("E9",)
    assert types(make_case(QUESTION, ANSWER, (OTHER_YEAR,)), REFUSAL["en"]) == ()


def test_a_response_with_only_the_surname_is_right() -> None:
    """`diagnose` ended with "RuntimeError: generator raised StopIteration"."""
    assert diagnose(make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR)), "Merton") is None
    assert diagnose(make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR)), "It was Merton.") is None


def test_every_response_without_an_answer_is_a_generation_failure() -> None:
    case = make_case(QUESTION, ANSWER, (SUPPORT, OTHER_YEAR))
    assert types(case, None, outcome="error", error="timeout: 30 s") == ("E11",)
    assert types(case, None, outcome="error", error="missing-result: the file says nothing of it") == ("E11",)
    assert types(case, None, outcome="filtered") == ("E11",)
    assert types(case, "  ") == ("E11",)
    cut = diagnose(case, "The winner of the Aster Cup in 2020 was the", outcome="truncated", finish="length")
    assert cut is not None
    assert cut.evidence[0].cue == "truncated"


def test_the_source_of_a_wrong_answer_is_a_document_memory_or_none() -> None:
    twice: tuple[Stance, str] = ("supports", "Ada Merton won the Aster Cup in 2020. Bo Karlin won it in 2018.")
    assert diagnose(make_case(QUESTION, ANSWER, (twice,)), "Bo Karlin").source == "supports"  # type: ignore[union-attr]
    case = make_case(QUESTION, ANSWER, (SUPPORT,))
    assert diagnose(case, "It was Cy Dray.", "Cy Dray").source == "parametric"  # type: ignore[union-attr]
    assert diagnose(case, "It was Cy Dray.", "Eve Falk").source == "none"  # type: ignore[union-attr]
    assert diagnose(case, REFUSAL["en"]).source is None  # type: ignore[union-attr]


def test_a_wrong_value_is_found_in_other_spellings() -> None:
    lang: Lang = "zh"
    documents: tuple[tuple[Stance, str], ...] = (
        ("supports", "澄观能源2016年财报的营收为三十亿元。"),
        ("distracts", "澄观能源2015年财报的营收为二十五亿一千万元。"),
    )
    case = make_case("澄观能源2016年财报的营收是多少？", (("30亿元",),), documents, lang)
    diagnosis = diagnose(case, "营收为25.1亿元。")
    assert diagnosis is not None
    assert (diagnosis.types, diagnosis.document, diagnosis.said) == (("E3",), 1, "25.1亿元")


def test_a_chinese_name_is_complete_if_the_question_contains_a_part_of_it() -> None:
    documents: tuple[tuple[Stance, str], ...] = (("distracts", "鲁班里工程集团可能承建蕴陵线第五期工程。"),)
    case = make_case("蕴陵线第五期工程由哪家公司承建？", (("九州桥市政公司",),), documents, "zh")
    diagnosis = diagnose(case, "由鲁班里工程集团承建。")
    assert diagnosis is not None
    assert (diagnosis.said, diagnosis.types) == ("鲁班里工程集团", ("E2",))
    titled = diagnose(case, "《铁上的合唱团》")
    assert titled is not None
    assert titled.said == "铁上的合唱团"


def test_one_answer_for_two_parts_is_merged_only_if_it_could_answer_both() -> None:
    votes = "How many members voted for the Port Act in 2017, and how many members voted for the Port Act in 2016?"
    documents: tuple[tuple[Stance, str], ...] = (
        ("supports", "The Port Act of 2017 had 165 votes."),
        ("supports", "The Port Act of 2016 had 110 votes."),
    )
    case = make_case(votes, (("165 votes",), ("110 votes",)), documents, testbed="integration")
    assert types(case, "The Port Act had 165 votes in both 2017 and 2016.") == ("E4",)
    assert types(case, "In 2017 the Port Act had 165 votes, while in 2016") == ("E5",)
    dated = "Who won the election of 2013 in Lathom, and on what date was the election held?"
    mixed = make_case(dated, (("Maeve Tarling",), ("17 May 2013",)), documents, testbed="integration")
    assert types(mixed, "The election of 2013 in Lathom was held on May 17.")[:1] != ("E4",)


def test_names_that_contain_a_hedge_are_not_hedges() -> None:
    question, answer = "2020年澄湾杯由谁夺冠？", (("长河队",),)
    for plain in ("南岸快报8月3日电，白鹭队夺冠。", "新希望集团赞助的白鹭队夺冠。", "白鹭队首轮即胜，最终夺冠。"):
        document: tuple[Stance, str] = ("distracts", f"2020年澄湾杯：{plain}")
        assert "E2" not in types(make_case(question, answer, (document,), "zh"), "白鹭队")
    hedged: tuple[Stance, str] = ("distracts", "一份快报称，2020年澄湾杯由白鹭队夺冠。")
    assert types(make_case(question, answer, (hedged,), "zh"), "白鹭队") == ("E2",)


@pytest.mark.parametrize("printed", [*ENGLISH, *CHINESE], ids=lambda printed: printed.name)
def test_a_printed_error_has_the_papers_types(printed: Printed) -> None:
    diagnosis = diagnose_stored(printed.stored())
    assert diagnosis is not None
    assert diagnosis.types == printed.types
