"""Samples of responses for people to label."""

from __future__ import annotations

import pytest

from ragbed.analysis.judging.criteria import CRITERIA, Verdict
from ragbed.analysis.judging.judge_run import Scope, judge_case
from ragbed.analysis.judging.labels import draw_sample
from ragbed.errors import UsageError
from ragbed.runs.store import StoredResult
from ragbed.schema import Completion
from tests.runs.harness import make_case

CORRECT = CRITERIA["correct"]


def _replies(right: int, disputed: int) -> tuple[list[StoredResult], dict[str, dict[str, Verdict]]]:
    """Return right responses, some of which the judge counts as wrong."""
    replies = [
        StoredResult(make_case(number), "m", 0, Completion(outcome="ok", reply=f"It is gold-{number}."))
        for number in range(right + disputed)
    ]
    verdicts: dict[str, Verdict] = {
        judge_case(CORRECT, stored).case: number < right for number, stored in enumerate(replies)
    }
    return replies, {"judge": verdicts}


@pytest.mark.parametrize(
    ("right", "disputed", "size"), [(100, 10, 20), (1, 100, 50), (100, 1, 50), (30, 0, 12), (5, 5, 50)]
)
def test_a_sample_has_the_requested_size_if_possible(
    tmp_path_factory: pytest.TempPathFactory, right: int, disputed: int, size: int
) -> None:
    replies, judgements = _replies(right, disputed)
    scope = Scope(tmp_path_factory.getbasetemp(), CORRECT)
    drawn = draw_sample(scope, replies, judgements, size)
    assert len(drawn) == min(size, right + disputed)
    # One over the probability adds up to all of them, so that the correction can undo the choice.
    assert sum(1 / (label.probability or 0) for label in drawn) == pytest.approx(right + disputed)
    assert drawn == draw_sample(scope, replies, judgements, size)


def test_half_of_a_sample_is_disputed_if_possible(tmp_path_factory: pytest.TempPathFactory) -> None:
    replies, judgements = _replies(100, 40)
    drawn = draw_sample(Scope(tmp_path_factory.getbasetemp(), CORRECT), replies, judgements, 20)
    assert sorted({label.probability for label in drawn}, key=str) == [0.1, 0.25]
    assert sum(label.probability == 0.25 for label in drawn) == 10


def test_too_small_a_sample_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    replies, judgements = _replies(3, 3)
    with pytest.raises(UsageError, match=r"is too small. Use at least 2, one response per stratum"):
        draw_sample(Scope(tmp_path_factory.getbasetemp(), CORRECT), replies, judgements, 1)
