"""How pages spell an answer."""

from __future__ import annotations

import pytest

from ragbed.builder.items import add_spellings
from ragbed.builder.mentions import find_answer
from ragbed.schema import Lang, Passage, Question


def passages(supports: list[str], distracts: list[str], part: int | None = None) -> list[Passage]:
    true = [Passage(text=text, stance="supports", part=part) for text in supports]
    return true + [Passage(text=text, stance="distracts") for text in distracts]


def test_the_forms_of_supporting_passages_are_aliases() -> None:
    asked = Question(question="How much did the Orsa Bridge cost?", lang="en", answer=(("$44 million",),))
    pages = passages(["It cost $44m.", "The bridge cost 44 million dollars.", "It cost $44 million."], ["It cost $9m."])
    assert add_spellings(asked, pages) == (("$44 million", "$44m", "44 million dollars"),)


def test_a_form_that_a_distracting_passage_has_is_none() -> None:
    asked = Question(question="How much did the Orsa Bridge cost?", lang="en", answer=(("$44 million",),))
    assert add_spellings(asked, passages(["It cost $44m."], [])) == (("$44 million", "$44m"),)
    assert add_spellings(asked, passages(["It cost $44m."], ["The tunnel cost $44m."])) == asked.answer


@pytest.mark.parametrize(
    ("lang", "question", "answer", "text"),
    [
        ("en", "When in 2021 did the flood begin?", "July 21, 2021", "The flood of 2021 began on July 21."),
        ("zh", "2021年的洪水何时开始？", "2021年7月21日", "2021年的洪水于7月21日开始。"),
        ("en", "How much did the Orsa Bridge cost?", "$44 million", "The Orsa Bridge's cost: 44 million."),
    ],
)
def test_a_form_that_says_less_is_none_though_the_question_says_the_rest(
    lang: Lang, question: str, answer: str, text: str
) -> None:
    asked = Question(question=question, lang=lang, answer=((answer,),))
    assert any(find_answer(asked, text))
    assert add_spellings(asked, passages([text], [])) == asked.answer


def test_a_date_in_another_form_with_its_year_is_one() -> None:
    asked = Question(question="When in 2021 did the flood begin?", lang="en", answer=(("July 21, 2021",),))
    assert add_spellings(asked, passages(["It began on 21 July 2021."], [])) == (("July 21, 2021", "21 July 2021"),)


def test_a_part_has_the_forms_of_its_own_passages_only() -> None:
    asked = Question(question="多少票，多少人？", lang="zh", answer=(("七千七百六十票",), ("4830人",)))
    pages = passages(["以7760票之差分出胜负。"], [], 0) + passages(["到场的有四千八百三十人。"], [], 1)
    assert add_spellings(asked, pages) == (("七千七百六十票", "7760票"), ("4830人", "四千八百三十人"))


def test_one_figure_alone_is_no_alias() -> None:
    asked = Question(question="How many staff has the Office of Orsa?", lang="en", answer=(("six",),))
    assert add_spellings(asked, passages(["The Office of Orsa has a staff of 6."], [])) == (("six",),)
