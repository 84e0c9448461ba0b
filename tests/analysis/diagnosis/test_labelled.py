"""Error types against labels and known causes: minimum values of the figures in docs/reference/error-types.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest

from tests.analysis.diagnosis.trials import (
    Counts,
    compare,
    compare_twins,
    count,
    diagnose_line,
    kappa,
    read_labelled,
    read_twins,
)

Floors: TypeAlias = Mapping[str, tuple[float, float]]

FLOORS = {"E1": (1.0, 1.0), "E2": (0.88, 1.0), "E3": (0.9, 1.0), "E5": (1.0, 0.8), "E11": (0.8, 0.8)}
"""Precision and recall of types that occur at least three times among errors labelled after the rules were fixed."""
RARE_FLOORS = {"E2": (0.92, 0.85), "E3": (1.0, 0.92), "E5": (0.88, 0.66), "E8": (1.0, 1.0), "E9": (1.0, 1.0)}
"""The same for errors that were drawn to include rarer types."""
PARTS_FLOORS = {"E4": (0.83, 0.71), "E6": (0.9, 0.9)}
"""The same for all integration errors that were labelled for these two types."""
TWIN_FLOORS = {
    "smollm2-en": {"E1": (1.0, 0.8), "E2": (0.95, 0.51), "E3": (0.6, 0.57)},
    "qwen-en": {"E1": (1.0, 0.83), "E2": (1.0, 0.64), "E3": (0.52, 0.78)},
    "qwen-zh": {"E1": (1.0, 1.0), "E2": (0.95, 0.65), "E3": (0.36, 0.64)},
}
"""The same where the true type is the dial's. One E2 of each English model was once found by accident: the rules took
"21 Jubilee Trophy", cut from the question's "under-21 Jubilee Trophy", for the answer, and it occurs in a hedged
sentence."""
PLANTED_FLOORS = {"smollm2-en": (1.0, 0.83), "qwen-en": (1.0, 0.77), "qwen-zh": (0.96, 0.93)}
"""E2 if the response has the planted value."""


@pytest.mark.parametrize(("part", "least"), [("dev", 57), ("held", 49), ("test", 48), ("rare", 53)])
def test_most_errors_have_exactly_the_labelled_types(part: str, least: int) -> None:
    assert sum(true == found for true, found in compare(read_labelled(part))) >= least


@pytest.mark.parametrize(("part", "floors"), [("test", FLOORS), ("rare", RARE_FLOORS)])
def test_types_of_errors_labelled_after_the_rules_were_fixed_are_found(part: str, floors: Floors) -> None:
    assert _below(count(compare(read_labelled(part))), floors) == {}


def test_a_merged_part_is_reported_once() -> None:
    for line in read_labelled("rare"):
        diagnosis = diagnose_line(line)
        merged = [one.part for one in diagnosis.evidence if one.type == "E4"] if diagnosis else []
        assert len(merged) == len(set(merged)), line["reply"]


def test_merged_and_misaligned_answers_are_found_among_integration_errors() -> None:
    lines = [line for part in ("parts", "rare") for line in read_labelled(part) if line["testbed"] == "integration"]
    assert len(lines) == 167
    assert _below(count(compare(lines)), PARTS_FLOORS) == {}


def test_the_two_passes_of_labelling_agree() -> None:
    lines = [line for part in ("dev", "held") for line in read_labelled(part)]
    assert len(lines) == 118
    agreement = {name: kappa(lines, name) for name in ("E1", "E2", "E3", "E5", "E11")}
    assert all(value is not None and value >= 0.6 for value in agreement.values()), agreement


@pytest.mark.parametrize("which", TWIN_FLOORS)
def test_the_perturbation_that_caused_an_error_is_found_as_its_type(which: str) -> None:
    assert _below(count(compare_twins(read_twins(which))), TWIN_FLOORS[which]) == {}


@pytest.mark.parametrize("which", PLANTED_FLOORS)
def test_a_planted_uncertain_value_is_found_in_an_uncertain_sentence(which: str) -> None:
    counts = count(compare_twins(line for line in read_twins(which) if line["planted"]))["E2"]
    precision, recall = PLANTED_FLOORS[which]
    assert counts.precision >= precision
    assert counts.recall >= recall


@pytest.mark.parametrize(("which", "least"), [("smollm2-en", 12), ("qwen-en", 21), ("qwen-zh", 36)])
def test_a_false_statement_without_a_cue_is_unclassified(which: str, least: int) -> None:
    """Nothing in such a document shows that it is wrong, so a type would be a guess."""
    plain = [diagnose_line(line) for line in read_twins(which) if line["dial"] == "contradiction" and line["planted"]]
    assert sum(one is not None and one.types == () and one.source == "distracts" for one in plain) >= least
    assert len(plain) - least <= 1


def _below(counts: Mapping[str, Counts], floors: Floors) -> dict[str, Counts]:
    return {
        name: counts[name]
        for name, (precision, recall) in floors.items()
        if counts[name].precision < precision or counts[name].recall < recall
    }
