"""Prompting strategies against the plain prompt, with constructed trials."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.columns import Trial, group_rows


def _trial(profile: str, item: int, correct: bool, noise: float = 0.0, **changes: object) -> Trial:
    costs = {"calls": 1.0, "tokens_in": 100.0, "seconds": 0.5} | ({"calls": 6.0} if "isolate" in profile else {})
    fields: dict[str, object] = {
        "model": "m",
        "data": "d",
        "item": str(item),
        "lang": "en",
        "testbed": "noise",
        "profile": profile,
        "noise": noise,
        "k": 5,
        "scores": {"correct": correct, "refused": False, **costs},
    }
    return Trial(**(fields | changes))  # type: ignore[arg-type]


def _cells(*trials: Trial) -> dict[tuple[str, str], Cell]:
    """Return the cells of the table by profile and metric."""
    made = (cell for cell in measure(group_rows(trials), ["robust"]) if cell.table == "remedies")
    return {(cell.key.profile, cell.estimate.metric): cell for cell in made}


def _both(right: int, right_with: int, of: int = 40) -> Iterator[Trial]:
    for item in range(of):
        yield _trial("robust", item, item < right)
        yield _trial("robust+isolate", item, item < right_with)


def test_a_gain_is_paired_and_has_an_interval_and_a_p() -> None:
    cells = _cells(*_both(10, 30))
    gain = cells["robust+isolate", "noise_gain"].estimate
    assert gain.value == pytest.approx(0.5)
    assert gain.n == 40
    assert gain.low is not None
    assert gain.low > 0.3
    assert cells["robust", "noise_rate"].estimate.value == 0.25
    assert ("robust", "noise_gain") not in cells


def test_only_common_conditions_are_paired() -> None:
    trials = [*_both(10, 10), *(_trial("robust+isolate", item, False, noise=0.8) for item in range(40))]
    assert _cells(*trials)["robust+isolate", "noise_gain"].estimate.value == 0.0


def test_a_failed_call_counts_against_the_strategy_and_has_no_cost() -> None:
    failed = [_trial("robust+isolate", item, False, outcome="error", scores=None) for item in range(10, 20)]
    kept = [trial for trial in _both(20, 20) if trial.profile == "robust" or not 10 <= int(trial.item) < 20]
    cells = _cells(*kept, *failed)
    assert cells["robust+isolate", "noise_gain"].estimate.value == pytest.approx(-0.25)
    assert cells["robust+isolate", "noise_gain"].estimate.errors == 10
    assert cells["robust+isolate", "calls"].estimate.n == 30


def test_costs_that_vary_have_an_interval_by_question() -> None:
    def costing(profile: str, item: int) -> Trial:
        return _trial(profile, item, True, scores={"correct": True, "seconds": 1.0 + item % 2})

    few, many = (
        _cells(*(costing(profile, item) for item in range(n) for profile in ("robust", "robust+quote")))
        for n in (40, 160)
    )
    estimate = few["robust", "seconds"].estimate
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((1.5, 1.346, 1.671), abs=1e-3)
    assert many["robust", "seconds"].estimate.low == pytest.approx(1.424, abs=1e-3)


def test_questions_of_one_event_count_once() -> None:
    trials = [
        _trial(profile, item, profile != "robust", cluster="e")
        for item in range(5)
        for profile in ("robust", "robust+quote")
    ]
    gain = _cells(*trials)["robust+quote", "noise_gain"].estimate
    assert (gain.n, gain.questions) == (5, 1)
    assert (gain.low or 0) < 0
