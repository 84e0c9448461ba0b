"""Comparisons of constructed scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Side, compare, pair_with_given
from ragbed.analysis.statistics.paired import paired_difference
from ragbed.reporting.comparison_summary import state_incomplete


def _side(model: str, right: list[int], asked: int = 40) -> Side:
    """Return a side with a number of right answers at each noise ratio."""
    scores = {
        ComparedCondition("d", "en", "noise", 0.2 * place, 0.0, 5, "related"): {
            ComparedQuestion(str(number), f"Question {number}?", (("yes",),)): float(number < count)
            for number in range(asked)
        }
        for place, count in enumerate(right)
    }
    return Side(Path(model), model, scores)


def test_a_decline_is_adjusted_for_the_number_of_rows() -> None:
    (alone,) = compare(_side("a", [40]), _side("b", [33]), min_drop=0.03)
    assert 0.025 < alone.decline_p < 0.05
    fallen, *_, same = compare(_side("a", [40] * 4), _side("b", [33, 40, 40, 40]), min_drop=0.03)
    assert fallen.decline_p == pytest.approx(4 * alone.decline_p)
    assert same.decline_p == 1.0


def test_questions_on_one_event_count_as_one() -> None:
    """Ten events with three questions each, all of which fall together, are ten observations, not thirty."""
    questions = [ComparedQuestion(str(n), f"Question {n}?", (("yes",),), f"event {n // 3}") for n in range(30)]
    here = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")
    first = Side(Path("a"), "m", {here: dict.fromkeys(questions, 1.0)})
    second = Side(Path("b"), "m", {here: {question: float(int(question.item) >= 9) for question in questions}})
    (row,) = compare(first, second, 0.03)
    assert (row.n, row.won, row.lost) == (10, 0, 3)
    assert row.p == pytest.approx(0.25)
    assert row.difference == paired_difference([-1.0] * 3 + [0.0] * 7)


def test_an_event_that_only_one_side_names_still_clusters() -> None:
    here = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")
    old = [ComparedQuestion(str(n), f"Question {n}?", (("yes",),)) for n in range(4)]
    new = [ComparedQuestion(one.item, one.text, one.answer, "cup") for one in old]
    first, second = (Side(Path(), "m", {here: dict.fromkeys(asked, 1.0)}) for asked in (old, new))
    assert compare(first, second, 0.03)[0].n == 1


def test_errors_of_given_documents_are_counted_once_if_search_is_compared_with_them() -> None:
    given = ComparedCondition("d", "en", "noise", 0.0, 0.0, 5, "related")
    search = ComparedCondition("d", "en", "search", None, 0.0, 0, "complete")
    question = ComparedQuestion("1", "Question?", (("yes",),))
    errors = {given: Counter({(question, "error"): 1})}
    first = Side(Path("a"), "m", {given: {question: 0.0}}, errors)
    second = Side(Path("b"), "m", {given: {question: 1.0}, search: {question: 1.0}}, {search: Counter()})
    rows = compare(*pair_with_given(first, second), 0.03)
    assert [row.incomplete[0].errors for row in rows] == [1, 1]
    assert state_incomplete(rows) == ["A has 1 error."]
    assert state_incomplete(rows[1:]) == ["A has 1 error."]


def test_searching_is_compared_with_given_documents_in_another_run(tmp_path: Path) -> None:
    data = ["ragbed-mini-en_base", "ragbed-mini-en_int", "ragbed-mini-en_fact"]
    options: dict[str, Any] = {"limit": 3, "cache": "off", "progress": False}
    given = ragbed.run(
        "scripted/oracle",
        data,
        out=tmp_path / "given",
        testbeds="noise,rejection,integration,counterfactual",
        **options,
    )
    found = ragbed.run(
        "scripted/search-malformed", data, out=tmp_path / "search", testbeds="search", search="false=0+0.5", **options
    )
    rows = ragbed.compare(given, found).records()
    pairs = {row["arm"]: row["against"] for row in rows}
    assert pairs["complete"] == "noise"
    assert pairs["withheld"] == "rejection"
    assert pairs["spread"] == "integration"
    assert {pairs[arm] for arm in pairs if arm.startswith("false=")} <= {"counterfactual"}
    assert all(row["testbed"] == "search" and row["n"] == 3 for row in rows)
    assert all(row["difference"] == -1 for row in rows if row["arm"] in ("complete", "withheld", "spread"))
    assert {(row["a_truncated"], row["b_truncated"] > 0) for row in rows} == {(0, True)}
    text = " ".join(ragbed.compare(given, found).sentences)
    assert "complete, against noise" in text
