"""The golden facts contain no text from RGB's files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.golden.facts import FILES, FOLDER, KINDS, read_facts

_NAMES = {
    *FILES,
    *KINDS,
    *("code-2023", "code-2024", "en", "zh", "ValueError"),
    *("mixed", "all_refuse", "all_gold", "all_wrong", "flag_refuse", "flag_gold"),
}
_HASH = re.compile(r"[0-9a-f]{16}|[0-9a-f]{64}")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


@pytest.mark.parametrize(("name", "lines"), [("cases", 16_200), ("labels", 4_063), ("scores", 36)])
def test_facts_are_names_hashes_and_numbers(name: str, lines: int) -> None:
    facts = list(read_facts(name))
    assert len(facts) == lines
    assert {text for text in _texts(facts) if text not in _NAMES and not _HASH.fullmatch(text)} == set()


def test_system_messages_are_hashes() -> None:
    facts = json.loads((FOLDER / "system.json").read_text("utf-8"))
    assert all(_HASH.fullmatch(text) for text in _texts(facts))
    assert {lang for hashes in facts.values() for lang in hashes} == {"en", "zh"}
