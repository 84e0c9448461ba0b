from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from ragbed.reporting.case_view import TextSpan, find_repeated, show_case, show_trial
from ragbed.runs.store import StoredResult
from ragbed.schema import Completion, Document
from tests.runs.harness import make_case
from tests.ui.viewer.runs import final_case, said


def stretches(text: str, spans: Iterable[TextSpan], kind: str) -> list[str]:
    return [text[span.start : span.end] for span in spans if span.kind == kind]


def test_answers_are_highlighted_in_documents() -> None:
    shown = show_case(final_case())
    marked = [
        (stretches(one.text, one.spans, "gold"), stretches(one.text, one.spans, "fake")) for one in shown.documents
    ]
    assert marked == [(["Ada Marlowe"], []), ([], []), ([], ["Carla Venn"])]


def test_offsets_are_right_where_folding_changes_lengths() -> None:
    text = "\U0001f3c6 ﬁnally: ＡＤＡ  Ｍａｒｌｏｗｅ\u200b won."
    document = Document(text=text, stance="supports", kind="related", source=0)
    shown = show_case(replace(final_case(), documents=(document,)))
    assert stretches(text, shown.documents[0].spans, "gold") == ["ＡＤＡ  Ｍａｒｌｏｗｅ"]


def test_a_response_is_highlighted_by_the_deciding_rules() -> None:
    trial = show_trial(StoredResult(final_case(), "m", 0, said("It was Carla Venn.")))
    assert trial.verdict == "incorrect"
    assert [(span.kind, span.title) for span in trial.spans] == [("fake", "fake.name.asserted")]
    assert [len(spans) for spans in trial.predicted] == [0, 0, 1]


def test_nothing_is_highlighted_without_a_response() -> None:
    trial = show_trial(StoredResult(final_case(), "m", 0, Completion(outcome="error", error="timeout: late")))
    assert (trial.verdict, trial.scores, trial.spans, trial.predicted) == (None, None, [], [[], [], []])


def test_endless_texts_are_read_within_bounds() -> None:
    reply, document = "Ada Bo " * 50_000, "Ada Bo Cy " * 20_000
    case = replace(make_case(1), documents=(Document(text=document, stance="distracts", kind="related", source=0),))
    assert len(show_trial(StoredResult(case, "m", 0, said(reply))).predicted[0]) <= 64


@pytest.mark.parametrize(
    ("reply", "document", "question", "repeated"),
    [
        ("The MVP was Patrick Mahomes.", "In 2023 Patrick Mahomes won it.", "Who was the MVP?", ["Patrick Mahomes"]),
        ("The award is given yearly.", "The award is given yearly.", "What is it?", []),
        ("In 2022.", "The cup of 2022.", "Who won in 2022?", []),  # the question says it too
        ("Ann", "The Annual report.", "Who?", []),
        (
            "At the University of the Arts.",
            "He was at the University of the Arts.",
            "Where?",
            ["University of the Arts"],
        ),
        ("Kai Ode, 81, said so.", "Kai Ode, 81, lives.", "Who?", ["Kai Ode", "81"]),
        ("冠军是张三。", "2022年，张三获得冠军。", "谁是冠军？", ["张三"]),
        ("街的讲解员说是屠格涅夫写的。", "街的讲座：是屠格涅夫。", "谁写的？", ["屠格涅夫"]),
        ("四百三十万克朗。", "四百零七万克朗，而非四百三十万克朗。", "多少？", ["四百三十万克朗"]),
        ("2019年度奖项。", "2018年度，三年度。", "哪年？", []),
        ("Ada Ada Bo", "Ada Bo, and Ada.", "Who?", ["Ada Bo"]),
        ("", "Ada", "Who?", []),
    ],
)
def test_the_content_of_a_response_is_found_in_a_document(
    reply: str, document: str, question: str, repeated: list[str]
) -> None:
    assert [document[start:end] for start, end in find_repeated(reply, document, question)] == repeated
