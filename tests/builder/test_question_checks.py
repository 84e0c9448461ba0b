"""The model's checks of a question: clear alone, answered from the text, and stated there as asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from ragbed.builder.build_context import AcceptedQuestion, Build, Draft, Probe
from ragbed.builder.model_calls import Request
from ragbed.builder.question_checks import make_probes, make_review
from ragbed.builder.recipe import Recipe, RecipeChecks, RecipeCounts, RecipeGate, RecipeSource
from ragbed.schema import Article, Case, Completion, Reject
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


TEXTS = {
    "Orsa": "The Orsa Cup was won by Ada Orsa in the rain on a Sunday before a small crowd of old friends.",
    "Lund": "Ada Lund won the Lund Cup by a mile, and a band that nobody had asked for played until it was dark.",
}
ARTICLES = [
    Article(id=name, url=name, title=name, text=text, lang="en", sha256="", source="") for name, text in TEXTS.items()
]


def probed(name: str, day: str | None = "2026-05-01", origin: str = "article") -> Draft:
    fields = {
        "id": name,
        "question": f"Who won the {name} Cup?",
        "lang": "en",
        "answer": [[f"Ada {name}"]],
        "article": name,
    }
    return msgspec.convert(fields | {"origin": origin, "date": day}, Draft)


def probe(
    folder: Path, gate: RecipeGate, drafts: Sequence[Draft], replies: Mapping[str, Sequence[str]]
) -> list[Probe | Reject]:
    """What the step makes of what each model says, sample by sample, to every question."""

    def ask(request: Request) -> dict[str, list[Completion]]:
        said = replies[request.model]
        for case in request.cases:  # closed book: the question, and no word of documents that are not there
            assert "ocument" not in "".join(message.content for message in case.messages)
            assert case.question in case.messages[-1].content
        assert request.samples == len(said)
        return {
            case.case: [
                Completion(outcome="error", error="timeout") if one == "!" else Completion(outcome="ok", reply=one)
                for one in said
            ]
            for case in request.cases
        }

    source = (RecipeSource(kind="folder", place="."),)
    recipe = Recipe(name="n", generator="m/own", sources=source, gate=gate, wanted=RecipeCounts(counterfactual=1))
    build = Build(folder, recipe, date(2026, 11, 15), ask)
    build.file_of("questions").parent.mkdir(parents=True)
    build.file_of("questions").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in drafts))
    reviewed = [AcceptedQuestion(question=one.id) for one in drafts]
    build.file_of("review").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in reviewed))
    build.file_of("articles").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in ARTICLES))
    return list(make_probes(build))


def test_what_most_models_say_by_themselves_is_known(tmp_path: Path) -> None:
    models = ("m/a", "m/b", "m/c")
    replies = {"m/a": ["Ada Orsa"], "m/b": ["It was Ada Orsa."], "m/c": ["I do not know."]}
    (found,) = probe(tmp_path, RecipeGate(models=models), [probed("Orsa")], replies)
    assert isinstance(found, Probe)
    assert (found.known_by, found.is_known) == (("m/a", "m/b"), True)


def test_half_of_the_models_and_half_of_the_samples_are_not_most(tmp_path: Path) -> None:
    gate = RecipeGate(models=("m/a", "m/b"), samples=2)
    replies = {"m/a": ["Ada Orsa", "Ada Orsa"], "m/b": ["Ada Orsa", "nobody"]}
    (found,) = probe(tmp_path, gate, [probed("Orsa")], replies)
    assert isinstance(found, Probe)
    assert (found.known_by, found.is_known) == (("m/a",), False)


def test_an_invented_question_that_nobody_knows_goes(tmp_path: Path) -> None:
    found = probe(tmp_path, RecipeGate(), [probed("Orsa", None, "known")], {"m/own": ["Bob Miller"]})
    assert [one.outcome for one in found if isinstance(one, Reject)] == ["unknown"]


def test_a_call_that_failed_is_neither_known_nor_unknown(tmp_path: Path) -> None:
    found = probe(tmp_path, RecipeGate(), [probed("Orsa")], {"m/own": ["!"]})
    assert [(one.outcome, one.reason) for one in found if isinstance(one, Reject)] == [
        ("error", "the call to a model failed: timeout")
    ]
