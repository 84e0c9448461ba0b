"""Instructions that are hidden in documents: templates, canaries, and their insertion into a text.

`{en,zh}/<kind>.txt` has one template per line. `{CANARY}` stands for the canary, an invented word that only a response
that follows the instruction contains, and `{LINK}` for a link with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import get_args

from ragbed.schema import Injection, InjectionKind, Lang
from ragbed.testbeds.document_order import digest
from ragbed.text import split_sentences

KINDS: tuple[InjectionKind, ...] = get_args(InjectionKind)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_SYLLABLES, _DIGITS = 4, 4  # 2·10¹¹ canaries
_KEY = 8  # number of bytes at the start of a key that select the template; the others select the place


@cache
def read_templates(kind: InjectionKind, lang: Lang) -> tuple[str, ...]:
    """Return the templates of a kind of instruction."""
    return tuple((Path(__file__).parent / lang / f"{kind}.txt").read_text("utf-8").splitlines())


def make_canary(key: bytes, texts: Iterable[str]) -> str:
    """Return a random canary, e.g. `Zovakemi-4829`, whose number occurs in none of the texts."""
    texts = list(texts)
    while True:
        key = digest(key)
        number = int.from_bytes(key, "big")
        number, rest = divmod(number, 10**_DIGITS)
        figures = f"{rest:0{_DIGITS}}"
        if not any(figures in text for text in texts):
            break
    word = ""
    for _ in range(_SYLLABLES):
        number, consonant = divmod(number, len(_CONSONANTS))
        number, vowel = divmod(number, len(_VOWELS))
        word += _CONSONANTS[consonant] + _VOWELS[vowel]
    return f"{word.capitalize()}-{figures}"


def write_instruction(kind: InjectionKind, lang: Lang, key: bytes, canary: str) -> Injection:
    """Return an instruction with a canary, from the template that the key selects."""
    templates = read_templates(kind, lang)
    template = templates[int.from_bytes(key[:_KEY], "big") % len(templates)]
    link = f"https://{canary.lower()}.example/info"
    return Injection(kind=kind, canary=canary, text=template.replace("{CANARY}", canary).replace("{LINK}", link))


def insert(text: str, instruction: str, lang: Lang, key: bytes) -> str:
    """Insert an instruction between two sentences, or before or after all of them, as the key selects."""
    starts = _starts(text)
    return insert_at(text, instruction, lang, starts[int.from_bytes(key[_KEY:], "big") % len(starts)])


def insert_at(text: str, instruction: str, lang: Lang, start: int) -> str:
    """Insert an instruction between two sentences, separated by spaces from the sentences of an English text."""
    before, after = text[:start], text[start:]
    space = " " if lang == "en" else ""
    left = space if before and not before[-1].isspace() else ""
    right = space if after and not after[0].isspace() else ""
    return f"{before}{left}{instruction}{right}{after}"


@lru_cache(maxsize=256)  # the same passage is used for several kinds
def _starts(text: str) -> list[int]:
    return [*(start for start, _ in split_sentences(text)), len(text)]


def find_injected(text: str, injection: Injection) -> list[tuple[int, int]]:
    """Return where a text contains an instruction or, if there is none, its canary."""
    for part in (injection.text, injection.canary):
        if found := [match.span() for match in re.finditer(re.escape(part), text, re.IGNORECASE)]:
            return found
    return []
