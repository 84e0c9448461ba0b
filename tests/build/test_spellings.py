"""How pages spell an answer."""

from __future__ import annotations

from ragbed.build.spellings import add_spellings
from ragbed.schema import Passage, Question


def passages(supports: list[str], distracts: list[str], part: int | None = None) -> list[Passage]:
    true = [Passage(text=text, stance="supports", part=part) for text in supports]
    return true + [Passage(text=text, stance="distracts") for text in distracts]


def test_the_forms_of_supporting_passages_are_aliases() -> None:
    asked = Question(question="How much did the Orsa Bridge cost?", lang="en", answer=(("$44 million",),))
    pages = passages(["It cost $44m.", "The bridge cost 44 million dollars.", "It cost $44 million."], ["It cost $9m."])
    assert add_spellings(asked, pages) == (("$44 million", "$44m", "44 million dollars"),)


def test_a_form_that_a_distracting_passage_has_is_none() -> None:
    asked = Question(question="When in 2021 did the flood begin?", lang="en", answer=(("July 21, 2021",),))
    supports = ["The flood of 2021 began on July 21."]
    assert add_spellings(asked, passages(supports, []))[0][-1] == "July 21"
    assert add_spellings(asked, passages(supports, ["In 2019 it began on July 21, 2019."])) == asked.answer


def test_a_part_has_the_forms_of_its_own_passages_only() -> None:
    asked = Question(question="多少票，多少人？", lang="zh", answer=(("七千七百六十票",), ("4830人",)))
    pages = passages(["以7760票之差分出胜负。"], [], 0) + passages(["到场的有四千八百三十人。"], [], 1)
    assert add_spellings(asked, pages) == (("七千七百六十票", "7760票"), ("4830人", "四千八百三十人"))


def test_one_figure_alone_is_no_alias() -> None:
    asked = Question(question="How many staff has the Office of Orsa?", lang="en", answer=(("six",),))
    assert add_spellings(asked, passages(["The Office of Orsa has a staff of 6."], [])) == (("six",),)
