"""A false answer: the generator's, or where that will not do the answer to a question that is like it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragbed.build.falsehoods import make_falsehoods
from ragbed.build.recipe import Wanted
from ragbed.build.records import Falsehood, Pool, Probe, Verified
from ragbed.schema import Reject
from tests.build.test_answers import draft, lay_out, passage, write

DRAFTS = [
    draft("q", "Which city held the Games of 2008?", "Beijing"),
    draft("r", "Which city held the Games of 2004?", "Athens"),
    draft("s", "Who wrote The Grey Mill?", "Otto Lang"),
    draft("t", "When were the Games of 2008 held?", "8 August 2008"),
]


def falsify(folder: Path, reply: str) -> Sequence[Falsehood | Reject]:
    supports = (passage("Beijing held the Games of 2008.", "a", supports=True),)
    build = lay_out(folder, reply, [Pool(question="q", passages=supports)], wanted=Wanted(counterfactual=1))
    write(build, "questions", DRAFTS)
    write(build, "probes", [Probe(question="q", known_by=("m/x",), asked=("m/x",))])
    write(build, "answers", [Verified(question="q", supports=1, distracts=0, sources=1)])
    return list(make_falsehoods(build))


def test_the_generators_false_answer_is_taken_if_it_will_do(tmp_path: Path) -> None:
    (found,) = falsify(tmp_path, "Wrong answer: Sydney")
    assert isinstance(found, Falsehood)
    assert (found.fake, found.edits[0].text) == ((("Sydney",),), "Sydney held the Games of 2008.")


@pytest.mark.parametrize("reply", ["Wrong answer: Beijing", "Wrong answer: Beijing City", "Question: what?"])
def test_where_it_will_not_do_the_answer_to_the_likest_question_takes_its_place(tmp_path: Path, reply: str) -> None:
    told, found = falsify(tmp_path, reply)
    assert isinstance(told, Reject)
    assert told.outcome == "fake"
    assert "Athens, the answer to another question, takes its place" in told.reason
    assert isinstance(found, Falsehood)
    assert found.fake == (("Athens",),)
