"""Sibling questions from another article, for pairs that can be combined into one question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.build_context import Build
from ragbed.builder.model_requests import Request
from ragbed.builder.questions import SimilarArticles, make_questions
from ragbed.builder.recipe import Recipe, RecipeCounts, RecipeModels, RecipeSource
from ragbed.builder.records import Draft
from ragbed.schema import Article, Completion, Reject

NEWS = {
    "cup-2023": "The Orsa Cup of 2023 in Velden was won by Ada Marlowe, who beat Ines Okoro.",
    "again-2023": "Ada Marlowe, who won the Orsa Cup of 2023 in Velden, was welcomed at the town hall.",
    "cup-2022": "The Orsa Cup of 2022 in Velden was won by Bruno Tolwell after a long final.",
    "bridge": "The bridge over the Lund was closed for repairs.",
}
FIELDS = {
    "cup-2023": "Question: Who won the Orsa Cup of 2023 in Velden?\nKey information: Ada Marlowe",
    "cup-2022": "Question: Who won the Orsa Cup of 2022 in Velden?\nKey information: Bruno Tolwell",
}


def article(name: str) -> Article:
    return Article(id=name, url=f"{name}.md", title=name, text=NEWS[name], lang="en", sha256="0", source=".")


def draft(question: str, answer: str, source: str) -> Draft:
    return Draft(
        id="1", question=question, lang="en", answer=((answer,),), article=source, origin="article", kind="name"
    )


class Generator:
    """Writes a question from the first article only, and siblings as told."""

    def __init__(self, siblings: Mapping[str, str]) -> None:
        self.siblings = siblings
        self.shown: list[str] = []

    def __call__(self, request: Request) -> dict[str, Sequence[Completion]]:
        return {
            case.case: [Completion(outcome="ok", reply=self._reply(request.task, case.messages[0].content))]
            for case in request.cases
        }

    def _reply(self, task: str, prompt: str) -> str:
        name = next(name for name, text in NEWS.items() if text in prompt)
        if task == "questions":
            return FIELDS["cup-2023"] if name == "cup-2023" else "Related event: none"
        assert task == "siblings"
        self.shown.append(name)
        return self.siblings.get(name, "Related event: none")


def make(folder: Path, generator: Generator, integration: int = 1) -> list[Draft | Reject]:
    recipe = Recipe(
        name="n",
        generator="m/x",
        sources=(RecipeSource(kind="folder", place="."),),
        langs=("en",),
        wanted=RecipeCounts(base=1, integration=integration),
        questions=RecipeModels(surplus=1.0),
    )
    build = Build(folder, recipe, date(2026, 11, 15), ask=generator)
    build.file_of("x").parent.mkdir()
    build.file_of("articles").write_bytes(b"".join(msgspec.json.encode(article(name)) + b"\n" for name in NEWS))
    return list(make_questions(build))


def test_the_nearest_article_that_does_not_give_the_same_answer_is_taken() -> None:
    near = SimilarArticles([article(name) for name in NEWS])
    found = near.nearest(draft("Who won the Orsa Cup of 2023 in Velden?", "Ada Marlowe", "cup-2023"))
    assert found is not None
    assert found.id == "cup-2022"


def test_where_no_other_article_shares_a_word_there_is_none() -> None:
    near = SimilarArticles([article("cup-2023"), article("bridge")])
    assert near.nearest(draft("Qui gagna Orsa?", "Ada Marlowe", "cup-2023")) is None


def test_a_sibling_is_a_draft_of_its_own_from_its_own_article(tmp_path: Path) -> None:
    generator = Generator(FIELDS)
    drafts = [one for one in make(tmp_path, generator) if isinstance(one, Draft)]
    assert [(one.question, one.article) for one in drafts] == [
        ("Who won the Orsa Cup of 2023 in Velden?", "cup-2023"),
        ("Who won the Orsa Cup of 2022 in Velden?", "cup-2022"),
    ]
    assert generator.shown == ["cup-2022"]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ("Related event: none", "no-sibling"),
        (FIELDS["cup-2023"], "not-in-article"),
        ("Question: Who won the Orsa Cup of 2022 in Velden?\nKey information: Carla Venn", "not-in-article"),
        ("What a nice cup.", "prose"),
    ],
)
def test_a_sibling_that_will_not_do_has_its_reason(tmp_path: Path, reply: str, outcome: str) -> None:
    made = make(tmp_path, Generator({"cup-2022": reply}))
    rejects = [one.outcome for one in made if isinstance(one, Reject) and one.what.startswith("like ")]
    assert rejects == [outcome]


def test_without_integration_items_nobody_is_asked(tmp_path: Path) -> None:
    generator = Generator(FIELDS)
    make(tmp_path, generator, integration=0)
    assert generator.shown == []
