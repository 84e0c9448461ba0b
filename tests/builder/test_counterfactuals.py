"""A false answer: the generator's, or where that will not do the answer to a question that is like it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import pytest

from ragbed.builder.build_context import AcceptedQuestion, Falsehood, LabelledPool, Probe
from ragbed.builder.counterfactuals import make_falsehoods
from ragbed.builder.recipe import RecipeCounts
from ragbed.schema import Reject
from ragbed.text import to_terms
from tests.builder.steps import draft, lay_out, passage, write

GAMES = [draft(f"g{year}", f"Which city held the Games of {year}?", f"Town {year}") for year in range(1900, 1930)]
DRAFTS = [
    draft("q", "Which city held the Games of 2008?", "Beijing"),
    draft("r", "Which city held the Games of 2004?", "Athens"),
    draft("s", "Who wrote The Grey Mill?", "Otto Lang"),
    draft("t", "When were the Games of 2008 held?", "8 August 2008"),
]


def falsify(folder: Path, reply: str) -> Sequence[Falsehood | Reject]:
    supports = (passage("Beijing held the Games of 2008.", "a", supports=True),)
    build = lay_out(
        folder, reply, [LabelledPool(question="q", passages=supports)], wanted=RecipeCounts(counterfactual=1)
    )
    write(build, "questions", DRAFTS)
    write(build, "probes", [Probe(question="q", known_by=("m/x",), asked=("m/x",))])
    write(build, "answers", [AcceptedQuestion(question="q")])
    return list(make_falsehoods(build))


def test_the_generators_false_answer_is_taken_if_it_will_do(tmp_path: Path) -> None:
    (found,) = falsify(tmp_path, "Wrong answer: Sydney")
    assert isinstance(found, Falsehood)
    assert (found.fake, found.edits[0].text) == ((("Sydney",),), "Sydney held the Games of 2008.")


@pytest.mark.parametrize(
    "reply",
    [
        "Wrong answer: Beijing",
        "Wrong answer: Beijing City",
        "Wrong answer: The wrong answer.",
        "Wrong answer: The Games of 2008 were held in Rome",
        "Question: what?",
    ],
)
def test_where_it_will_not_do_the_answer_to_the_likest_question_takes_its_place(tmp_path: Path, reply: str) -> None:
    told, found = falsify(tmp_path, reply)
    assert isinstance(told, Reject)
    assert told.outcome == "fake"
    assert "Athens, the answer to another question, is used instead" in told.reason
    assert isinstance(found, Falsehood)
    assert found.fake == (("Athens",),)


def test_the_terms_of_a_question_are_found_once_however_many_drafts_fail(tmp_path: Path) -> None:
    many = {one.id for one in GAMES}
    supports = [LabelledPool(question=one, passages=(passage("It was held.", "a", supports=True),)) for one in many]
    build = lay_out(tmp_path, "Question: what?", supports, wanted=RecipeCounts(counterfactual=len(GAMES)))
    write(build, "questions", GAMES)
    write(build, "probes", [Probe(question=one, known_by=("m/x",), asked=("m/x",)) for one in many])
    write(build, "answers", [AcceptedQuestion(question=one) for one in many])
    calls = Counter[str]()

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is to_terms.__code__:
            calls[frame.f_locals["text"]] += 1

    sys.setprofile(watch)
    try:
        list(make_falsehoods(build))
    finally:
        sys.setprofile(None)
    assert calls == {one.question: 1 for one in GAMES}
