"""Responses that the rules cannot decide: `ragbed judge --unsure`, and samples for people."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import pytest

from ragbed.analysis.judging import judge_run
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope, is_unsure
from ragbed.analysis.judging.labels import draw_sample
from ragbed.models.base import Sampling
from ragbed.runs.store import StoredResult
from ragbed.schema import Completion
from tests.scoring.robust.cases import make_case

CORRECT = CRITERIA["correct"]
CASE = make_case("Which city hosted the games?", [["Athens"]], [["New York"]])


def _result(reply: str, outcome: Literal["ok", "error"] = "ok") -> StoredResult:
    return StoredResult(CASE, "m", 0, Completion(outcome=outcome, reply=reply))


UNSURE = _result("Athens hosted the games. New York hosted the games.")
CERTAIN = _result("Athens hosted the games.")


def test_only_complete_responses_with_two_answers_are_unsure() -> None:
    assert is_unsure(UNSURE)
    assert not is_unsure(CERTAIN)
    assert not is_unsure(_result(UNSURE.completion.reply or "", "error"))


class _Store:
    def __enter__(self) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self) -> list[StoredResult]:
        return [CERTAIN, UNSURE]


def test_a_judge_of_unsure_responses_gets_only_these_and_its_own_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(judge_run, "open_scored", lambda _: _Store())
    everything, unsure = Scope(tmp_path, CORRECT), Scope(tmp_path, CORRECT, only_unsure=True)
    assert list(everything.replies()) == [CERTAIN, UNSURE]
    assert list(unsure.replies()) == [UNSURE]
    assert everything.folder(Sampling()) != unsure.folder(Sampling())


def test_only_a_fixed_token_limit_changes_the_name_of_the_folder(tmp_path: Path) -> None:
    auto, fixed = (Scope(tmp_path, CORRECT).folder(Sampling(raises_limit=raises)) for raises in (True, False))
    digest = hashlib.sha256(f"{CORRECT.prompt} {Sampling().key()}".encode()).hexdigest()[:8]
    assert auto.name == f"correct-{digest}"  # as in version 0.1.0
    assert fixed != auto


def test_unsure_responses_are_drawn_first_for_people_to_label(tmp_path: Path) -> None:
    certain = [
        StoredResult(make_case(f"Which city hosted games {at}?", [["Athens"]]), "m", 0, CERTAIN.completion)
        for at in range(40)
    ]
    drawn = draw_sample(Scope(tmp_path, CORRECT), [*certain, UNSURE], {}, 8)
    probabilities = sorted(label.probability or 0 for label in drawn)
    assert probabilities[-1] == 1  # the unsure response is always in the sample
    assert probabilities[0] == pytest.approx(7 / 40)
