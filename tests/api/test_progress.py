"""Progress of API functions: in a notebook, on a terminal, in the caller's own object, or none."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import asdict
from rich.console import Console

import ragbed
from ragbed.api.progress import NotebookBars, TerminalBars, open_progress
from ragbed.runs.call_loop import CallProgress

DATA = "ragbed-mini-en_base"


class Shell:
    """The shell of a notebook, which remembers what is displayed."""

    kernel = object()

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, content: str, display_id: bool) -> SimpleNamespace:
        assert display_id
        self.shown.append(content)
        return SimpleNamespace(update=self.shown.append)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shell:
    shell = Shell()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    display.HTML, display.display = str, shell.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shell


def _clock() -> Any:
    return iter(range(100)).__next__


def test_a_notebook_shows_one_bar_per_model(notebook: Shell) -> None:
    with open_progress(True) as progress:
        assert isinstance(progress, NotebookBars)
    bars = NotebookBars(_clock())
    bars.calls("<a>", CallProgress(total=10, done=4, seconds_left=30.0))
    bars.calls("b", CallProgress(total=10, done=10))
    assert "&lt;a&gt; <progress value='4' max='10'></progress> 4 of 10 about 30 seconds left" in notebook.shown[0]
    assert notebook.shown[-1].count("<progress") == 2


def test_a_terminal_shows_bars_and_messages_above_them() -> None:
    out = io.StringIO()
    with TerminalBars(_clock(), Console(file=out, force_terminal=True, width=100)) as bars:
        bars.calls("oracle", CallProgress(total=10, done=4))
        bars.message("a message")
        bars.count("cases", 7)
    assert "oracle" in out.getvalue()
    assert "4/10" in out.getvalue()
    assert "a message" in out.getvalue()


def test_without_a_terminal_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ragbed.run("scripted/oracle", DATA, testbeds="noise", limit=5, out=tmp_path / "run")
    assert capfd.readouterr() == ("", "")


def test_an_object_of_the_caller_receives_calls_and_messages(tmp_path: Path) -> None:
    class Own(ragbed.Progress):
        def __init__(self) -> None:
            self.calls_of: list[tuple[str, int]] = []
            self.messages: list[str] = []

        def calls(self, model: str, state: CallProgress) -> None:
            self.calls_of.append((model, asdict(state)["done"]))

        def message(self, text: str) -> None:
            self.messages.append(text)

    own = Own()
    data = [DATA, "ragbed-mini-en_int"]
    testbeds = ["noise", "integration"]
    ragbed.run({"mine": "scripted/oracle"}, data, testbeds=testbeds, noise=0, limit=2, out=tmp_path, progress=own)
    assert own.calls_of == [("mine", done) for done in range(1, 5)]
    assert any(message.startswith("Skipped integration") for message in own.messages)


def test_messages_are_records_of_the_logger(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="ragbed"):
        data = [DATA, "ragbed-mini-en_int"]
        ragbed.run("scripted/oracle", data, testbeds="noise,integration", noise=0, limit=2, out=tmp_path / "run")
    assert [record.name for record in caplog.records] == ["ragbed"] * len(caplog.records)
    assert any(record.message.startswith("Skipped integration") for record in caplog.records)
