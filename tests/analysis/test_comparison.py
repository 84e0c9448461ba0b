"""Comparisons and rankings of constructed scores."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, Side, align_questions, compare, rank_models
from ragbed.analysis.statistics.paired import paired_difference


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


def test_questions_of_own_systems_are_paired_by_file_if_a_side_has_several_files() -> None:
    question = {ComparedQuestion("1", "Who?", (("Ada",),)): 1.0}
    here = {name: ComparedCondition(name, "en", "own-rag", None, 0.0, 5, "clean") for name in "xyz"}
    old, new, both = (
        Side(Path(names), "m", {here[name]: question for name in names}, {here[name]: Counter() for name in names})
        for names in ("x", "z", "xy")
    )
    for sides, data in (([old, new], "questions"), ([both, old], "x"), ([old, old], "x")):
        first, second = align_questions(sides)
        assert [row.condition.data for row in compare(first, second, 0.03)] == [data]


NOISE = ComparedCondition("mini", "en", "noise", 0.0, 0.0, 5, "related")


def _ranked_side(model: str, scores: dict[ComparedCondition, list[float]], run: str = "r", failed: str = "") -> Side:
    found = {
        condition: {ComparedQuestion(f"q{at}", f"Q{at}?", ((f"a{at}",),)): score for at, score in enumerate(values)}
        for condition, values in scores.items()
    }
    failures = {one: Counter(question for question in found[one] if question.item in failed.split()) for one in found}
    return Side(Path(run), model, found, failures)


def test_models_share_a_rank_unless_they_differ_significantly() -> None:
    right = {"best": 40, "second": 38, "third": 12, "last": 0}
    sides = [_ranked_side(model, {NOISE: [1.0] * hits + [0.0] * (40 - hits)}) for model, hits in right.items()]
    (ranking,) = rank_models(sides[::-1])
    assert [(model.model, *ranking.ranks(model.model)) for model in ranking.models] == [
        ("best", 1, 2),
        ("second", 1, 2),
        ("third", 3, 3),
        ("last", 4, 4),
    ]
    assert (ranking.n, len(ranking.pairs), ranking.noise) == (40, 6, (0.0,))
    assert ranking.models[1].score.low < 0.95 == ranking.models[1].score.value < ranking.models[1].score.high


def test_p_values_are_adjusted_for_all_pairs_of_all_testbeds() -> None:
    rejection = NOISE._replace(testbed="rejection", noise=1.0)
    scores = {"a": 20, "b": 14, "c": 14}
    sides = [
        _ranked_side(m, {one: [1.0] * n + [0.0] * (20 - n) for one in (NOISE, rejection)}) for m, n in scores.items()
    ]
    rankings = rank_models(sides)
    pair = rankings[0].pairs[0]
    assert pair.comparison.p == pytest.approx(0.03125)
    assert pair.comparison.adjusted == pytest.approx(6 * 0.03125)  # three pairs on two testbeds
    assert pair.better is None
    assert {ranking.ranks(model.model) for ranking in rankings for model in ranking.models} == {(1, 3)}


def test_only_shared_conditions_and_questions_are_ranked() -> None:
    noisy = NOISE._replace(noise=0.8)
    first = _ranked_side("a", {NOISE: [1.0, 1.0, 0.0], noisy: [0.0, 0.0, 0.0]}, failed="q1 q2")
    second = _ranked_side("b", {NOISE: [1.0, 0.0]})
    (ranking,) = rank_models([first, second])
    assert (ranking.n, ranking.unpaired, ranking.noise) == (2, 1, (0.0,))
    assert [(model.model, model.score.value, model.incomplete) for model in ranking.models] == [
        ("a", 1.0, 1),
        ("b", 0.5, 0),
    ]


def test_the_same_model_of_two_runs_is_named_by_its_run() -> None:
    (ranking,) = rank_models([_ranked_side("a", {NOISE: [1.0]}, "old"), _ranked_side("a", {NOISE: [0.0]}, "new")])
    assert [model.model for model in ranking.models] == ["old:a", "new:a"]


def test_questions_on_one_event_count_once_and_monitored_runs_get_wider_intervals() -> None:
    def side(model: str, score: float, *, is_monitored: bool = False) -> Side:
        asked = {ComparedQuestion(f"q{at}", f"Q{at}?", (("a",),), f"event {at // 2}"): score for at in range(40)}
        return Side(Path("r"), model, {NOISE: asked}, is_monitored=is_monitored)

    (plain,) = rank_models([side("a", 1.0), side("b", 0.0)])
    (monitored,) = rank_models([side("a", 1.0, is_monitored=True), side("b", 0.0)])
    assert plain.n == monitored.n == 20
    assert monitored.models[0].score.low < plain.models[0].score.low
    assert monitored.pairs[0].comparison.p > plain.pairs[0].comparison.p
