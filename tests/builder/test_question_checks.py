"""The model's checks of a question: clear alone, answered from the text, and stated there as asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from ragbed.builder.build_context import AcceptedQuestion, Probe
from ragbed.builder.model_calls import Request
from ragbed.builder.question_checks import make_probes, make_review
from ragbed.builder.recipe import RecipeChecks, RecipeCounts, RecipeGate
from ragbed.schema import Case, Completion, Reject
from tests.builder.steps import article, draft, make_build, write

TEXT = "Orsa Ltd pays 12 percent of a salary in advance."
QUESTION = "How much of a salary does Orsa Ltd pay in advance?"


def review(folder: Path, replies: dict[str, str], **recipe: object) -> tuple[str, Counter[str]]:
    """The outcome for one question, and the calls by task and model."""
    calls = Counter[str]()

    def reply(request: Request, case: Case) -> str:
        calls[f"{request.task} {request.model}"] += 1
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
        ({"clear": "Named: nothing\nVERDICT: yes"}, "unclear"),
        ({"clear": "**Named:** Orsa Ltd\nVERDICT: yes"}, "q"),
        ({"reader": "20%"}, "round-trip"),
        ({"reader": "unknown"}, "round-trip"),
        ({"states": '{"reason": "only for managers", "verdict": "no"}'}, "not-stated"),
    ],
)
def test_a_question_passes_or_has_one_reason(tmp_path: Path, changes: dict[str, str], outcome: str) -> None:
    assert review(tmp_path, GOOD | changes)[0] == outcome


def test_a_second_model_checks_if_the_recipe_names_one(tmp_path: Path) -> None:
    _, calls = review(tmp_path, GOOD, checks=RecipeChecks(model="m/second"))
    assert calls == {"clear m/second": 1, "reader m/second": 1, "states m/second": 1}


def probe(folder: Path, models: tuple[str, ...], replies: Mapping[str, str]) -> Probe | Reject:
    """The outcome for one question; every model gets the question, and no word of documents that are not there."""

    def ask(request: Request) -> dict[str, Completion]:
        (case,) = request.cases
        assert "ocument" not in "".join(message.content for message in case.messages)
        assert case.question in case.messages[-1].content
        reply = replies[request.model]
        failed = Completion(outcome="error", error="timeout")
        return {case.case: Completion(outcome="ok", reply=reply) if reply else failed}

    wanted = RecipeCounts(counterfactual=1)
    build = make_build(folder, lambda *_: "", gate=RecipeGate(models=models), wanted=wanted)
    write(build, "questions", [draft("q", "Who won the Orsa Cup?", "Ada Orsa", "a")])
    write(build, "review", [AcceptedQuestion(question="q")])
    (found,) = make_probes(replace(build, ask=ask))
    return found


@pytest.mark.parametrize(
    ("models", "known_by", "is_known"),
    [
        ({"m/a": "Ada Orsa", "m/b": "It was Ada Orsa.", "m/c": "I do not know."}, ("m/a", "m/b"), True),
        ({"m/a": "Ada Orsa", "m/b": "nobody"}, ("m/a",), False),
    ],
)
def test_what_more_than_half_of_the_models_say_by_themselves_is_known(
    tmp_path: Path, models: dict[str, str], known_by: tuple[str, ...], is_known: bool
) -> None:
    found = probe(tmp_path, tuple(models), models)
    assert isinstance(found, Probe)
    assert (found.known_by, found.is_known) == (known_by, is_known)


def test_a_call_that_failed_is_neither_known_nor_unknown(tmp_path: Path) -> None:
    found = probe(tmp_path, (), {"m/x": ""})
    assert isinstance(found, Reject)
    assert (found.outcome, found.reason) == ("error", "the call to a model failed: timeout")
