"""The rules applied to the passages of complete items, and to RGB's own pools."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.builder.quality import measure
from ragbed.builder.statements import label_again
from ragbed.schema import Passage
from tests.items import integration_item

AGREEMENT = {
    # file: supporting and distracting passages that agree by ragbed's rule
    "zh_refine": ((2479, 2571), (5106, 5144)),
    "en_fact": ((328, 395), (511, 594)),
}


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=[pytest.mark.slow] * file.startswith("zh")) for file in AGREEMENT]
)
def test_the_rules_agree_with_the_published_labels(file: str, rgb_dir: Path) -> None:
    quality = measure(str(rgb_dir / f"{file}.json"))
    found = [(measure.hits, measure.n) for measure in quality.families["labels"] if "label" in measure.name]
    assert tuple(found) == AGREEMENT[file]


def test_a_passage_of_a_built_integration_item_is_held_to_the_question_of_its_part() -> None:
    text = "The Harrow Cup of 2024 went to Anna Karlsson."
    item = integration_item(0, (1, 1))
    item = replace(
        item,
        question="Who won the 2024 Harrow Cup, and which agency enforces the Oakencross Pawnbrokers Ordinance of 2023?",
        answer=(("Anna Karlsson",), ("Safety Bureau",)),
        passages=(Passage(text=text, stance="supports", part=0), *item.passages[1:]),
    )
    questions = ("Who won the 2024 Harrow Cup?", "Which agency enforces the Oakencross Pawnbrokers Ordinance of 2023?")
    asked = replace(item, sub_questions=questions)
    assert label_again(item, item.passages[0]).label == "mention"
    assert label_again(asked, item.passages[0]).label == "positive"
