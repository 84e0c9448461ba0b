"""`python -m benches`: its list, its names and the commands in the docs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from benches import ROOT
from benches.__main__ import MEMBERS, describe

_HELPERS = {"__init__", "__main__", "bare_loop", "coverage_scenarios", "scorer_rows", "trace"}
_PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]


def _type(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benches", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_without_a_name_all_members_are_listed_with_one_line_each() -> None:
    done = _type()
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines()[2:])
    assert (done.returncode, list(lines)) == (0, list(MEMBERS))
    assert lines["structure"] == describe("benches.structure")


def test_a_member_gets_its_options() -> None:
    done = _type("structure", "--help")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "usage: python -m benches structure [-h] [--lower] [--trace]",
    )


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    done = _type("coffee")
    assert (done.returncode, "coffee is not a benchmark" in done.stderr, "full_build" in done.stderr) == (1, True, True)


def test_every_module_is_a_member_or_a_helper() -> None:
    found = {path.stem for path in (ROOT / "benches").glob("*.py")} - _HELPERS
    assert found | {"torture"} == set(MEMBERS)


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_has_a_description(name: str) -> None:
    assert re.fullmatch(r"[A-Z].{30,130}\.", describe(MEMBERS[name]))


def test_the_docs_name_members_that_exist() -> None:
    named = {name for page in _PAGES for name in re.findall(r"-m benches (\w+)", page.read_text("utf-8"))}
    assert len(named) > 15
    assert named - set(MEMBERS) == {"coffee", "NAME"} & named
