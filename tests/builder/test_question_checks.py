"""The model's checks of a question: clear alone, answered from the text, and stated there as asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ragbed.builder.build_context import AcceptedQuestion
from ragbed.builder.model_calls import Request
from ragbed.builder.question_checks import make_review
from ragbed.builder.recipe import RecipeChecks
from ragbed.schema import Case, Completion, Reject
from tests.builder.steps import article, draft, make_build, write

TEXT = "Orsa Ltd pays 12 percent of a salary in advance."
QUESTION = "How much of a salary does Orsa Ltd pay in advance?"


def review(folder: Path, replies: dict[str, str], **recipe: object) -> tuple[str, Counter[str]]:
    """The outcome for one question, and the calls by task and model."""
    calls = Counter[str]()

    def reply(request: Request, case: Case) -> str:
        calls[f"{request.task} {request.model} {request.samples}"] += 1
        seen = case.messages[0].content
        assert QUESTION in seen
        assert (TEXT in seen) == (request.task != "clear")
        return replies[request.task]

    build = make_build(folder, reply, **recipe)
    write(build, "articles", [article("a", TEXT, "Pay")])
    write(build, "questions", [draft("q", QUESTION, "12 percent", "a")])
    (found,) = make_review(build)
    return found.outcome if isinstance(found, Reject) else found.question, calls


GOOD = {"clear": "VERDICT: yes", "reader": "12%", "states": "yes"}


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, "q"),
        ({"reader": "It pays twelve per cent."}, "q"),
        ({"clear": "Of which company?\nVERDICT: no"}, "unclear"),
        ({"clear": "Hm."}, "unclear"),
        ({"reader": "20%"}, "round-trip"),
        ({"reader": "unknown"}, "round-trip"),
        ({"states": '{"reason": "only for managers", "verdict": "no"}'}, "not-stated"),
    ],
)
def test_a_question_passes_or_has_one_reason(tmp_path: Path, changes: dict[str, str], outcome: str) -> None:
    assert review(tmp_path, GOOD | changes)[0] == outcome


def test_a_second_model_and_votes_are_options(tmp_path: Path) -> None:
    _, calls = review(tmp_path, GOOD, checks=RecipeChecks(model="m/second", votes=3))
    assert calls == {"clear m/second 3": 1, "reader m/second 3": 1, "states m/second 3": 1}


def test_most_votes_decide(tmp_path: Path) -> None:
    said = {"clear": ["no", "yes", "yes"], "reader": ["12%", "9%", "12 percent"], "states": ["yes", "no", "no"]}

    def ask(request: Request) -> dict[str, list[Completion]]:
        return {
            case.case: [Completion(outcome="ok", reply=one) for one in said[request.task]] for case in request.cases
        }

    build = replace(make_build(tmp_path, lambda _request, _case: "", checks=RecipeChecks(votes=3)), ask=ask)
    write(build, "articles", [article("a", TEXT)])
    write(build, "questions", [draft("q", QUESTION, "12 percent", "a")])
    assert [one.outcome for one in make_review(build) if isinstance(one, Reject)] == ["not-stated"]


def test_an_invented_question_has_no_text_to_be_checked_with(tmp_path: Path) -> None:
    build = make_build(tmp_path, lambda _request, _case: "no")
    write(build, "articles", [])
    invented = draft("q", "Who won the 1954 Nobel Prize in Literature?", "Ernest Hemingway")
    write(build, "questions", [structs.replace(invented, origin="known")])
    assert list(make_review(build)) == [AcceptedQuestion(question="q")]
