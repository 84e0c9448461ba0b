"""A gate never fails for the better of two systems only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbed.analysis.gates import CellSelector, check_floors
from ragbed.analysis.locale import find_metric
from ragbed.analysis.metrics import METRICS, measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.scoring.value import Value
from tests.cli.typed import type_command

_SCORES = ("correct", "partial", "aligned", "refused", "flagged", "misled", "paper.refused")
_RETRIEVED = ("retrieval_told", "retrieval_recall", "ndcg", "reciprocal_rank", "cited_supports", "search_recall")
_QUESTIONS = 10
_RANKS = {"failed": 0, "inconclusive": 1, "passed": 2}
# Testbed, noise ratio, share of true documents and distractor condition. The first of each group stays as it is if only
# the others change.
_CONDITIONS = (
    ("closed-book", None, 0.0, "related"),
    ("noise", 0.0, 0.0, "related"),
    ("noise", 0.4, 0.0, "related"),
    ("noise", 0.8, 0.0, "related"),
    ("noise", 0.8, 0.0, "random"),
    ("rejection", 1.0, 0.0, "related"),
    ("integration", 0.0, 0.0, "related"),
    ("integration", 0.4, 0.0, "related"),
    ("counterfactual", 0.0, 0.0, "related"),
    ("counterfactual", 0.0, 1.0, "related"),
    ("conflict", 0.0, 0.0, "related"),
    ("conflict", 0.0, 1.0, "related"),
    ("length", 0.5, 0.0, "related"),
    ("length", 0.75, 0.0, "related"),
    ("own-rag", None, 0.0, "clean"),
    ("own-rag", None, 0.0, "withheld"),
    ("search", None, 0.0, "complete"),
    ("search", None, 0.0, "withheld"),
)
_FIXED = {("closed-book", None), ("noise", 0.0), ("integration", 0.0)}


def _trials(right: int, *, all_change: bool) -> Iterator[Trial]:
    """Yield trials in which every score is 1 for some of the questions and 0 for the others."""
    for testbed, noise, correct, arm in _CONDITIONS:
        limit = right if all_change or (testbed, noise) not in _FIXED else _QUESTIONS // 2
        for item in range(_QUESTIONS):
            for slot in range(2 if testbed == "noise" and arm == "related" else 1):
                value = float(item < limit)
                scores: dict[str, Value] = dict.fromkeys((*_SCORES, *_RETRIEVED), value)
                scores |= {"false_strength": 0.0}
                k = {0.5: 2, 0.75: 4}.get(noise or 0.0, 4) if testbed == "length" else 4
                yield Trial(
                    model="m", data="d", item=str(item), lang="en", testbed=testbed, profile="robust", noise=noise,
                    correct=correct, k=k, arm=arm, slots=(slot,), repeat=0, scores=scores,
                )  # fmt: skip


def _states(cells: list[Cell], minimum: float) -> dict[tuple[object, ...], tuple[float, int]]:
    found = dict[tuple[object, ...], tuple[float, int]]()
    for cell in cells:
        metric, value = cell.estimate.metric, cell.estimate.value
        defined = find_metric(metric)
        is_share = defined is None or defined.share
        if cell.scope == "all" and cell.table in METRICS and is_share and value is not None:
            (checked,) = check_floors(
                [CellSelector("fail_under", "", cell.table, metric, None, None, None, minimum)], [cell]
            )
            key = (cell.table, metric, *sorted(cell.place.items(), key=str))
            found[key] = -value if defined and defined.is_lower_better else value, _RANKS[checked.state]
    return found


@pytest.mark.parametrize("all_change", [True, False])
def test_every_gate_is_monotone_in_the_number_of_right_answers(
    all_change: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`noise.auc` and others used to be inconclusive with no right answer and to fail with one."""
    monkeypatch.setattr("ragbed.analysis.gates._describe_needed", lambda *_: "")  # it takes most of the time
    cells = [
        list(measure(group_rows(_trials(right, all_change=all_change)), ["robust"])) for right in range(_QUESTIONS + 1)
    ]
    metrics = set[tuple[object, ...]]()
    for minimum in (0.2, 0.6):
        paths: dict[tuple[object, ...], list[tuple[float, int]]] = {}
        for found in cells:
            for key, state in _states(found, minimum).items():
                paths.setdefault(key, []).append(state)
        for key, path in paths.items():
            metrics.add(key[:2])
            ranks = [rank for _, rank in sorted(path)]
            assert ranks == sorted(ranks), (key, minimum, sorted(path))
    assert len(metrics) > 40


@given(
    verdicts=st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=5, max_size=40),
    minimum=st.floats(0.01, 0.99),
    data=st.data(),
)
@settings(max_examples=40, deadline=None)
def test_one_more_right_trial_never_makes_a_gate_worse(
    verdicts: list[list[bool]], minimum: float, data: st.DataObject
) -> None:
    """36 of 16,654 right answers used to turn "inconclusive" into "failed" if the trials of a question differed.

    A row has a question's verdicts at three positions and noise ratios 0 and 0.8. Without the answer in the documents,
    the verdicts at noise 0.8 say whether the model refuses.
    """
    wrong = [(item, at) for item, row in enumerate(verdicts) for at, verdict in enumerate(row) if not verdict]
    if not wrong:
        return
    item, at = data.draw(st.sampled_from(wrong))
    better = [list(row) for row in verdicts]
    better[item][at] = True
    before, after = (_states(_measured(rows), minimum) for rows in (verdicts, better))
    assert {"accuracy", "auc", "refusal_recall", "refusal_f1", "balanced_accuracy"} <= {name for _, name, *_ in before}
    for key in before:
        if key[1] != "change":  # a high value is no merit
            assert before[key][1] <= after[key][1], key


def _trial(item: int, testbed: str, noise: float, slot: int, scores: dict[str, Value]) -> Trial:
    return Trial(
        model="m", data="d", item=str(item), lang="en", testbed=testbed, profile="robust", noise=noise, k=5,
        slots=(slot,), scores=scores,
    )  # fmt: skip


def _measured(verdicts: list[list[bool]]) -> list[Cell]:
    trials = []
    for item, row in enumerate(verdicts):
        for at, verdict in enumerate(row):
            noise = 0.8 if at < 3 else 0.0
            answer: dict[str, Value] = {"correct": verdict, "refused": not verdict, "flagged": False}
            trials.append(_trial(item, "noise", noise, at % 3, answer))
            if noise:
                without: dict[str, Value] = {"correct": False, "refused": verdict, "flagged": False}
                trials.append(_trial(item, "rejection", 1.0, at, without))
    return [cell for cell in measure(group_rows(trials), ["robust"]) if cell.table in ("noise", "rejection")]


@pytest.mark.parametrize(("gate", "value"), [("noise.auc", "0.0%"), ("rejection.refusal_f1", "0.0%")])
def test_the_worst_possible_system_fails(tmp_path: Path, gate: str, value: str) -> None:
    """With 0 of 300 correct, the gate used to be inconclusive with exit code 0; with one correct, it failed."""
    model = "refuser" if gate == "noise.auc" else "memory"
    words = ("run", "-m", f"scripted/{model}", "-d", "ragbed-mini-en_base", "--testbeds", "noise,rejection")
    done = type_command(*words, "--out", str(tmp_path / "run"), "--fail-under", f"{gate}=0.5")
    assert done.code == 4, done.err
    assert f"gate failed: {gate} of scripted/{model} on ragbed-mini-en_base, en, k 5: {value} [0.0, " in done.err
