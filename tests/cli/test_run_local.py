"""`ragbed run` with a model on this machine: interrupted, nothing is lost, nothing stays behind, nothing is noisy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from ragbed.api.calling import warn_of_languages
from ragbed.api.planning import plan_run
from ragbed.api.spec import RunSpec
from ragbed.environment import data_dir
from ragbed.errors import RagbedError
from ragbed.models.local.gguf import read_weights
from ragbed.models.local.llamacpp import find_weights
from ragbed.models.scripted import ScriptedModel
from ragbed.runs.store import open_store
from tests.cli.typed import type_command
from tests.models.weights import SOUND, write_gguf

_WORDS = (
    "run", "-d", "figure1", "--lang", "en", "--testbeds", "closed-book", "--max-tokens", "6", "--cache", "off",
    "--repeats", "2",
)  # fmt: skip
"""No model is named: the bundled one is the default."""
_ASKED = 6
_PROGRESS = "bundled/smollm2: "


def _start(folder: Path) -> subprocess.Popen[str]:
    """The command in a separate process, on one core: the suite keeps the others busy."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        words = [sys.executable, "-m", "ragbed", *_WORDS, "--out", str(folder)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        os.sched_setaffinity(0, allowed)


def _replies(folder: Path) -> dict[tuple[str, int], str | None]:
    try:
        with open_store(folder, create=False) as store:
            return {(result.case.case, result.repeat): result.completion.reply for result in store.results()}
    except RagbedError:  # not planned yet
        return {}


def _children(process: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8").split()]


@pytest.mark.slow
def test_an_interrupted_run_ends_soon_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with _start(tmp_path / "run") as process:
        while not (early := _replies(tmp_path / "run")):
            assert process.poll() is None
            time.sleep(0.05)
        (engine,) = _children(process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [line for line in said.splitlines() if line and not line.startswith(_PROGRESS)] == [
        f"Stopped. Finished cases are kept. To resume, rerun the same command with --out {tmp_path / 'run'}",
        "ragbed: interrupted.",
    ]
    assert not Path(f"/proc/{engine}").exists()
    assert 1 <= len(early) < _ASKED
    with _start(tmp_path / "run") as process:
        shown, said = process.communicate(timeout=120)
    assert process.returncode == 3  # six tokens are too few for most responses, so they are truncated
    assert "bundled/smollm2 on figure1" in shown
    late = _replies(tmp_path / "run")
    assert len(late) == _ASKED
    assert early.items() <= late.items()
    assert all(line.startswith((_PROGRESS, "The run is stored in", "Incomplete: ")) for line in said.splitlines()), said


def test_a_killed_command_leaves_no_engine_behind(tmp_path: Path) -> None:
    with _start(tmp_path / "run") as process:
        while not (engines := _children(process)):
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{engines[0]}/cmdline").exists() and Path(f"/proc/{engines[0]}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_base_model_is_named_before_anything_is_begun(tmp_path: Path) -> None:
    write_gguf(tmp_path / "base.gguf", {name: told for name, told in SOUND.items() if "template" not in name})
    model = f"llamacpp/{tmp_path}/base.gguf"
    done = type_command("run", "-m", model, "-d", "figure1", "--out", str(tmp_path / "run"))
    assert (done.code, "base.gguf has no chat template, so it is a base model" in done.err) == (2, True)
    assert not (tmp_path / "run").exists()


def test_downloaded_weights_are_looked_for_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGBED_DATA_DIR", str(tmp_path))
    assert data_dir() == tmp_path
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = type_command("run", "-d", "figure1", "--out", str(tmp_path / "run"), env={"RAGBED_DATA_DIR": str(tmp_path)})
    assert (done.code, done.out) == (2, "")
    assert (
        done.err == "ragbed: the weights of bundled/smollm2 are not installed. Install them: ragbed data get smollm2\n"
    )


def test_an_english_model_on_chinese_questions_is_warned_of_while_the_run_is_planned() -> None:
    english, unknown = (ScriptedModel("oracle"), ScriptedModel("refuser"))
    english.languages = ("en-US",)  # type: ignore[attr-defined]
    warnings: list[str] = []
    spec = RunSpec(model="scripted/oracle", data=["ragbed-mini-en_base", "ragbed-mini-zh_base"])
    with closing(plan_run(spec, warnings.append)) as job:
        cases = list(job.cases())
    assert warnings == []
    assert list(warn_of_languages(cases, [english, unknown], warnings.append)) == cases
    warning = (
        "Warning: scripted/oracle does not list Chinese among its languages, but ragbed-mini-zh_base contains Chinese "
    )
    assert [text.startswith(warning) for text in warnings] == [True]


def test_the_bundled_model_says_that_it_is_english() -> None:
    assert read_weights(find_weights("smollm2")).languages == ("en",)
