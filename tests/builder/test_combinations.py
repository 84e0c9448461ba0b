"""Pairs of questions: looked for within bounds, and seen to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec

from ragbed.builder.build_context import Combination, Draft, Pool, Probe
from ragbed.builder.combinations import make_combinations, merge_pools
from ragbed.builder.items import make_candidates
from ragbed.builder.recipe import RecipeCounts, RecipeQuestions
from ragbed.schema import Passage, Reject
from tests.builder.steps import make_build, write


def draft(number: int) -> Draft:
    question = f"Who won the Orsa Cup of the year {1900 + number} in Velden?"
    return Draft(id=str(number), question=question, lang="en", answer=(("Ada Orsa",),))


def test_where_no_pair_will_do_the_search_ends(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    recipe = {"wanted": RecipeCounts(integration=1), "questions": RecipeQuestions(surplus=1.0)}
    build = replace(make_build(tmp_path, lambda *_: "", **recipe), watch=lambda *told: seen.append(told))
    drafts = [draft(number) for number in range(30)]
    write(build, "questions", drafts)
    write(build, "probes", [Probe(question=one.id, asked=("m/x",)) for one in drafts])
    passages = (Passage(text="Ada Orsa won.", stance="supports"),)
    write(build, "answers", [Pool(question=one.id, passages=passages) for one in drafts])
    found = list(make_combinations(build))
    assert Counter(one.outcome for one in found if isinstance(one, Reject)) == {"same-answer": 50}
    assert [(done, most) for _, done, most in seen] == [(number, 50) for number in range(51)]


def test_a_model_knows_a_pair_only_if_it_knows_both_answers(tmp_path: Path) -> None:
    build = make_build(tmp_path, lambda *_: "")
    drafts = [msgspec.structs.replace(draft(number), answer=((f"Ada {number}",),)) for number in range(2)]
    write(build, "questions", drafts)
    known = (("m/a", "m/b"), ("m/b", "m/c"))
    asked = ("m/a", "m/b", "m/c", "m/d")
    write(build, "probes", [Probe(question=str(at), asked=asked, known_by=models) for at, models in enumerate(known)])
    write(build, "answers", [Pool(question=one.id, passages=()) for one in drafts])
    write(build, "combinations", [Combination(id="p", question="Who won both?", lang="en", parts=("0", "1"))])
    write(build, "falsehoods", [])
    assert [item.known_by for item in make_candidates(build) if item.sub_questions] == [("m/b",)]


def test_passages_cut_to_one_pattern_do_not_stand_in_one_item() -> None:
    form = "All the town was on its feet when the winner of the Orsa Cup of {} came home, {}, with a wreath and a flag."
    parts = [
        Draft(id=str(year), question=f"Who won the Orsa Cup of {year}?", lang="en", answer=((name,),))
        for year, name in ((1901, "Ada Orsa"), (1902, "Bo Lund"))
    ]  # fmt: skip
    plain = [Passage(text=f"In {one.id} {one.answer[0][0]} won the Orsa Cup.", stance="supports") for one in parts]
    pools = {
        "1901": [plain[0], Passage(text=form.format(1899, "Cy Ferri"), stance="distracts")],
        "1902": [plain[1], Passage(text=form.format(1902, "Bo Lund"), stance="supports")],
    }
    assert [(part, passage.text) for part, passage in merge_pools(parts, pools)] == [
        (0, plain[0].text),
        (1, plain[1].text),
        (1, form.format(1902, "Bo Lund")),
    ]
