"""The fluent variant of an edit: a model's wording if it passes every check, the exchanged strings if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import pytest

from ragbed.build.asking import Request
from ragbed.build.edits import edit_passage
from ragbed.build.place import Build
from ragbed.build.recipe import Pools, Recipe, SourceLine
from ragbed.build.records import Draft, Edited, Falsehood
from ragbed.build.rewrites import smooth
from ragbed.schema import Completion

TRUE = "A spokesman of the Harbour Bank said Maria Okonjo had done her best, and she was tired."
FLUENT = "A spokesman of the Harbour Bank said Jon Ferreira had done his best, and he was tired."
DRAFT = Draft(
    id="1",
    origin="known",
    kind="name",
    question="Who is the head of the Harbour Bank?",
    lang="en",
    answer=(("Maria Okonjo",),),
)


def _build(rewriter: str | None, reply: str) -> Build:
    def ask(request: Request) -> Mapping[str, Sequence[Completion]]:
        return {case.case: [Completion(outcome="ok", reply=reply)] for case in request.cases}

    sources = (SourceLine(kind="folder", place="docs"),)
    recipe = Recipe(name="test", generator="openai/any", sources=sources, pools=Pools(rewriter=rewriter))
    return Build(Path("nowhere"), recipe, date(2026, 11, 15), ask)


@pytest.mark.parametrize(
    ("rewriter", "reply", "is_fluent"),
    [
        ("openai/any", FLUENT, True),
        ("openai/any", f"\n{FLUENT}\n", True),
        ("openai/any", TRUE, False),  # the truth came back
        ("openai/any", "Sure! Here is the passage.", False),
        ("openai/any", "", False),
        (None, FLUENT, False),  # nobody was asked
    ],
)
def test_a_wording_is_taken_if_it_passes_every_check(rewriter: str | None, reply: str, is_fluent: bool) -> None:
    fake = (("Jon Ferreira",),)
    strings = edit_passage(DRAFT, fake, TRUE)
    one = Falsehood(question="1", fake=fake, edits=(Edited(of=0, text=strings.text, spans=strings.spans),))
    (made,) = smooth(_build(rewriter, reply), "falsehoods", [(DRAFT, one)])
    (edit,) = made.edits
    assert (edit.text, edit.is_fluent) == ((FLUENT, True) if is_fluent else (strings.text, False))
    assert [edit.text[start:end] for start, end in edit.spans] == ["Jon Ferreira"]
