"""The original code's selection for items that are small enough to check by eye."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ragbed.schema import Item, Passage
from ragbed.testbeds.original_code import choose_base, choose_counterfactual, choose_integration
from ragbed.testbeds.settings import CaseCondition
from tests.items import base_item


def _names(item: Item, indices: list[int]) -> str:
    pools: dict[str, list[int]] = {}
    for index, passage in enumerate(item.passages):
        pools.setdefault(passage.stance, []).append(index)
    letters = {"supports": "P", "distracts": "N", "contradicts": "W"}
    return " ".join(f"{letters[item.passages[i].stance]}{pools[item.passages[i].stance].index(i)}" for i in indices)


@pytest.mark.parametrize(
    ("noise", "order"),
    [
        ("0.2", "P1 N0 P3 P2 P0"),
        ("0.4", "P1 N1 N0 P2 P0"),
        ("0.6", "P1 N2 N1 N0 P0"),
        ("0.8", "N0 N3 N2 N1 P0"),
    ],
)
def test_the_first_positive_always_comes_last(noise: str, order: str) -> None:
    item = base_item()
    assert _names(item, choose_base(item, CaseCondition(Fraction(noise), 5), 2024).placed) == order


@pytest.mark.parametrize(
    ("supports", "distracts", "noise", "drawn"),
    [
        (2, 6, "0", "P0 P1 N0 N1 N2"),  # positives short: filled up with negatives
        (6, 1, "0.4", "P0 P1 P2 P3 N0"),  # negatives short: filled up with positives
        (1, 1, "0.4", "P0 N0"),  # both short: only one is filled up
        (6, 3, "1", "N0 N1 N2"),
    ],
)
def test_shortages_are_filled_like_in_the_original_code(supports: int, distracts: int, noise: str, drawn: str) -> None:
    item = base_item(supports=supports, distracts=distracts)
    assert _names(item, choose_base(item, CaseCondition(Fraction(noise), 5), 2024).drawn) == drawn


def test_floats_are_rounded_up_as_they_come() -> None:
    item = base_item(supports=30, distracts=30)
    chosen = choose_base(item, CaseCondition(Fraction("0.28"), 25), 2024)  # 25 × 0.28 is 7.000000000000001
    assert _names(item, chosen.drawn).count("N") == 8


def _integration_item(groups: int, each: int) -> Item:
    passages = [Passage(text=f"{g}.{i}", stance="supports", part=g) for g in range(groups) for i in range(each)]
    return base_item(passages=(*passages, *(Passage(text=f"n{i}", stance="distracts") for i in range(9))))


@pytest.mark.parametrize(("year", "documents"), [(2023, 8), (2024, 5)])
def test_the_code_of_2023_uses_all_positives_when_the_groups_fill_the_prompt(year: int, documents: int) -> None:
    item = _integration_item(groups=2, each=4)
    assert len(choose_integration(item, CaseCondition(Fraction("0.6"), 5), year).placed) == documents


def test_seven_groups_make_seven_documents() -> None:
    chosen = choose_integration(_integration_item(groups=7, each=1), CaseCondition(Fraction(0), 5), 2024)
    assert len(chosen.placed) == 7


def _fact_item(pairs: int) -> Item:
    return base_item(
        fake=(("fake",),),
        passages=(
            *(Passage(text=f"t{i}", stance="supports") for i in range(pairs)),
            *(Passage(text=f"w{i}", stance="contradicts", edit_of=i) for i in range(pairs)),
            *(Passage(text=f"n{i}", stance="distracts") for i in range(4)),
        ),
    )


def test_true_documents_come_only_from_positions_left_over() -> None:
    item = _fact_item(pairs=3)
    chosen = choose_counterfactual(item, CaseCondition(Fraction(0), 5, correct=Fraction("0.4")), 2024)
    assert sorted(item.passages[i].stance for i in chosen.drawn) == ["contradicts"] * 3


def test_more_than_all_documents_raises_as_the_original_does() -> None:
    with pytest.raises(ValueError, match="Sample larger than population or is negative"):
        choose_counterfactual(_fact_item(3), CaseCondition(Fraction("0.4"), 5, correct=Fraction("0.8")), 2024)
