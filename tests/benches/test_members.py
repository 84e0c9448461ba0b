"""`python -m benches`: its list, its names and the commands in the docs."""

from __future__ import annotations

import re

from benches import ROOT
from benches.__main__ import MEMBERS

_HELPERS = {"__init__", "__main__", "bare_loop", "coverage_scenarios", "scorer_rows", "trace"}
_PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]


def test_every_module_is_a_member_or_a_helper() -> None:
    found = {path.stem for path in (ROOT / "benches").glob("*.py")} - _HELPERS
    assert found | {"torture"} == set(MEMBERS)


def test_the_docs_name_members_that_exist() -> None:
    named = {name for page in _PAGES for name in re.findall(r"-m benches (\w+)", page.read_text("utf-8"))}
    assert len(named) > 15
    assert named - set(MEMBERS) == {"coffee", "NAME"} & named
