from __future__ import annotations

import re
from importlib.resources import files

from ragbed.ui.review.items import LINTED
from tests.spoken import check_pager, sources

SPOKEN = re.compile(r'\b(?:say|tag|to|link)\((?:"[\w/?=]*", )*"((?:[^"\\]|\\.)+)"')
TABLES = re.compile(r"const (?:KINDS|STATEMENTS|ONLY|REASONS|VERDICTS) = \{(.*?)\};", re.DOTALL)
LISTS = re.compile(r"const (?:COLUMNS|HELP) = \[(.*?)\];", re.DOTALL)
TONES = {"good", "bad", "warn", "other"}


def test_every_text_of_the_interface_is_translated() -> None:
    code = sources("ragbed.ui.review")
    known = set(re.findall(r'^  "((?:[^"\\]|\\.)+)":', code.pop("words.js") + code.pop("zh.js"), re.MULTILINE))
    own = {
        name: text for name, text in code.items() if not (files("ragbed.reporting.pages") / "static" / name).is_file()
    }
    wanted = {word for text in (*own.values(), code["shell.js"]) for word in SPOKEN.findall(text)}
    for text in own.values():
        for block in TABLES.findall(text):
            wanted |= set(re.findall(r'"([^"]+)"', block)) - TONES
        for block in LISTS.findall(text):
            wanted |= {word for word in re.findall(r'"([^"]+)"', block) if len(word) > 1 and "  " not in word}
    assert len(wanted) > 90
    assert wanted - known == set()


def test_every_rule_that_flags_an_item_has_a_description_in_both_languages() -> None:
    code = sources("ragbed.ui.review")
    known = set(re.findall(r'^  "([^"]+)":', code["zh.js"], re.MULTILINE))
    flags = re.search(r"const FLAGS = \{(.*?)\};", code["list.js"], re.DOTALL)
    assert flags is not None
    described = dict(re.findall(r'"([^"]+)": "([^"]+)"', flags[1]))
    assert {*LINTED, "false-answer", "edit", "label"} == described.keys()
    assert set(described.values()) <= known


def test_buttons_that_turn_pages_say_so_in_chinese() -> None:
    check_pager("ragbed.ui.review", SPOKEN)
