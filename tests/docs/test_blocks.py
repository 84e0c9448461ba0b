"""Every code block of README and docs runs, or has a stated reason and valid options."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import pytest
import yaml

import ragbed
from benches.__main__ import MEMBERS
from ragbed.builder.recipe import read_recipe
from ragbed.cli import app
from ragbed.data.catalog import CATALOG, folder_of
from ragbed.errors import RagbedError
from tests.docs.blocks import FILE, ROOT, Block, Command, commands, pages, read_blocks
from tests.docs.place import Place, open_place

_PARSED_ONLY = {
    "data get": "downloads; tests/cli/test_data.py does that from a local server",
    "demo": "takes minutes; tests/cli/test_demo.py runs it",
    "view": "serves until it is ended; tests/ui/viewer runs it",
    "review": "serves until it is ended; its tests run it",
}
# Exit codes that are valid results: findings, fewer items than requested, quality below a gate.
_ALLOWED = {"lint": {0, 1}, "build": {0, 3, 4}}
_GATES = ("--fail-under", "--fail-if-worse")
# Pages whose commands take seconds, also Chinese ones whose commands are those of the English page.
_SLOW = {
    "README.zh.md",
    *(
        f"docs/{name}.md"
        for name in (
            "explanation/synthetic-data",
            "get-started/first-report",
            "how-to/build",
            "how-to/compare-models",
            "project/results",
            "reference/lint-rules",
            "zh/build",
            "zh/ci",
            "zh/compare-models",
            "zh/evaluate-your-rag",
            "zh/first-report",
        )
    ),
}


@pytest.fixture(scope="module")
def data(rgb_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of RGB in the data folder of `ragbed data get rgb`."""
    folder = tmp_path_factory.mktemp("data")
    downloaded = folder_of(CATALOG["rgb"], folder)
    downloaded.parent.mkdir(parents=True)
    downloaded.symlink_to(rgb_dir)
    return folder


@pytest.fixture
def place(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    for name in (
        "my_system",
        "my_change",
        "my_metrics",
        "my_strategies",
        "plain_rag",
        "own_rag",
    ):  # each page imports its own copy
        monkeypatch.delitem(sys.modules, name, raising=False)
    with open_place(tmp_path, data) as opened:
        yield opened


def _parameters() -> Iterator[Any]:
    """Yield the pages; those whose commands take seconds are run by `make test-slow`."""
    for page in pages():
        name = str(page.relative_to(ROOT))
        yield pytest.param(page, id=name, marks=[pytest.mark.slow] * (name in _SLOW))


@pytest.mark.parametrize("page", list(_parameters()))
def test_every_block_of_a_page_runs(page: Path, place: Place) -> None:
    for block in read_blocks(page):
        check = _CHECKS.get(block.kind)
        assert check is not None, f"{block.place}: no test knows what to do with a block of {block.kind!r}"
        check(block, place)


@pytest.mark.parametrize("name", sorted(_SLOW))
def test_the_blocks_of_a_slow_page_can_be_read(name: str, place: Place) -> None:
    for block in read_blocks(ROOT / name):
        _CHECKS[block.kind](block._replace(unrun="it takes seconds"), place)


_WRONG = {
    "an option that does not exist": "```\nragbed export figure1 --to jsonl --docks 2\n```",
    "one in a block that is not run": "<!-- not run: it costs money -->\n```sh\nragbed run -d en --modell x\n```",
    "a command that fails": "```sh\nragbed export figure1 --to jsonl --noise 7\n```",
    "output that is not printed": "```\n$ ragbed export figure1 --to jsonl --num-docs 2\nno such line\n```",
    "a program that no test runs": "```sh\nsbatch job.sh\n```",
    "an extra that does not exist": "```sh\npip install 'ragbed[everything]'\n```",
    "a target that does not exist": "```sh\nmake coffee\n```",
    "a benchmark that does not exist": "```sh\npython -m benches coffee\n```",
    "Python that fails": "```python\nimport ragbed\n\nragbed.runn\n```",
    "a session that prints something else": "```pycon\n>>> ragbed.__name__\n'rag'\n```",
    "TOML that is none": "```toml\na =\n```",
    "a wrong option in YAML": "```yaml\nsteps:\n  - run: ragbed run -d en --modell x\n```",
}


@pytest.mark.parametrize("text", _WRONG.values(), ids=_WRONG)
def test_an_invalid_block_is_detected(text: str, place: Place) -> None:
    page = place.folder / "page.md"
    page.write_text(f"# A page\n\n{text}\n")
    (block,) = read_blocks(page)
    with pytest.raises((AssertionError, AttributeError, tomllib.TOMLDecodeError, pytest.fail.Exception)):
        _CHECKS[block.kind](block, place)


def _check_shell(block: Block, place: Place) -> None:
    whole = any(command.output for command in commands(block))  # less data would print other numbers
    for command in commands(block):
        program, rest = command.words[0].removeprefix(".venv/bin/"), command.words[1:]
        if program == "ragbed":
            _check_ragbed(block, command._replace(words=rest), place, whole=whole)
        elif program == "make":
            known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
            assert set(rest) <= set(known), f"{block.place}: make has no such target"
        elif program == "pip":
            _check_extras(block, rest)
        elif program == "export" and not block.unrun:
            place.environ |= dict(word.split("=", 1) for word in rest)
        elif program == "python" and (ROOT / "examples" / rest[0]).is_file():
            place.serve(rest[0])
        elif program == "python" and rest[:2] == ["-m", "benches"]:
            assert rest[2] in MEMBERS, f"{block.place}: there is no such benchmark"
        else:
            assert block.unrun, f"{block.place}: no test runs {program!r}; say why before it: <!-- not run: … -->"


def _check_ragbed(block: Block, command: Command, place: Place, *, whole: bool) -> None:
    where = f"{block.place}: ragbed {' '.join(command.words)}"
    needs_torch = any(word.startswith("hf/") for word in command.words)
    if block.unrun or needs_torch or {command.words[0], " ".join(command.words[:2])} & _PARSED_ONLY.keys():
        _parse(command.words, where)
        return
    done = place.type(command.words, command.environ, whole=whole)
    allowed = _ALLOWED.get(command.words[0], {0}) | ({4} if set(_GATES) & set(command.words) else set())
    assert done.code in allowed, f"{where}\n{done.err}"
    printed = [" ".join(line.split()) for line in (done.out + done.err).splitlines()]
    for line in command.output:
        begins = " ".join(line.split()).removesuffix("…").strip("; ")
        assert any(one.startswith(begins) for one in printed), f"{where}\ndoes not print {line!r} but\n{done.out}"


def _parse(words: list[str], where: str) -> None:
    """As click reads it, without doing it."""
    try:
        group: click.Command = app
        context = click.Context(app)
        while isinstance(group, click.Group):
            name, found, words = group.resolve_command(context, words)
            assert found is not None
            group = found
            if isinstance(group, click.Group):
                context = click.Context(group, parent=context, info_name=name)
        group.make_context(group.name, list(words), parent=context)
    except (click.ClickException, RagbedError) as error:
        pytest.fail(f"{where}\n{error}")


def _check_extras(block: Block, words: list[str]) -> None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
    for named in re.findall(r"ragbed\[([\w,-]+)\]", " ".join(words)):
        assert set(named.split(",")) <= extras, f"{block.place}: pyproject.toml has no extra {named}"


def _check_python(block: Block, place: Place) -> None:
    if (file := FILE.match(block.text)) is not None:
        (place.folder / file[1]).write_text(block.text)
    if block.unrun:
        compile(block.text, block.place, "exec")
    elif "def test_" in block.text:
        for run in re.findall(r'"(runs/[\w-]+)"', block.text):
            place.provide([run])
        (place.folder / "test_page.py").write_text(block.text)
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"]
        told = os.environ | place.environ
        done = subprocess.run(words, cwd=place.folder, env=told, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stdout  # a gate may fail on the few questions that are asked here
        assert "Error" not in done.stdout, done.stdout
    else:
        with patch.dict(os.environ, place.environ):
            exec(compile(block.text, block.place, "exec"), {"__name__": "page"})


def _check_pycon(block: Block, place: Place) -> None:
    """Run an interactive session and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block.text, {"ragbed": ragbed}, block.place, None, 0)
    printed: list[str] = []
    with patch.dict(os.environ, place.environ):
        failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=printed.append).failed
    assert not failed, "".join(printed)


def _check_json(block: Block, place: Place) -> None:
    try:
        json.loads(block.text)
    except json.JSONDecodeError:
        for line in block.text.splitlines():
            json.loads(line)


def _check_toml(block: Block, place: Place) -> None:
    if "sources" in tomllib.loads(block.text):
        path = place.folder / "page.toml"
        path.write_text(block.text)
        read_recipe(path)


def _check_yaml(block: Block, place: Place) -> None:
    for text in _texts(yaml.safe_load(block.text)):
        for command in commands(block._replace(text=text)):
            if command.words[0] == "ragbed":
                _parse(command.words[1:], f"{block.place}: {text}")
            elif command.words[0] == "pip":
                _check_extras(block, command.words)


def _texts(told: object) -> Iterator[str]:
    if isinstance(told, dict):
        for value in told.values():
            yield from _texts(value)
    elif isinstance(told, list):
        for value in told:
            yield from _texts(value)
    elif isinstance(told, str) and re.match(r"(ragbed|pip) ", told):
        yield told


def _check_nothing(block: Block, place: Place) -> None:
    """Text: output, formulae, drawings."""


_CHECKS = {
    "sh": _check_shell,
    "console": _check_shell,
    "python": _check_python,
    "pycon": _check_pycon,
    "json": _check_json,
    "jsonl": _check_json,
    "toml": _check_toml,
    "yaml": _check_yaml,
    "": _check_nothing,
    "text": _check_nothing,
    "bibtex": _check_nothing,
}
