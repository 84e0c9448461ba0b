"""Parse the verdict in a model's response: one word from a list, or None if the verdict is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Container

import msgspec

from ragbed.errors import MALFORMED_JSON

# The rest of the line is part of the match, so that "VERDICT: yes or no" is not a verdict. A line that starts with ">"
# or "|" is treated as a quotation: the text to judge is shown with "|" before each line.
_LINE = re.compile(r"^(?![ \t]*[>|])[^\w\n]*verdict[^\w\n]*?[:：](.*)$", re.IGNORECASE | re.MULTILINE)
_BLOCK = re.compile(r"^[ \t]*(```|~~~)[^`\n]*$(.*?)(?:^[ \t]*\1[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL)
_DECORATION = " \t\r\"'“”‘’*_`[]()（）<>.。!！"  # characters to strip from both ends of a verdict


class _JsonVerdict(msgspec.Struct):
    verdict: str


def find_verdict(reply: str, words: Container[str]) -> str | None:
    """Return the word in the "VERDICT: word" lines, or None if the lines disagree or the word is not in the list.

    Quoted lines and code blocks are ignored, because they may repeat the judged text. A code block that contains the
    entire response is not ignored. A response that consists only of the word is also accepted, and so is a JSON object
    with a `verdict` field.
    """
    text = reply.strip()
    block = _BLOCK.match(text)
    text = block[2] if block and block.end() == len(text) else _BLOCK.sub("", text)
    text = _verdict_field(text.strip()) or text
    candidates = [match[1] for match in _LINE.finditer(text)] or [text]
    found = {candidate.strip().strip(_DECORATION).lower() for candidate in candidates}
    word = found.pop()
    return word if not found and word in words else None


def _verdict_field(text: str) -> str | None:
    """Return the `verdict` field of a JSON object, or None if the text is not an object with this field."""
    if not text.startswith("{"):
        return None
    try:
        return msgspec.json.decode(text, type=_JsonVerdict).verdict
    except MALFORMED_JSON:
        return None
