"""Partial sums give the same cells as all trials."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ragbed.analysis.metrics import measure, measure_groups, partial_sums
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.partial_sums import PartialSumBuilder, QuestionCounts, pack, unpack
from ragbed.analysis.metrics.trial import Scored, ScoreValue
from ragbed.analysis.metrics.trial_columns import TRACKS, TrialGroup

_WHO: dict[str, Any] = {"model": "m", "data": "d", "lang": "en", "profile": "robust"}
_CONDITIONS: list[tuple[str, float | None, int, float]] = [
    ("noise", 0.0, 5, 0.0),
    ("noise", 0.4, 5, 0.0),
    ("noise", 0.8, 5, 0.0),
    ("rejection", 1.0, 5, 0.0),
    ("integration", 0.0, 5, 0.0),
    ("integration", 0.4, 5, 0.0),
    ("parts", 0.0, 5, 0.0),
    ("parts", 0.0, 5, 0.0),
    ("counterfactual", 0.0, 5, 0.0),
    ("counterfactual", 0.0, 5, 0.4),
    ("counterfactual", 0.0, 5, 1.0),
    ("closed-book", None, 0, 0.0),
]


def _trials(questions: int, *, turned: bool = False, events: bool = False, repeats: int = 1) -> Iterator[Scored]:
    """Yield random trials of every ability in random order: some failed, infeasible or without a verdict."""
    draw, made = random.Random(questions), []
    for number in range(questions):
        ease = draw.choice((0.1, 0.5, 0.9))
        for testbed, noise, k, correct in _CONDITIONS:
            slots = range(k) if turned and testbed == "noise" else [draw.randrange(5)]
            for slot in slots if testbed != "closed-book" else [-1]:
                for repeat in range(repeats):
                    outcome = draw.choices(("ok", "error", "filtered", "infeasible"), (95, 2, 2, 1))[0]
                    placed = (2,) if testbed in ("integration", "parts") else (slot,) if slot >= 0 else ()
                    made.append(
                        Scored(
                            **_WHO,
                            item=str(number),
                            testbed=testbed,
                            noise=noise,
                            noise_real=noise,
                            k=k,
                            correct=correct,
                            repeat=repeat,
                            slots=placed,
                            cluster=f"event {number // 3}" if events and number % 2 else None,
                            outcome=outcome,  # type: ignore[arg-type]
                            scores=_scores(draw, ease) if outcome == "ok" else None,
                        )
                    )
    draw.shuffle(made)
    return iter(made)


def _scores(draw: random.Random, ease: float) -> dict[str, ScoreValue]:
    right = draw.random() < ease
    own: dict[str, ScoreValue] = {
        "correct": None if draw.random() < 0.02 else right,
        "refused": not right and draw.random() < 0.4,
        "flagged": draw.random() < 0.2,
        "misled": not right and draw.random() < 0.3,
        "partial": draw.choice((0.5, 1.0)) if right else 0.0,
        "aligned": float(right),
        "verdict": "told to people only",
    }
    return own | {
        f"{track}.{name}": own[name] for track in ("code", "paper") for name in ("correct", "refused", "flagged")
    }


def _fold(trials: Iterator[Scored]) -> dict[TrialGroup, QuestionCounts]:
    with PartialSumBuilder() as folding:
        for trial in trials:
            folding.add(trial)
        return folding.finish()


def _cells(summed: dict[TrialGroup, QuestionCounts]) -> list[Cell]:
    return list(measure_groups([equal.to_columns(key) for key, equal in summed.items()], TRACKS, by_name=False))


def _told(cells: list[Cell]) -> dict[tuple[object, ...], list[float | None]]:
    return {
        (cell.table, cell.track, cell.scope, cell.estimate.metric, *sorted(cell.place.items())): [
            getattr(cell.estimate, name)
            for name in ("value", "low", "high", "n", "questions", "asked", "errors", "infeasible")
        ]
        for cell in cells
    }


def _agree(ours: list[Cell], wanted: list[Cell]) -> None:
    found, expected = _told(ours), _told(wanted)
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        for one, other in zip(found[name], numbers, strict=True):
            assert (one is None) == (other is None), name
            assert one is None or other is None or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9), name


@pytest.mark.parametrize(
    "made",
    [
        pytest.param({}, id="plain"),
        pytest.param({"turned": True}, id="turned"),
        pytest.param({"events": True}, id="events", marks=pytest.mark.slow),
        pytest.param({"repeats": 3}, id="repeated", marks=pytest.mark.slow),
    ],
)
def test_cells_from_sums_equal_cells_from_all_trials(made: dict[str, bool]) -> None:
    wanted = list(measure(_trials(120, **made)))
    assert {cell.table for cell in wanted} >= {"noise", "rejection", "integration", "counterfactual", "transitions"}
    assert ("position" in {cell.table for cell in wanted}) == ("turned" in made)
    _agree(_cells(_fold(_trials(120, **made))), wanted)


def test_an_incomplete_run_with_all_positions_has_the_same_cells() -> None:
    def partly() -> Iterator[Scored]:
        for trial in _trials(60, turned=True):
            if int(trial.item) < 40 or trial.testbed != "noise" or trial.slots[0] % 5 < int(trial.item) % 4:
                yield trial

    asked = Counter(trial.item for trial in partly() if trial.testbed == "noise" and trial.noise == 0)
    assert set(asked.values()) == {1, 2, 3, 5}
    wanted = list(measure(partly()))
    assert any(cell.estimate.metric == "accuracy_by_slot" for cell in wanted)
    _agree(_cells(_fold(partly())), wanted)
    parts = [_fold(one for one in partly() if int(one.item) % 4 == part) for part in range(4)]
    (added, *others) = parts
    for other in others:
        for key, equal in other.items():
            added[key].add(equal)
    _agree(_cells(added), wanted)


def test_equal_questions_are_stored_once() -> None:
    def asked(item: str, correct: bool, slot: int) -> Scored:
        return Scored(**_WHO, item=item, testbed="noise", noise=0.0, k=5, slots=(slot,), scores={"correct": correct})

    (equal,) = _fold(iter([asked("a", True, 0), asked("b", True, 3), asked("c", False, 1)])).values()
    assert sorted(equal.questions.values()) == [1, 2]


def test_sums_are_the_same_if_trials_are_spilled_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = _cells(_fold(_trials(60, events=True)))
    monkeypatch.setattr(partial_sums, "_HELD", 50)
    _agree(_cells(_fold(_trials(60, events=True))), wanted)


def test_sums_of_parts_are_the_sums_of_the_whole() -> None:
    whole = _fold(_trials(90, events=True))
    parts = [
        _fold(trial for trial in _trials(90, events=True) if hash(trial.cluster or trial.item) % 3 == part)
        for part in range(3)
    ]
    added: dict[TrialGroup, QuestionCounts] = {}
    for part in parts:
        for key, equal in part.items():
            added.setdefault(key, QuestionCounts()).add(equal)
    assert sum(equal.questions.total() for equal in added.values()) == sum(
        equal.questions.total() for equal in whole.values()
    )
    _agree(_cells(added), _cells(whole))


def test_packing_does_not_depend_on_the_order() -> None:
    one, other = np.array([3, 1], np.uint32), np.array([2], np.uint32)
    assert pack([one, other]) == pack([other, np.array([1, 3], np.uint32)])
    assert sorted(unpack(pack([one, other]))) == [[1, 3], [2]]
