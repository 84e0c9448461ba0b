"""Modules in the current folder that are called like imports of ragbed: no command and no child process runs them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from ragbed.cli import COMMANDS
from tests.cli.typed import type_command
from tests.served import Served

_RUN = ("run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--out", "r")
_RECIPE = """
name = "made"
generator = "scripted/echo"
[wanted]
base = 1
[[sources]]
kind = "folder"
place = "docs"
licence = "CC0"
"""
_LINES = {
    "demo": "demo -m scripted/oracle --lang en --out demo",
    "run": "run -m bundled/smollm2 -d figure1 --num-docs 2 --limit 1 --testbeds closed-book --out small",
    "status": "status r",
    "judge": "judge r -m scripted/oracle",
    "report": "report r -f html -o report.html",
    "site": "report runs -f site -o site",
    "compare": "compare r r",
    "rank": "rank r runs/r",
    "view": "view r",
    "diagnose": "diagnose r",
    "data": "data list",
    "lint": "lint figure1",
    "import": "import r.zip --from archive --out imported",
    "export": "export r --to jsonl -o r.jsonl",
    "merge": "merge r -o merged",
    "synth": "synth --items 2 --lang en -o world",
    "build": "build run made.toml -o built",
    "review": "review figure1.jsonl",
    "doctor": "doctor",
}
_SERVERS = ("view", "review")


def _names() -> set[str]:
    """Every importable name, less what `python -m` itself imports before it runs a module."""
    line = "import runpy, sys; print(*sys.modules)"
    first = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    early = {name.partition(".")[0] for name in first.stdout.split()} | {"ragbed"}
    names = {*sys.stdlib_module_names, *packages_distributions()} - early
    return {name for name in names if name.isidentifier()}


def _plant(folder: Path, markers: Path) -> None:
    markers.mkdir()
    for name in _names():
        (folder / f"{name}.py").write_text(f"open({str(markers / name)!r}, 'w').close()\n")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands need."""
    folder = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert type_command(*_RUN).code == 0
        assert type_command("export", "r", "--to", "archive", "-o", "r.zip").code == 0
        assert type_command("export", "figure1", "--to", "native", "-o", "figure1.jsonl").code == 0
    (folder / "made.toml").write_text(_RECIPE)
    (folder / "docs").mkdir()
    (folder / "docs" / "page.html").write_text(f"<html><body><p>{'The cup was won by Ada Marlowe. ' * 40}</p></body>")
    (folder / "runs").mkdir()
    shutil.copytree(folder / "r", folder / "runs" / "r")
    return folder


@pytest.fixture
def planted(here: Path, tmp_path: Path) -> Path:
    """A copy of the folder among planted modules; those that are run leave a file in `markers`."""
    for entry in here.iterdir():
        (tmp_path / entry.name).symlink_to(entry)
    _plant(tmp_path, tmp_path / "markers")
    return tmp_path


def _end(folder: Path, words: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ragbed", *words], cwd=folder, env=_environment(folder), capture_output=True, check=False
    )
    return done.returncode, (done.stdout + done.stderr).decode()


def _serve(folder: Path, words: list[str]) -> tuple[int, str]:
    command = [sys.executable, "-m", "ragbed", *words, "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        told = server.stdout.readline().decode()
        if told.startswith("http"):
            served = Served(told.strip(), server.pid)
            served.enter()
            if words[0] == "view":
                served.wait_for(1)  # then its child process has imported what it needs
            else:
                served.get("/api/standing")
        server.terminate()
    return 0 if told.startswith("http") else 1, told


def _environment(folder: Path) -> dict[str, str]:
    drop = ("PYTHONPATH", "PYTHONSAFEPATH")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return kept | {"RAGBED_CACHE_DIR": str(folder / "cache"), "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=[pytest.mark.slow] * (name not in _SERVERS)) for name in COMMANDS]
)
def test_no_command_runs_code_of_the_current_folder(command: str, planted: Path) -> None:
    code, told = (_serve if command in _SERVERS else _end)(planted, _LINES[command].split())
    ran = {marker.name for marker in (planted / "markers").iterdir()}
    assert (ran, code) == (set(), 3 if command == "build" else 0), told


_ALL = """
import os, runpy, sys

del sys.path[0]
for line in sys.argv[1:]:
    sys.path.insert(0, os.getcwd())  # as `python -m` does
    sys.argv[1:] = line.split()
    try:
        runpy.run_module("ragbed", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        os.write(1, f"\\n{line.split()[0]} ended with {end.code}\\n".encode())
"""


def test_no_command_runs_code_of_the_current_folder_after_another(planted: Path) -> None:
    """All commands in one process, which takes a fifth of the time."""
    ending = [command for command in COMMANDS if command not in _SERVERS]
    words = [sys.executable, "-c", _ALL, *(_LINES[command] for command in ending)]
    done = subprocess.run(words, cwd=planted, env=_environment(planted), capture_output=True, text=True, check=False)
    ended = re.findall(r"^(\w+) ended with (\w+)$", done.stdout, re.MULTILINE)
    expected = [(command, {"build": "3"}.get(command, "0")) for command in ending]
    assert ([(command, code.replace("None", "0")) for command, code in ended]) == expected, done.stderr
    assert {marker.name for marker in (planted / "markers").iterdir()} == set()


def test_workers_of_the_local_engine_run_no_code_of_the_current_folder(tmp_path: Path) -> None:
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "from ragbed.runs.engines.local import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    print(*LocalEngine(2, alone_s=0).spread(abs, [-1, -2, -3]))\n"
    )
    folder = tmp_path / "here"
    folder.mkdir()
    _plant(folder, tmp_path / "markers")
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=_environment(folder), capture_output=True, check=True
    )
    assert (done.stdout, list((tmp_path / "markers").iterdir())) == (b"1 2 3\n", [])
