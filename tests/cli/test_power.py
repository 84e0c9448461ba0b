"""`ragbed power` as typed."""

from __future__ import annotations

import json

import pytest

from tests.cli.typed import type_command


def _plans(*words: str) -> list[dict[str, float | int | str | None]]:
    done = type_command("power", *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)["plans"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("words", "items"),
    [
        (("--drop", "3%", "--discordance", "8%"), 696),
        (("--drop", "0.05", "--discordance", "0.1"), 312),
        (("--drop", "10%", "--discordance", "3/10"), 234),
    ],
)
def test_a_drop_and_a_discordance_give_the_sizes_of_the_design(words: tuple[str, ...], items: int) -> None:
    paired, *_ = _plans(*words)
    assert paired["items"] == items


def test_a_base_gives_the_sizes_for_different_questions() -> None:
    assert [plan["items"] for plan in _plans("--drop", "5%", "--base", "95%")][-1] == 435


def test_items_give_the_drop_that_they_show() -> None:
    plans = _plans("--items", "300")
    assert {plan["items"] for plan in plans} == {300}
    unpaired = next(plan for plan in plans if plan["assumes"] == "accuracy before: 95%")
    assert unpaired["drop"] == pytest.approx(0.0623, abs=1e-4)


def test_both_give_the_chance() -> None:
    (paired, *_) = _plans("--items", "312", "--drop", "5%", "--discordance", "10%")
    assert paired["power"] == pytest.approx(0.7638, abs=1e-4)


def test_the_table_says_what_is_assumed_and_what_cannot_be() -> None:
    done = type_command("power", "--drop", "70%")
    assert "verdicts that change: 2 × the drop" in done.out
    assert "–" in done.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--drop", "5"), "out of range"),
        (("--drop", "0"), "Use a fraction greater than 0"),
        (("--drop", "five"), "is not a ratio"),
        (("--base", "0"), "Use a fraction greater than 0"),
        (("--items", "1"), "Use an integer of at least 2 and at most 100,000"),
        (("--power", "1"), "Use a number of at least 0.5 and at most 0.999"),
    ],
)
def test_wrong_usage_is_told(words: tuple[str, ...], told: str) -> None:
    done = type_command("power", *words)
    assert done.code == 2
    assert told in done.err


def test_a_given_drop_is_not_rounded() -> None:
    assert " 1.25 " in type_command("power", "--drop", "1.25%").out
