"""The CI example can decide: with its questions and its margin an equal system passes and a worse one fails."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.typed import type_command
from tests.docs.blocks import ROOT, read_blocks


def _steps(kind: str) -> list[list[str]]:
    """The ragbed commands of the page's GitHub or GitLab example."""
    blocks = [yaml.safe_load(one.text) for one in read_blocks(ROOT / "docs/how-to/ci.md") if one.kind == "yaml"]
    github = next(one for one in blocks if one.get("name") == "rag")
    lines = (
        next(one for one in blocks if "rag" in one)["rag"]["script"]
        if kind == "gitlab"
        else [step.get("run", "") for step in github["jobs"]["gate"]["steps"]]
    )
    return [shlex.split(line)[1:] for line in lines if line.startswith("ragbed ")]


def _run(words: list[str], model: str, folder: str) -> None:
    type_command(*({"python/my_system:answer": model, "runs/branch": folder}.get(word, word) for word in words))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with the run of its main branch, in which every answer is right."""
    synth, run, restore, compare = _steps("github")
    assert (synth[0], run[0], restore[0], compare[0]) == ("synth", "run", "import", "compare")
    folder = tmp_path_factory.mktemp("repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RAGBED_CACHE_DIR", str(folder / "cache"))
        assert type_command(*synth).code == 0
        _run(run, "scripted/oracle", "runs/main")
        assert type_command("export", "runs/main", "--to", "archive", "-o", "main.zip").code == 0
        assert type_command(*restore).code == 0
        yield folder


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("branch", "code", "states"),
    [("scripted/oracle", 0, ["passed", "passed"]), ("scripted/last-doc", 4, ["failed", "failed"])],
)
def test_the_gate_passes_an_equal_system_and_fails_a_worse_one(branch: str, code: int, states: list[str]) -> None:
    _, run, _, compare = _steps("github")
    out = f"runs/{branch.rpartition('/')[2]}"
    _run(run, branch, out)
    done = type_command(*(out if word == "runs/branch" else word for word in compare))
    assert done.code == code, done.err
    told = [line.split(":")[0].removeprefix("gate ") for line in done.err.splitlines() if line.startswith("gate ")]
    assert told == states


def test_both_examples_run_the_same_commands() -> None:
    assert _steps("github") == _steps("gitlab")
