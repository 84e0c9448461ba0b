"""Pipes and devices where a file is meant: a message, and no command waits."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.cli.typed import type_command

_RECIPE = 'name = "made"\ngenerator = "scripted/echo"\n[[sources]]\nkind = "{kind}"\nplace = "{place}"\n'
_RUN = ("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--cache", "off", "--out", "r")


class _Hung(Exception):
    """A command waits for a pipe or reads a device without end."""


def _give_up(_: int, __: FrameType | None) -> None:
    raise _Hung


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, in which no command may wait."""
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(30)
    yield tmp_path
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["named pipe", "device"])
@pytest.mark.parametrize(
    "words",
    [
        "run -m scripted/oracle -d SPECIAL",
        "export SPECIAL --to jsonl",
        "run -m scripted/oracle -d figure1 --prompt prompts",
        "run -m replay/SPECIAL -d figure1",
        "import SPECIAL --from archive --out imported",
        "import SPECIAL --from jsonl -m mine/rag -d figure1 --out imported",
        "import prediction_figure1_m_temp0_noise0_passage2_correct0.json --from rgb -d figure1 --out imported",
        "build run SPECIAL",
        "build run feed.toml -o built",
    ],
)
def test_a_message_says_what_the_file_is(here: Path, words: str, kind: str) -> None:
    special = here / "special"
    if kind == "device":
        special.symlink_to("/dev/zero")
    else:
        os.mkfifo(special)
    (here / "prompts" / "en").mkdir(parents=True)
    (here / "prompts" / "en" / "user.md").symlink_to(special)
    (here / "prediction_figure1_m_temp0_noise0_passage2_correct0.json").symlink_to(special)
    (here / "feed.toml").write_text(_RECIPE.format(kind="feed", place=special))
    done = type_command(*words.replace("SPECIAL", "special").split())
    assert (done.code, "Traceback" in done.err) == (2, False), done.err
    assert f"is a {kind}, not a regular file" in done.err


@pytest.mark.parametrize("words", ["report special", "status special", "review special --apply out"])
def test_a_pipe_is_neither_a_run_nor_a_build(here: Path, words: str) -> None:
    os.mkfifo(here / "special")
    done = type_command(*words.split())
    assert (done.code, done.err.startswith("ragbed: special")) == (2, True)
