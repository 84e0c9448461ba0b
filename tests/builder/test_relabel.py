"""Labelling RGB's own pools again gives the published split and the published prompts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.builder.relabel import LabelDisagreement, label_again, rebuild, relabel
from ragbed.data import FORMATS, Dataset
from ragbed.schema import Item, Passage, Stance
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.golden.facts import read_facts, short_hash
from tests.items import base_item, integration_item

PLAIN: dict[str, tuple[dict[Stance, tuple[int, int]], set[str]]] = {
    # file: published stance to (agree, of), items that come out otherwise
    "zh_refine": ({"supports": (2566, 2571), "distracts": (5142, 5144)}, {"92", "104", "111", "177", "211", "238"}),
    "en_fact": ({"supports": (395, 395), "distracts": (594, 594), "contradicts": (393, 395)}, set()),
    "zh_int": ({"supports": (1578, 1578), "distracts": (4183, 4184)}, {"23"}),
}
SUPPORT: dict[str, dict[Stance, tuple[int, int]]] = {
    # The scorer's variants find the answers of items 100 and 157 in four passages that RGB calls distracting.
    "zh_refine": {"supports": (2479, 2571), "distracts": (5106, 5144)},
    "en_fact": {"supports": (328, 395), "distracts": (517, 594), "contradicts": (383, 395)},
}
TESTBED = {"zh_refine": "noise", "en_fact": "counterfactual", "zh_int": "integration"}


@pytest.mark.parametrize(
    "file", [pytest.param(file, marks=[pytest.mark.slow] * file.startswith("zh")) for file in PLAIN]
)
def test_containment_gives_the_published_labels(file: str, rgb_dir: Path) -> None:
    sums, disagreements = relabel(Dataset(file, rgb_dir / f"{file}.json").items())
    found = {(row.way, row.published): (row.agree, row.of) for row in sums.rows}
    counts, others = PLAIN[file]
    assert {stance: found["plain", stance] for stance in counts} == counts
    assert sums.items - sums.rebuilt == len(others)
    if file in SUPPORT:
        assert {stance: found["support", stance] for stance in counts} == SUPPORT[file]
    assert len(disagreements) == sum(of - agree for agree, of in found.values())
    assert all(one.rule and one.reason for one in disagreements)


@pytest.mark.parametrize("file", PLAIN)
def test_the_rebuilt_split_gives_the_original_prompts(file: str, rgb_dir: Path, tmp_path: Path) -> None:
    _, others = PLAIN[file]
    rebuilt = [rebuild(item) for item in Dataset(file, rgb_dir / f"{file}.json").items()]
    path = tmp_path / f"{file}.json"
    path.write_bytes(b"".join(FORMATS["rgb"].to_line(item) for item in rebuilt if item.id not in others))
    published = (rgb_dir / f"{file}.json").read_bytes().splitlines(keepends=True)
    assert path.read_bytes() == b"".join(line for number, line in enumerate(published) if str(number) not in others)
    golden = {}
    for line in read_facts("cases"):
        wanted = (line["profile"], line["file"], line["k"], line["correct"], line["noise"])
        if wanted == ("code-2024", file, 5, 0.0, 0.4):
            golden[str(line["id"])] = line["user"]
    settings = Settings(noise=(Fraction("0.4"),), num_docs=(5,), correct=(Fraction(0),), profile="code-2024")
    said = {
        case.item: case.messages[-1].content for case in TESTBEDS[TESTBED[file]].cases(Dataset(file, path), settings)
    }
    assert len(said) == len(rebuilt) - len(others)
    assert {item: short_hash(text) for item, text in said.items()} == {
        item: digest for item, digest in golden.items() if item not in others
    }


def _relabelled(item: Item) -> dict[str, list[LabelDisagreement]]:
    _, found = relabel([item])
    return {way: [one for one in found if one.way == way] for way in ("plain", "support")}


def test_a_wrong_label_is_named_with_its_place_and_reason() -> None:
    passages = (
        Passage(text="What is the answer to question 0? It is gold-0-gold.", stance="distracts"),
        Passage(text="Question 0 has an answer.", stance="supports"),
    )
    found = _relabelled(base_item(passages=passages))
    assert [(one.place, one.label) for one in found["plain"]] == [
        ("distracts[0]", "positive"),
        ("supports[0]", "related"),
    ]
    assert "gold-0-gold" in found["plain"][1].reason


def test_a_passage_of_an_integration_item_needs_one_part() -> None:
    item = integration_item(0, (1, 1))
    given = tuple(
        Passage(text=f"The answer to question 0 is part-{part}.", stance="supports", part=part) for part in range(2)
    )
    found = _relabelled(replace(item, passages=given))
    assert found == {"plain": [], "support": []}


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
    assert label_again(item, item.passages[0], "support").label == "mention"
    assert label_again(asked, item.passages[0], "support").label == "positive"
