"""Templates: slots, choices and syntax errors."""

from __future__ import annotations

import pytest

from ragbed.synth.hash_random import HashRandom
from ragbed.synth.templates import Template


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("plain words", {"plain words"}),
        ("{a} and {b}", {"<a> and <b>"}),
        ("[one|two] [big |]dog", {"one big dog", "one dog", "two big dog", "two dog"}),
        ("[in {town}|at [home|sea]]", {"in <town>", "at home", "at sea"}),
    ],
)
def test_all_texts_of_a_template(source: str, texts: set[str]) -> None:
    assert {Template(source).write(lambda slot: f"<{slot}>", HashRandom(n)) for n in range(200)} == texts


def test_slots_inside_choices_are_found() -> None:
    assert Template("{a} [b|{c} [{d}|e]]").slots == {"a", "c", "d"}


def test_a_template_without_slots_can_be_expanded() -> None:
    assert Template("[a|b]x[|y]").expansions() == ["ax", "axy", "bx", "bxy"]
    assert Template("[a|{b}]").expansions() is None


@pytest.mark.parametrize("source", ["{open", "[open|never", "stray ] here"])
def test_an_invalid_template_is_refused_with_its_text(source: str) -> None:
    with pytest.raises(ValueError, match=r"template .*(open|stray).* bracket"):
        Template(source)
