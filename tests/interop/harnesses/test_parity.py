"""Responses get the same scores in Inspect AI and lm-evaluation-harness as in ragbed, item by item."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.schema import Lang
from tests.interop.harnesses.evaluation import (
    TESTBEDS,
    Evaluated,
    compare,
    evaluate_testbed,
    inspect_scores,
    lm_eval_scores,
    make_data,
    run_inspect,
    run_lm_eval,
)

_COUNT = 50


@pytest.fixture(scope="module", params=["en", "zh"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lang, Path]:
    folder = tmp_path_factory.mktemp(f"data-{request.param}")
    make_data(request.param, folder, _COUNT)
    return request.param, folder


@pytest.fixture(scope="module", params=TESTBEDS)
def evaluated(
    request: pytest.FixtureRequest, data: tuple[Lang, Path], tmp_path_factory: pytest.TempPathFactory
) -> Evaluated:
    lang, source = data
    return evaluate_testbed(source, lang, request.param, _COUNT, tmp_path_factory.mktemp(f"{lang}-{request.param}"))


def test_inspect_gives_every_reply_the_scores_of_ragbed(evaluated: Evaluated, tmp_path: Path) -> None:
    log = run_inspect(evaluated, tmp_path / "logs")
    assert len(evaluated.scores) >= _COUNT
    assert compare(evaluated, inspect_scores(log)) == []


def test_lm_eval_gives_every_reply_the_scores_of_ragbed(evaluated: Evaluated, tmp_path: Path) -> None:
    assert compare(evaluated, lm_eval_scores(run_lm_eval(evaluated, tmp_path / "results"))) == []
