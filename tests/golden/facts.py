"""Read the golden facts and build the responses that they are about."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ragbed.data import Dataset
from ragbed.schema import Case, Lang
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.settings import Settings

FOLDER = Path(__file__).parent
FILES = ("en_fact", "zh_int", "zh_refine")
_OTHER: dict[Lang, Lang] = {"en": "zh", "zh": "en"}


def read_facts(name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file, e.g. `labels`."""
    with lzma.open(FOLDER / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def short_hash(text: str) -> str:
    """Return the hash of a text as `cases.jsonl.xz` stores it."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def closed_book_cases(rgb_dir: Path) -> dict[tuple[str, str], Case]:
    """Return the closed-book cases of RGB's files, by file and item."""
    return {
        (file, case.item): case
        for file in FILES
        for case in TESTBEDS["closed-book"].cases(Dataset(file, rgb_dir / f"{file}.json"), Settings())
    }


def make_response(case: Case, kind: str) -> str:
    """Return the response of a kind to a case."""
    return KINDS[kind](case)


def _join(case: Case, aliases: list[str]) -> str:
    return ("，" if case.lang == "zh" else ", ").join(aliases)


def _gold(case: Case) -> str:
    return _join(case, [slot[0] for slot in case.answer])


def _first(case: Case) -> str:
    return case.answer[0][0]


def _by_lang(en: str, zh: str) -> Callable[[Case], str]:
    return lambda case: zh if case.lang == "zh" else en


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


# Responses by kind: correct, wrong, refusing or flagging, in spellings that the original code treats differently.
KINDS: dict[str, Callable[[Case], str]] = {
    "empty": lambda case: "",
    "every_alias": lambda case: _join(case, [alias for slot in case.answer for alias in slot]),
    "first_slot": _first,
    "flag_gold": lambda case: f"{FLAG[case.lang]} {_gold(case)}",
    "flag_one": _by_lang("factual error", "事实错误"),
    "flag_only": lambda case: FLAG[case.lang],
    "flag_other_language": lambda case: FLAG[_OTHER[case.lang]] + _gold(case),
    "flag_refuse": lambda case: FLAG[case.lang] + REFUSAL[case.lang],
    "flag_short": _by_lang("factual errors", "事实性错误"),
    "flag_upper": lambda case: FLAG[case.lang].upper(),
    "gold": lambda case: _by_lang("The answer is ", "答案是")(case) + _gold(case),
    "ideographic_space": lambda case: "\u3000".join(_gold(case)),
    "inside_digits": lambda case: f"1{_first(case)}0",
    "last_alias_upper": lambda case: _join(case, [slot[-1] for slot in case.answer]).upper(),
    "last_slot": lambda case: case.answer[-1][0],
    "lower": lambda case: _gold(case).lower(),
    "negated": lambda case: _by_lang("It is not ", "不是")(case) + _first(case),
    "no_flag": lambda case: f"There are no factual errors. {_first(case)}",
    "refuse": lambda case: REFUSAL[case.lang],
    "refuse_capital": _by_lang("Insufficient information.", "Insufficient information."),
    "refuse_first_letter": lambda case: _lower_first(REFUSAL[case.lang]),
    "refuse_other_language": lambda case: REFUSAL[_OTHER[case.lang]],
    "refuse_short": _by_lang("There is insufficient information.", "信息不足"),
    "refuse_spaced": _by_lang("insufficient  information", "信息 不足"),
    "refuse_then_gold": lambda case: f"{REFUSAL[case.lang]} {_gold(case)}",
    "refuse_upper": lambda case: REFUSAL[case.lang].upper(),
    "spaced": lambda case: " ".join(_gold(case)),
    "tabbed": lambda case: "\t".join(_gold(case)),
    "wrong": lambda case: case.fake[0][0] if case.fake else "某地",
}
