"""Metrics of a few constructed trials, with results that are easy to verify."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from ragbed.analysis.metrics import measure
from ragbed.analysis.statistics.testing import sign_test
from ragbed.analysis.trials.columns import Trial, TrialOutcome, group_rows
from ragbed.reporting.numbers import show
from ragbed.schema import Estimate
from ragbed.scoring.value import Value

_FALLING = ((0.2, "z"), (0.7, "c"))  # all questions are right at ratio 0.2, and half of them at 0.7


def _trial(item: str, testbed: str, noise: float | None, outcome: TrialOutcome = "ok", **scores: Value) -> Trial:
    return Trial(
        model="m",
        data="d",
        item=item,
        lang="en",
        testbed=testbed,
        profile="robust",
        noise=noise,
        k=0 if noise is None else 5,
        outcome=outcome,
        scores=({"correct": False, "refused": False, "flagged": False} | scores) if outcome == "ok" else None,
    )


def _estimates(trials: Iterable[Trial], table: str) -> dict[str, Estimate]:
    """Return cells by metric; the last if there are several."""
    cells = [cell for cell in measure(group_rows(trials)) if cell.table == table]
    return {cell.estimate.metric: cell.estimate for cell in cells}


def test_the_area_is_the_mean_height_for_uneven_steps() -> None:
    heights = {0.0: 1.0, 0.2: 1.0, 0.8: 0.0}
    trials = [_trial(item, "noise", noise, correct=bool(right)) for noise, right in heights.items() for item in "abcd"]
    assert _estimates(trials, "noise")["auc"].value == pytest.approx((0.2 + 0.3) / 0.8)


def test_failures_stay_in_the_denominator_and_infeasible_cases_do_not_enter_it() -> None:
    trials = [
        _trial("1", "closed-book", None, correct=True),
        _trial("2", "closed-book", None),
        _trial("3", "closed-book", None, "error"),
        _trial("4", "closed-book", None, "filtered"),
        _trial("5", "closed-book", None, "infeasible"),
    ]
    cell = _estimates(trials, "closed-book")["accuracy"]
    assert (cell.value, cell.n, cell.asked) == (0.25, 4, 4)
    assert (cell.errors, cell.filtered, cell.infeasible) == (1, 1, 1)


def test_a_model_without_responses_scores_zero_in_every_table() -> None:
    trials = [_trial(item, "noise", noise, "error") for noise in (0.0, 0.8) for item in "ab"]
    trials += [_trial(item, "rejection", 1.0, "error") for item in "ab"]
    trials += [_trial(item, "counterfactual", 0.0, "filtered") for item in "ab"]
    trials += [_trial("a", "closed-book", None, "error"), _trial("b", "closed-book", None, "infeasible")]
    rates = {
        "noise": "accuracy",
        "rejection": "refusal_recall",
        "counterfactual": "accuracy",
        "closed-book": "accuracy",
    }
    cells = [_estimates(trials, table)[metric] for table, metric in rates.items()]
    assert [(cell.value, cell.n, cell.asked) for cell in cells] == [(0.0, 2, 2)] * 3 + [(0.0, 1, 1)]
    assert [(cell.errors, cell.filtered) for cell in cells] == [(2, 0), (2, 0), (0, 2), (1, 0)]


def test_a_failure_is_neither_an_answer_nor_a_refusal() -> None:
    trials = [_trial(str(number), "rejection", 1.0, "error") for number in range(3)]
    trials += [_trial("9", "rejection", 1.0, refused=True)]
    cells = _estimates(trials, "rejection")
    assert cells["refusal_recall"].value == 0.25
    assert cells["wrong_without_evidence"].value == 0.0
    assert cells["refusal_recall"].errors == 3


def test_right_answers_without_evidence_are_counted() -> None:
    cells = _estimates([_trial(item, "rejection", 1.0, correct=item in "abc") for item in "abcd"], "rejection")
    assert cells["correct_without_evidence"].value == 0.75
    assert cells["wrong_without_evidence"].value == 0.25


def test_abstention_is_measured_on_paired_questions() -> None:
    trials = [_trial(item, "noise", 0.0, correct=True, refused=item == "a") for item in "abcd"]
    trials += [_trial(item, "rejection", 1.0, refused=item in "ab") for item in "abcdef"]
    cells = _estimates(trials, "rejection")
    assert cells["refusal_recall"].n == 6
    assert cells["false_refusal"].value == 0.25
    assert cells["refusal_f1"].value == pytest.approx(2 / (3 / 2 + 4 / 2))  # precision 2/3, recall 2/4
    assert cells["balanced_accuracy"].value == pytest.approx((0.5 + 0.75) / 2)


def test_refusals_are_reported_with_and_without_the_instruction() -> None:
    trials = [_trial(item, "closed-book", None, refused=False, correct=item == "a") for item in "ab"]
    trials += [_trial(item, "no-documents", None, refused=True, correct=False) for item in "ab"]
    cells = _estimates(trials, "closed-book")
    assert {name: cells[name].value for name in cells} == {
        "accuracy": 0.5, "refusal": 0.0, "accuracy_instructed": 0.0, "refusal_instructed": 1.0
    }  # fmt: skip


def test_each_seed_of_a_question_is_a_row_of_the_position_test() -> None:
    def asked(item: int, seed: int, slot: int) -> Trial:
        trial = _trial(str(item), "noise", 0.5, correct=slot == 0 and seed == item % 2)
        return replace(trial, k=2, seed=seed, slots=(slot,))

    cells = _estimates([asked(item, seed, slot) for item in range(8) for seed in (0, 1) for slot in (0, 1)], "position")
    # Every question is right at the first slot with one of its seeds: eight verdicts of sixteen moved, all one way.
    assert cells["position_p"].value == pytest.approx(float(sign_test(8, 0)))
    assert (cells["order_robustness"].value, cells["order_robustness"].n) == (0.5, 16)


def test_every_counterfactual_reply_is_exactly_one_outcome() -> None:
    replies: list[dict[str, Value]] = [
        {"correct": True, "partial": 1.0, "misled": False},
        {"correct": True, "partial": 1.0, "misled": False, "flagged": True},
        {"correct": False, "partial": 0.0, "misled": True},
        {"correct": False, "partial": 1.0, "misled": True, "flagged": True},
        {"misled": False, "refused": True},
        {"misled": False, "flagged": True},
        {"misled": False},
    ]
    trials = [_trial(str(number), "counterfactual", 0.0, "ok", **reply) for number, reply in enumerate(replies)]
    trials.append(_trial("lost", "counterfactual", 0.0, "error"))
    cells = _estimates(trials, "counterfactual")
    kinds = ("correct", "misled", "both", "refused", "other")
    shares = {f"{kind}_{flag}": cells[f"{kind}_{flag}"].value for kind in kinds for flag in ("flagged", "unflagged")}
    assert {name for name, share in shares.items() if share == 0} == {
        "misled_flagged",
        "both_unflagged",
        "refused_flagged",
    }
    assert sum(share or 0 for share in shares.values()) == pytest.approx(7 / 8)
    assert cells["misled_at_all"].value == 0.25
    assert cells["corrected_of_flagged"].value == pytest.approx(1 / 3)
    assert cells["corrected"].value == 0.125
    assert cells["error_detection"].n == 8


def test_questions_of_one_event_are_paired_with_themselves() -> None:
    """A question without a result at one of the ratios does not change the difference for its event."""
    trials = [
        replace(trial, cluster=f"event {event}")
        for event in range(20)
        for trial in (
            _trial(f"{event} a", "noise", 0.0),
            _trial(f"{event} a", "noise", 0.8, "infeasible"),
            _trial(f"{event} b", "noise", 0.0, correct=True),
            _trial(f"{event} b", "noise", 0.8, correct=True),
        )
    ]
    found = _estimates(trials, "noise")
    assert (found["change"].value, found["change"].n) == (0.0, 20)


def test_an_event_with_the_name_of_an_item_is_another_cluster() -> None:
    (sheet,) = group_rows([_trial("a", "noise", 0.0), replace(_trial("b", "noise", 0.0), cluster="a")])
    assert sheet.cluster.tolist() == [0, 1]


def test_sub_answers_count_separately_and_by_alignment() -> None:
    trials = [
        _trial("a", "integration", 0.0, correct=True, partial=1.0, aligned=1.0),
        _trial("b", "integration", 0.0, correct=True, partial=1.0, aligned=0.0),  # swapped
        _trial("c", "integration", 0.0, correct=False, partial=0.5, aligned=0.5),
        _trial("d", "integration", 0.0, "error"),
    ]
    cells = _estimates(trials, "integration")
    assert cells["accuracy"].value == 0.5
    assert cells["sub_answer_recall"].value == pytest.approx(0.625)
    assert cells["aligned_recall"].value == pytest.approx(0.375)


@pytest.mark.parametrize("empty", [0.0, 1.0])
def test_a_ratio_with_only_infeasible_cases_does_not_remove_the_curve(empty: float) -> None:
    trials = [_trial(item, "noise", noise, correct=item < limit) for noise, limit in _FALLING for item in "abcd"]
    trials += [_trial(item, "noise", empty, "infeasible") for item in "abcd"]
    cells = _estimates(trials, "noise")
    assert (cells["auc"].value, cells["change"].value) == (0.75, -0.5)
    assert (cells["auc"].n, cells["auc"].infeasible) == (8, 4)


def test_a_curve_uses_the_questions_with_results_at_every_ratio() -> None:
    trials = [_trial(item, "noise", noise, correct=item in "ab") for noise in (0.0, 0.4) for item in "abcd"]
    trials += [_trial(item, "noise", 0.8, "ok" if item in "ab" else "infeasible", correct=True) for item in "abcd"]
    cell = _estimates(trials, "noise")["auc"]
    assert (cell.value, cell.n, cell.questions, cell.infeasible) == (1.0, 6, 2, 2)


def test_refusals_use_the_lowest_ratio_with_results() -> None:
    trials = [_trial(item, "rejection", 1.0, refused=True) for item in "abcd"]
    trials += [_trial(item, "noise", 0.0, "infeasible") for item in "abcd"]
    trials += [_trial(item, "noise", 0.2, correct=True, refused=item == "a") for item in "abcd"]
    trials += [_trial(item, "noise", 0.7, correct=item == "a") for item in "abcd"]
    assert _estimates(trials, "rejection")["false_refusal"].value == 0.25


def test_the_gain_by_documents_is_the_net_change_on_shared_questions() -> None:
    trials = [_trial(item, "closed-book", None, correct=item in "ab") for item in "abcd"]
    trials += [_trial(item, "noise", 0.8, correct=item in "bcde") for item in "abcde"]
    trials += [_trial(item, "integration", 0.0, correct=True) for item in "cd"]
    found = {table: _estimates(trials, table)["gain_by_documents"] for table in ("noise", "integration")}
    assert [(cell.value, cell.n) for cell in found.values()] == [(0.25, 4), (1.0, 2)]


def test_the_largest_planned_cluster_of_a_cell_counts_all_its_conditions() -> None:
    (columns,) = group_rows([_trial("a", "noise", ratio, correct=True) for ratio in (0.0, 0.4)], largest=5)
    both = columns.of("noise")
    assert columns.largest_planned(both) == 10
    assert columns.largest_planned(both & (columns.noise == 0.4)) == 5


def test_unsure_responses_count_as_wrong_and_raise_the_upper_bound() -> None:
    trials = [_trial(f"q{at}", "noise", 0.2, correct=at < 20, unsure=20 <= at < 30) for at in range(40)]
    accuracy = next(each for each in _estimates(trials, "noise").values() if each.metric == "accuracy")
    assert (accuracy.value, accuracy.unsure) == (0.5, 10)
    shown = str(show(accuracy))
    assert shown.startswith("50.0 [")
    assert shown.endswith("] (at most 75.0)")
