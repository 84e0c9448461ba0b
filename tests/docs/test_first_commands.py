"""Every command that one of the first ten commands of README and tutorial prints works as it is printed."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from benches.own_rag import DATA as OWN_DATA
from benches.own_rag import DOCS as OWN_DOCS
from ragbed.cli import COMMANDS
from ragbed.data.catalog import CATALOG, folder_of
from tests.cli.typed import type_command
from tests.docs.blocks import FILE, ROOT, commands, read_blocks

_HINT = re.compile(rf"ragbed (?:{'|'.join(COMMANDS)})\b[^`#;<\n]*")
_CODE = re.compile(r"<code>(ragbed [a-z]+ [^<]+)</code>")
_FIRST = 10
_SCRIPT = "scripted/majority"
"""Evaluated in place of the bundled model, which takes minutes."""


@pytest.fixture
def environ(rgb_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    named = {
        "RAGBED_DATA_DIR": str(tmp_path / "data"),
        "RAGBED_CACHE_DIR": str(tmp_path / "cache"),
        "RAGBED_LIMIT": "2",
    }
    downloaded = folder_of(CATALOG["rgb"], tmp_path / "data")
    downloaded.parent.mkdir(parents=True)
    downloaded.symlink_to(rgb_dir)
    shutil.copytree(OWN_DOCS, tmp_path / "handbook")
    for source in (OWN_DATA / "qa.csv", ROOT / "examples/own_rag.py", ROOT / "examples/plain_rag.py"):
        shutil.copy(source, tmp_path)
    return named


@pytest.mark.parametrize(("page", "fewest"), [("README.md", 0), ("docs/get-started/quickstart.md", 1)])
def test_what_the_first_commands_print_works(page: str, fewest: int, environ: dict[str, str], tmp_path: Path) -> None:
    for block in read_blocks(ROOT / page):
        if (file := FILE.match(block.text)) is not None:
            (tmp_path / file[1]).write_text(block.text)
    hints: dict[str, None] = {}
    typed = list(islice(_commands(ROOT / page), _FIRST))
    assert len(typed) >= 5
    for words in typed:
        hints |= dict.fromkeys(_hints(_type(words, environ), tmp_path))
    assert len(hints) >= fewest
    for hint in hints:
        _type(shlex.split(hint)[1:], environ)


def _commands(page: Path) -> Iterator[list[str]]:
    """The words after `ragbed`, of every command in a page's blocks; `make demo` is `ragbed demo`."""
    for block in read_blocks(page):
        for command in commands(block) if block.kind in ("sh", "console") else ():
            if command.words == ["make", "demo"]:
                yield ["demo"]
            elif Path(command.words[0]).name == "ragbed":
                yield command.words[1:]


def _type(words: list[str], environ: dict[str, str]) -> str:
    """What a command prints; it must not fail."""
    if words[0] in ("view", "review"):
        return _serve(words, environ)
    words = [_SCRIPT if word.startswith("bundled/") else word for word in words]
    if words[0] in ("run", "demo") and "-m" not in words:
        words = [*words, "-m", "baseline/lexical"]
    done = type_command(*words, env=environ)
    assert done.code == 0, f"ragbed {shlex.join(words)}\n{done.err}"  # a gate on two questions is inconclusive
    return done.out + done.err


def _serve(words: list[str], environ: dict[str, str]) -> str:
    """What a command prints that serves until it is interrupted."""
    command = [sys.executable, "-m", "ragbed", *words, "--port", "0"]
    with subprocess.Popen(
        command, env=os.environ | environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as server:
        assert server.stdout is not None
        told = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        told += server.stdout.read()
    assert "http://127.0.0.1:" in told, told
    return told


def _hints(printed: str, folder: Path) -> Iterator[str]:
    """The commands in what was printed, and in reports that were written."""
    for found in _HINT.findall(printed):
        yield from (hint.strip(" .,)") for hint in found.split(", or "))
    for report in folder.rglob("*.html"):
        yield from _CODE.findall(report.read_text("utf-8"))


def test_every_extra_that_a_hint_names_exists(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbed.models.checks._version", lambda _: "")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = set(re.findall(r"'ragbed\[([\w-]+)\]'", _type(["doctor"], environ)))
    assert {"serve", "build", "figures"} <= named <= extras.keys()
