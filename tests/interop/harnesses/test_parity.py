"""The same replies score the same, item by item, in Inspect AI and lm-evaluation-harness as in ragbed.

Fifty of each testbed and language here; `python -m benches harness_parity` scores a thousand of each testbed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.schema import Lang
from tests.cli.typed import type_command
from tests.interop.harnesses.asked import (
    MODEL,
    TESTBEDS,
    Asked,
    ask,
    ask_inspect,
    ask_lm_eval,
    compare,
    inspect_scores,
    lm_eval_scores,
    make_data,
    scores_of,
)

_COUNT = 50


@pytest.fixture(scope="module", params=["en", "zh"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Lang, Path]:
    folder = tmp_path_factory.mktemp(f"data-{request.param}")
    make_data(request.param, folder, _COUNT)
    return request.param, folder


@pytest.fixture(scope="module", params=TESTBEDS)
def asked(request: pytest.FixtureRequest, data: tuple[Lang, Path], tmp_path_factory: pytest.TempPathFactory) -> Asked:
    lang, source = data
    return ask(source, lang, request.param, _COUNT, tmp_path_factory.mktemp(f"{lang}-{request.param}"))


def test_inspect_scores_every_reply_as_ragbed_does(asked: Asked, tmp_path: Path) -> None:
    log = ask_inspect(asked, tmp_path / "logs")
    assert len(asked.scores) >= _COUNT
    assert compare(asked, inspect_scores(log)) == []
    back = tmp_path / "back"
    words = ("--from", "inspect", "-d", str(asked.folder / "inspect"), "-m", MODEL, "--out", str(back))
    assert type_command("import", str(log), *words).code == 0
    assert scores_of(back) == asked.scores


def test_lm_eval_scores_every_reply_as_ragbed_does(asked: Asked, tmp_path: Path) -> None:
    files = ask_lm_eval(asked, tmp_path / "results")
    assert compare(asked, lm_eval_scores(files)) == []
    back = tmp_path / "back"
    words = ("--from", "lm-eval", "-d", str(asked.folder / "lm-eval"), "-m", MODEL, "--out", str(back))
    assert type_command("import", *map(str, files), *words).code == 0
    assert scores_of(back) == asked.scores
