from __future__ import annotations

import re
from importlib.resources import files

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
    assert len(wanted) > 70
    assert wanted - known == set()


def test_buttons_that_turn_pages_say_so_in_chinese() -> None:
    check_pager("ragbed.ui.review", SPOKEN)
