"""Parse a generator's response: JSON, or lines such as `Question: …` in English or Chinese, ignoring markup."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON

# The JSON schema of a response with questions, for servers that can enforce a schema.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("sentence", "answer", "question")},
                "required": ["sentence", "answer", "question"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}
_NAMES = {
    "sentence": "sentence",
    "question": "question",
    "answer": "answer",
    "wrong answer": "fake",
    "原句": "sentence",
    "问题": "question",
    "答案": "answer",
    "错误答案": "fake",
}
_LINE = re.compile(
    rf"^[\s>#*_\-\d.、)）]*({'|'.join(_NAMES)})(?:\s*\d+)?[\s*_]*[:：][\s*_]*(.*?)[\s*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_OBJECT = re.compile(r"\{[^{}]*\}")
_QUOTES = ('""', "''", "“”", "‘’", "「」", "``")
_NOTHING = frozenset({"", "none", "n/a", "no", "unknown", "-", "无", "没有", "不详", "未知", "暂无"})


def read_blocks(reply: str, alone: str = "") -> list[dict[str, str]] | None:
    """Return the fields in a response as blocks, or None if the response has neither JSON nor lines with fields.

    An empty list means that the model found nothing to ask. In lines, a repeated field starts a new block.

    Args:
        reply: The response.
        alone: The requested field, if there is only one. Its value may be a single-line question without a field name.
    """
    text = _THOUGHT.sub("", reply).strip()
    line = _unquote(text)
    if alone and line.endswith(("?", "？")) and "\n" not in line and not _LINE.match(line):
        return [{alone: line}]
    if text and is_nothing(text):
        return []
    if (found := _read_json(text)) is not None:
        return found
    blocks: list[dict[str, str]] = []
    for name, value in _LINE.findall(text):
        field = _NAMES[name.lower()]
        if not blocks or field in blocks[-1]:
            blocks.append({})
        blocks[-1][field] = _unquote(value)
    return blocks or None


def is_nothing(value: str) -> bool:
    """Check whether a field is empty or states that there is no value."""
    return value.strip().strip(".。[]()（）").lower() in _NOTHING


def _read_json(text: str) -> list[dict[str, str]] | None:
    """Return the objects in a JSON response; if it is truncated or surrounded by text, return the complete objects."""
    if "{" not in text:
        return None
    try:
        read = msgspec.json.decode(text[text.index("{") : text.rindex("}") + 1])
        listed = read.get("questions", [read])
    except (*MALFORMED_JSON, ValueError, AttributeError):
        listed = [_decode_object(found) for found in _OBJECT.findall(text)] or None
    blocks = [_known_fields(block) for block in listed if isinstance(block, dict)] if isinstance(listed, list) else []
    blocks = [block for block in blocks if block]
    return blocks if blocks or listed == [] else None


def _decode_object(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except MALFORMED_JSON:
        return None


def _known_fields(block: dict[Any, Any]) -> dict[str, str]:
    named = ((_NAMES.get(str(name).lower(), ""), value) for name, value in block.items())
    return {name: " ".join(str(value).split()) for name, value in named if name and isinstance(value, str | int)}


def _unquote(value: str) -> str:
    """Remove the quotation marks that some models put around every value."""
    value = value.strip()
    inner = value[1:-1]
    is_quoted = value[:1] + value[-1:] in _QUOTES and not any(mark in inner for mark in (value[0], value[-1]))
    return inner.strip() if len(value) > 2 and is_quoted else value
