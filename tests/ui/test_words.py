"""Every text of the pages has a Chinese translation, and no script makes markup."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import get_args

import pytest

from ragbed.testbeds.settings import Arm

SPOKEN = re.compile(r'\b(?:say|step|tag|to|link)\((?:"[\w/?=]*", )*"((?:[^"\\]|\\.)+)"')
VALUES = re.compile(r"(?:TITLES|HEADINGS|EXPECTED|LANGS|STATEMENTS|ONLY) = \{(.*?)\};", re.DOTALL)
LISTS = re.compile(r"(?:COLUMNS) = \[(.*?)\];", re.DOTALL)
HELP = re.compile(r"HELP = \[(.*?)\];", re.DOTALL)


def sources(page: str) -> dict[str, str]:
    """The scripts of a page and those that all pages share, by name."""
    folders = (files("ragbed.reporting.pages") / "static", files(f"ragbed.ui.{page}") / "static")
    return {
        one.name: one.read_text("utf-8") for folder in folders for one in folder.iterdir() if one.name.endswith(".js")
    }


@pytest.mark.parametrize("page", ["viewer", "review"])
def test_every_text_of_the_interface_is_translated(page: str) -> None:
    code = sources(page)
    known = set(re.findall(r'^  "((?:[^"\\]|\\.)+)":', code.pop("words.js") + code.pop("zh.js"), re.MULTILINE))
    wanted = {*get_args(Arm)} if page == "viewer" else set()
    for text in code.values():
        wanted |= set(SPOKEN.findall(text))
        for block in VALUES.findall(text):
            wanted |= set(re.findall(r': "([^"]+)"', block))
        for block in LISTS.findall(text):
            wanted |= set(re.findall(r'"([^"]+)"', block))
        for block in HELP.findall(text):
            wanted |= set(re.findall(r', "([^"]+)"\]', block))
    assert len(wanted) > 70
    assert wanted - known == set()


def test_no_script_makes_markup() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc"
    )
    for name, text in (sources("viewer") | sources("review")).items():
        assert not forbidden.search(text), name
