"""The promise about the share of right items."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ragbed.builder.precision import (
    CalibrationLabel,
    correct_promise,
    describe_promise,
    make_promise,
    predict,
    read_labels,
    read_promises,
    write_promises,
)
from ragbed.builder.quality.review_results import PLACE, Reviewed, ReviewSample
from ragbed.builder.run_build import correct_promises


def labels(right: int, wrong: int, score: float = 1.0) -> list[CalibrationLabel]:
    def label(is_right: bool) -> CalibrationLabel:
        return CalibrationLabel(
            generator="rules", lang="en", score=score, right=is_right, reader="test", documents="test"
        )

    return [label(True)] * right + [label(False)] * wrong


def test_fewer_than_60_labels_promise_nothing_and_drop_nothing() -> None:
    promise = make_promise(labels(59, 0), [0.1, 0.9], 0.95)
    assert (promise.items, promise.dropped, promise.share, promise.holds) == (2, 0, None, False)
    assert "cannot be estimated" in describe_promise(promise)


def test_items_are_dropped_until_the_bound_holds() -> None:
    known = [*labels(100, 0, 0.9), *labels(10, 10, 0.3)]
    promise = make_promise(known, [0.95, 0.9, 0.3, 0.2], 0.95)
    assert (promise.items, promise.dropped, promise.holds) == (2, 2, True)
    assert promise.threshold == 0.9
    assert "2 items with a score below 0.90 were dropped" in describe_promise(promise)


def test_a_strict_threshold_is_found_although_most_labels_are_poor() -> None:
    known = [*labels(120, 0, 0.9), *labels(120, 120, 0.3)]
    promise = make_promise(known, [0.95, 0.3], 0.95)
    assert (promise.items, promise.threshold, promise.holds) == (1, 0.9, True)


def test_no_item_remains_if_no_threshold_holds() -> None:
    promise = make_promise(labels(80, 40), [1.0, 1.0], 0.95)
    assert (promise.items, promise.dropped, promise.share) == (0, 2, None)


def test_without_a_wish_the_share_is_stated_for_all_items() -> None:
    promise = make_promise(labels(90, 10), [1.0] * 50, None)
    assert promise.share == pytest.approx(0.9)
    assert promise.low is not None
    assert promise.high is not None
    assert promise.low < 0.9 < promise.high


def test_a_review_corrects_the_share() -> None:
    promise = make_promise(labels(100, 0), [1.0] * 100, None)
    corrected = correct_promise(promise, wrong=10, sampled=30)
    assert corrected.share is not None
    assert corrected.high is not None
    assert corrected.share < 0.92
    assert corrected.high <= 0.9 + 1e-9  # ten of a hundred are known to be wrong
    assert correct_promise(promise, wrong=0, sampled=100).share == 1


def test_the_prediction_interval_contains_the_share() -> None:
    low, high = predict(95, 100, 40)
    assert low < 0.95 <= high


def test_the_bundled_labels_are_enough_for_the_rules_and_for_questions_about_a_sentence() -> None:
    for generator, prompt in (("rules", "questions"), ("openai/gpt-4o", "sentence")):
        bundled = read_labels(generator, prompt)
        assert make_promise(bundled, [1.0] * 60, 0.95).holds
        assert {label.lang for label in bundled} == {"en", "zh"}
    assert read_labels("openai/gpt-4o", "questions") == ()


def test_the_promises_of_a_build_are_corrected_by_its_review(tmp_path: Path) -> None:
    build, reviewed = tmp_path / "build", tmp_path / "reviewed"
    (reviewed / "review").mkdir(parents=True)
    build.mkdir()
    write_promises(build, {"en_base.jsonl": make_promise(labels(100, 0), [1.0] * 50, None)})
    sample = ReviewSample(sha256="", items=50, flagged=0, flagged_done=0, drawn=50, sampled=20, wrong=5)
    results = Reviewed(people=("ada",), raters=1, kappa=None, datasets={"en_base": sample})
    (reviewed / PLACE).write_bytes(msgspec.json.encode(results))
    (line,) = correct_promises(build, reviewed)
    assert line.startswith("en_base.jsonl: after the review, ")
    share = read_promises(reviewed)["en_base.jsonl"].share
    assert share is not None
    assert share < 0.9
    assert correct_promises(tmp_path, reviewed) == []
