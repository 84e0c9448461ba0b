"""The sub-questions of integration items."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

import ragbed
from ragbed.data import Dataset
from ragbed.data.native import to_line
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.names import parse_case
from ragbed.testbeds.settings import Settings

BUNDLED = Path(__file__).parents[2] / "src/ragbed/data/bundled"


def test_every_part_has_the_documents_of_the_complete_question() -> None:
    dataset = Dataset("int", BUNDLED / "ragbed-mini-en_int.jsonl")
    wholes = list(TESTBEDS["integration"].cases(dataset, Settings(limit=5)))
    parts = list(TESTBEDS["parts"].cases(dataset, Settings(limit=5)))
    by_whole: dict[tuple[str, float | None], list[str]] = {}
    for part in parts:
        named = parse_case(part.case)
        assert (named.item, named.testbed) == (part.item, "parts")
        by_whole.setdefault((part.item, part.noise), []).append(named.settings["part"])
    assert len({part.case for part in parts}) == len(parts)
    for whole in wholes:
        mine = [part for part in parts if (part.item, part.noise) == (whole.item, whole.noise)]
        assert by_whole[whole.item, whole.noise] == [str(number) for number in range(len(whole.answer))]
        assert [part.answer for part in mine] == [(aliases,) for aliases in whole.answer]
        for part in mine:
            assert part.documents == whole.documents
            assert part.question in part.messages[-1].content
            assert whole.question not in part.messages[-1].content


def test_parts_can_be_evaluated_at_a_noise_ratio_without_integration() -> None:
    made = ragbed.cases("ragbed-mini-en_int", testbeds="parts", noise=0.2, limit=2, progress=False)
    assert {(case.testbed, case.noise) for case in made} == {("parts", 0.2)}


def test_an_item_without_questions_for_its_parts_has_no_such_cases(tmp_path: Path) -> None:
    first, second = list(Dataset("int", BUNDLED / "ragbed-mini-zh_int.jsonl").items())[:2]
    path = tmp_path / "some.jsonl"
    path.write_bytes(to_line(structs.replace(first, sub_questions=())) + to_line(second))
    assert {case.item for case in TESTBEDS["parts"].cases(Dataset("some", path), Settings())} == {second.id}
