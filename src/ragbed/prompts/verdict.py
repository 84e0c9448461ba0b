"""A verdict that a model was asked for, read strictly: the last one, from a closed list, or nothing."""

from __future__ import annotations

import re
from collections.abc import Container

# All that follows the word on its line is taken along, so that "VERDICT: yes or no" is no verdict.
_LINE = re.compile(r"^[^\w\n]*verdict[^\w\n]*?[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_DRESS = " \t\r\"'“”‘’*_`[]()（）<>.。!！"
"""What models put around a word without meaning anything by it."""


def last_verdict(reply: str, words: Container[str]) -> str | None:
    """The word of the last line "VERDICT: word" if it is on the list; a bare word will do if it is all there is."""
    lines = _LINE.findall(reply)
    word = (lines[-1] if lines else reply).strip().strip(_DRESS).lower()
    return word if word in words else None
