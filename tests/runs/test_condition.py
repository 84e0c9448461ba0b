"""The sizes of planned clusters."""

from __future__ import annotations

from msgspec.structs import replace

from ragbed.runs.condition import largest_cluster
from tests.runs.harness import make_case


def test_the_largest_cluster_is_an_event_or_a_question_under_one_condition() -> None:
    cases = [replace(make_case(number), event="e" if number < 3 else None) for number in range(5)]
    other = [replace(case, noise=0.8) for case in cases[:1]]
    infeasible = [replace(case, feasible=False) for case in cases]
    assert largest_cluster([*cases, *other, *infeasible], repeats=2) == 6
    assert largest_cluster([], repeats=2) == 0
