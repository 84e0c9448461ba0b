from __future__ import annotations

import re
from importlib.resources import files

SPOKEN = re.compile(r'\b(?:say|step|tag)\("((?:[^"\\]|\\.)+)"')
TITLES = re.compile(r"(?:TITLES|HEADINGS|EXPECTED|LANGS) = \{(.*?)\};", re.DOTALL)
HELP = re.compile(r"HELP = \[(.*?)\];", re.DOTALL)


def sources() -> dict[str, str]:
    folders = (files("ragbed.pages") / "static", files("ragbed.view") / "static")
    return {one.name: one.read_text() for folder in folders for one in folder.iterdir() if one.name.endswith(".js")}


def test_every_word_of_the_interface_has_its_chinese() -> None:
    code = sources()
    known = set(re.findall(r'^  "([^"]+)":', code.pop("words.js") + code.pop("zh.js"), re.MULTILINE))
    wanted = {word for text in code.values() for word in SPOKEN.findall(text)}
    for text in code.values():
        for block in TITLES.findall(text):
            wanted |= set(re.findall(r': "([^"]+)"', block))
        for block in HELP.findall(text):
            wanted |= set(re.findall(r', "([^"]+)"\]', block))
    assert len(wanted) > 80
    assert wanted - known == set()


def test_buttons_that_turn_pages_say_so_in_chinese() -> None:
    code = sources()
    chinese = dict(re.findall(r'^  "([^"]+)": "([^"]+)"', code["words.js"] + code["zh.js"], re.MULTILINE))
    buttons = set(SPOKEN.findall(code["list.js"].partition("function drawPager")[2])) - {"{0} to {1}"}
    assert len(buttons) >= 3
    assert [word for word in buttons if "页" not in chinese[word]] == []


def test_no_script_makes_markup() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc"
    )
    for name, text in sources().items():
        assert not forbidden.search(text), name
