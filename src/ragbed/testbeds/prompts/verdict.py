"""Read the verdict that a model was asked for: one word of a closed list, or nothing where it is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Container

# All that follows the word on its line is taken along, so that "VERDICT: yes or no" is no verdict. A line that begins
# with ">" or "|" is a quotation: "|" marks the lines that a judge is shown.
_LINE = re.compile(r"^(?![ \t]*[>|])[^\w\n]*verdict[^\w\n]*?[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*(```|~~~)[^`\n]*$(.*?)(?:^[ \t]*\1[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL)
"""A code block, to its end or that of the text."""
_DRESS = " \t\r\"'“”‘’*_`[]()（）<>.。!！"
"""What models put around a word without meaning anything by it."""


def find_verdict(reply: str, words: Container[str]) -> str | None:
    """Return the word of the lines "VERDICT: word", or None where they disagree or the word is not on the list.

    Quoted lines and code blocks do not count, for they may repeat the text that is judged; a block around the whole
    reply does. A bare word will do if it is all there is.
    """
    text = reply.strip()
    block = _BLOCK.match(text)
    text = block[2] if block and block.end() == len(text) else _BLOCK.sub("", text)
    found = {_bare(match[1]) for match in _LINE.finditer(text)} or {_bare(text)}
    word = found.pop()
    return word if not found and word in words else None


def _bare(text: str) -> str:
    return text.strip().strip(_DRESS).lower()
