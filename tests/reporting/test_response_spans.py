from __future__ import annotations

import pytest

from ragbed.reporting.case_view import find_repeated


@pytest.mark.parametrize(
    ("reply", "document", "question", "marked"),
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
        ("İzmir Ada", "Ada of Izmir.", "Who?", ["Ada"]),  # a letter that becomes two
        ("Ada Ada Bo", "Ada Bo, and Ada.", "Who?", ["Ada Bo", "Ada"]),
        ("", "Ada", "Who?", []),
    ],
)
def test_the_content_of_a_response_is_found_in_a_document(
    reply: str, document: str, question: str, marked: list[str]
) -> None:
    assert [document[start:end] for start, end in find_repeated(reply, document, question)] == marked
