from __future__ import annotations

import re
from typing import get_args

from ragbed.testbeds.settings import Arm
from tests.spoken import check_pager, sources

SPOKEN = re.compile(r'\b(?:say|step|tag)\("((?:[^"\\]|\\.)+)"')
TITLES = re.compile(r"(?:TITLES|HEADINGS|EXPECTED|LANGS) = \{(.*?)\};", re.DOTALL)
HELP = re.compile(r"HELP = \[(.*?)\];", re.DOTALL)


def test_every_text_of_the_interface_is_translated() -> None:
    code = sources("ragbed.ui.viewer")
    known = set(re.findall(r'^  "([^"]+)":', code.pop("words.js") + code.pop("zh.js"), re.MULTILINE))
    wanted = {word for text in code.values() for word in SPOKEN.findall(text)}
    for text in code.values():
        for block in TITLES.findall(text):
            wanted |= set(re.findall(r': "([^"]+)"', block))
        for block in HELP.findall(text):
            wanted |= set(re.findall(r', "([^"]+)"\]', block))
    wanted |= set(get_args(Arm))
    assert len(wanted) > 80
    assert wanted - known == set()


def test_buttons_that_turn_pages_say_so_in_chinese() -> None:
    check_pager("ragbed.ui.viewer", SPOKEN)


def test_no_script_makes_markup() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc"
    )
    for name, text in sources("ragbed.ui.viewer").items():
        assert not forbidden.search(text), name
