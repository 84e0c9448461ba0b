"""The examples with frameworks, run whole: against a real chat endpoint whose model picks a sentence of its prompt."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ragbed
from benches.own_rag import DATA, DOCS
from ragbed.models.lexical import answer_lexically
from tests.cli.typed import type_command
from tests.servers.function_model import ModelRequest, function_model

EXAMPLES = Path(__file__).parents[2] / "examples"


def _pick(request: ModelRequest) -> str:
    """Pick the sentence that shares most with the question."""
    context, _, question = request.turns[-1].rpartition("\nQ")
    return answer_lexically(question, context.splitlines())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the examples, which is the current one, and a model that answers."""
    for path in EXAMPLES.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"))
    shutil.copytree(DOCS, tmp_path / "handbook")
    (tmp_path / "qa.csv").write_text((DATA / "qa.csv").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with function_model(_pick) as url:
        monkeypatch.setenv("MODEL_URL", url)
        yield tmp_path
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("example", ["langchain_rag", "llamaindex_rag"])
def test_a_framework_is_evaluated_on_variants_of_its_documents(example: str) -> None:
    assert len((EXAMPLES / f"{example}.py").read_text("utf-8").splitlines()) <= 25
    words = ("run", "-m", f"factory/{example}:make", "-d", "qa.csv", "--docs", "handbook")
    done = type_command(*words, "--limit", "12", "--max-connections", "2", "--out", "r")
    assert done.code == 0, done.err
    table = {row["data"].rpartition(", ")[2]: row for row in ragbed.open_run("r").table("own-rag")}
    assert table["clean"]["retrieval recall"] > 0.8
    assert table["clean"]["correct"] > 0.5
    assert table["withheld"]["retrieved passages reported"] == 1.0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("example", ["langchain_rag", "llamaindex_rag"])
def test_a_model_that_is_gone_is_the_error_of_its_case(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_URL", "http://127.0.0.1:9")
    words = ("run", "-m", f"factory/{example}:make", "-d", "qa.csv", "--docs", "handbook", "--limit", "2")
    done = type_command(*words, "--out", "r")
    assert done.code == 3
    assert "exception: URLError" in done.err
