"""Passages with their stances, and a judge that is worth asking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ragbed.builder.build_context import Build
from ragbed.builder.model_requests import Request
from ragbed.builder.pools import make_pools
from ragbed.builder.recipe import RecipePools
from ragbed.builder.records import Candidate, LabelledPool, Ranked
from ragbed.schema import Completion, Reject
from tests.builder.test_answers import draft, lay_out, write


def label(folder: Path, say: Callable[[int], str]) -> list[LabelledPool | Reject]:
    """What the step makes of two questions of which half of the passages give the answer."""
    build = lay_out(folder, "", [], pools=RecipePools(judge="m/judge"))

    def ask(request: Request) -> dict[str, list[Completion]]:
        return {case.case: [Completion(outcome="ok", reply=say(number))] for number, case in enumerate(request.cases)}

    build = Build(build.folder, build.recipe, build.today, ask)
    write(build, "questions", [draft(name, f"Who won the {name} Cup of Velden?", f"Ada {name}") for name in "qr"])
    told = {
        name: [f"The {name} Cup of Velden {n} " + (f"went to Ada {name}." if n % 2 else "is old.") for n in range(60)]
        for name in "qr"
    }
    write(
        build,
        "ranking",
        [
            Ranked(question=name, candidates=tuple(Candidate(text=text, url=text, title="") for text in texts))
            for name, texts in told.items()
        ],
    )
    return list(make_pools(build))


@pytest.mark.parametrize(
    ("word", "told"),
    [("VERDICT: supports", "the judge says 'supports' for 120 of 120 passages in en"), ("Hm.", "no verdict")],
)
def test_a_judge_that_says_one_thing_of_everything_is_told_of(tmp_path: Path, word: str, told: str) -> None:
    (doubt,) = (one for one in label(tmp_path, lambda _: word) if isinstance(one, Reject) and one.outcome == "judge")
    assert doubt.what == "m/judge"
    assert told in doubt.reason


def test_a_judge_that_tells_passages_apart_is_not(tmp_path: Path) -> None:
    found = label(tmp_path, lambda number: f"VERDICT: {'supports' if number % 2 else 'none'}")
    assert not [one for one in found if isinstance(one, Reject) and one.outcome == "judge"]
    assert sum(isinstance(one, LabelledPool) for one in found) == 2
