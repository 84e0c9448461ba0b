"""ARCHITECTURE.md and CONTRIBUTING.md match the repository."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

import pytest

from benches.trace import Tracer, only_forwards, trace_case

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "ragbed"


def _read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def test_every_package_has_one_paragraph() -> None:
    packages = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    assert sorted(re.findall(r"^\*\*`(\w+)`\*\*", _read("ARCHITECTURE.md"), re.MULTILINE)) == packages


def test_the_documented_layers_are_the_enforced_ones() -> None:
    (contract,) = tomllib.loads(_read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    rows = re.findall(r"^\| (`\w+`(?: · `\w+`)*) \|$", _read("ARCHITECTURE.md"), re.MULTILINE)
    assert ["__main__", *(row.replace("`", "").replace("·", "|") for row in rows)] == contract["layers"]


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_named_folders_and_files_exist(page: str) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.(?:py|md|js|toml))?)`", _read(page))
    assert len(named) > 10
    missing = [
        path
        for path in named
        if path != "site/"  # built by `make docs`
        and "/a/" not in path  # an example
        and not any((folder / path).exists() for folder in (ROOT, PACKAGE, *PACKAGE.iterdir()))
    ]
    assert missing == []


_MOST_STEPS = 15


def _walk(title: str) -> list[str]:
    """Return the steps of a walk as `file function`."""
    text = _read("ARCHITECTURE.md").partition(title)[2].partition("\n\n")[2].partition("\n\n")[0]
    steps = re.findall(r"^\d+\. `([\w./]+\.py)` `([\w.]+)` ", text, re.MULTILINE)
    assert 5 < len(steps) == len(text.splitlines()) <= _MOST_STEPS
    return [f"{path} {function}" for path, function in steps]


@pytest.fixture(scope="module")
def traced() -> Tracer:
    """The functions that one case passes through."""
    return trace_case()


def _names(codes: Iterable[CodeType]) -> list[str]:
    return [f"{Path(code.co_filename).relative_to(PACKAGE).as_posix()} {code.co_qualname}" for code in codes]


def test_the_walk_to_the_server_is_what_a_case_does(traced: Tracer) -> None:
    steps, stack = _walk("From `ragbed run` to the bytes on the wire:"), _names(traced.request)
    assert [step for step in stack if step in steps] == [step for step in steps if step in stack]
    assert set(steps) <= {*stack, *_names(traced.before)}
    assert (steps[0], steps[-1]) == (stack[0], "io/http.py HttpClient.send")
    assert sum(map(only_forwards, traced.request)) <= 6


def test_the_walk_back_to_the_table_is_what_a_response_does(traced: Tracer) -> None:
    steps, called = _walk("From the response to a cell of the table:"), _names(traced.response)
    assert set(steps) <= set(called)
    # A result may be scored in the background, before the end of the run, or when the overview is made.
    ordered = [step for step in steps if not step.startswith(("analysis/trials/table.py", "runs/store.py"))]
    assert [step for step in called if step in ordered] == ordered
