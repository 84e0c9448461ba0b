"""The examples with frameworks, run whole: against a real chat endpoint whose model picks a sentence of its prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragbed.models.lexical import answer_lexically
from tests.cli.typed import type_command
from tests.servers.function_model import ModelRequest, function_model

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = "ragbed-mini-en_base"


def _pick(request: ModelRequest) -> str:
    """Pick the sentence that shares most with the question."""
    context, _, question = request.turns[-1].rpartition("\nQ")
    return answer_lexically(question, context.splitlines())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the examples, which is the current one, and a model that answers."""
    for path in EXAMPLES.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with function_model(_pick) as url:
        monkeypatch.setenv("MODEL_URL", url)
        yield tmp_path
    for path in EXAMPLES.glob("*.py"):
        sys.modules.pop(path.stem, None)


def _cells(run: str) -> dict[str, dict[str, Any]]:
    return {
        cell["metric"]: cell
        for cell in json.loads(type_command("report", run, "-f", "json").out)
        if cell["table"] == "own-retrieval" and cell["scorer"] == "robust" and cell["noise"] is None
    }


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("example", ["langchain_rag", "llamaindex_rag"])
def test_a_framework_is_tested_with_given_documents_and_with_its_own_retriever(example: str) -> None:
    assert type_command("export", DATA, "--to", "corpus", "-o", "corpus.jsonl").code == 0
    words = ("run", "-m", f"python/{example}:answer", "-d", DATA, "--testbeds", "noise,own-retrieval", "--noise", "0")
    done = type_command(*words, "--limit", "12", "--max-connections", "2", "--out", "r")
    assert done.code == 0, done.err
    cells = _cells("r")
    assert cells["retrieval_recall"]["value"] > 0.8
    assert cells["retrieved_unknown"]["value"] == 0.0
    assert cells["accuracy_given"]["value"] > 0.5
    assert cells["retrieval_gap"]["n"] > 8


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("example", ["langchain_rag", "llamaindex_rag"])
def test_a_model_that_is_gone_is_the_error_of_its_case(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_URL", "http://127.0.0.1:9")
    words = ("run", "-m", f"python/{example}:answer", "-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "2")
    done = type_command(*words, "--out", "r")
    assert done.code == 3
    assert "server: URLError" in done.err
