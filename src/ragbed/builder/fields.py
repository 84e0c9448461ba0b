"""Parse fields such as `Question: …` in a generator's English or Chinese response, ignoring markup."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragbed.schema import Lang

_NAMES = {
    "related event": "event",
    "event date": "date",
    "question": "question",
    "key information": "answer",
    "also written": "aliases",
    "wrong answer": "fake",
    "相关事件": "event",
    "事件日期": "date",
    "问题": "question",
    "关键信息": "answer",
    "其他写法": "aliases",
    "错误答案": "fake",
}
_LINE = re.compile(
    rf"^[\s>#*_\-\d.、)）]*({'|'.join(_NAMES)})(?:\s*\d+)?[\s*_]*[:：][\s*_]*(.*?)[\s*_]*$",
    re.IGNORECASE | re.MULTILINE,
)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_QUOTES = ('""', "''", "“”", "‘’", "「」", "``")
_NOTHING = frozenset({"", "none", "n/a", "no", "unknown", "-", "无", "没有", "不详", "未知", "暂无"})


def read_blocks(reply: str, alone: str = "") -> list[dict[str, str]]:
    """Return the fields in a response as blocks; a repeated field starts a new block.

    Args:
        reply: The response.
        alone: The requested field, if there is only one. Its value may be a single-line question without a field name.
    """
    text = _THOUGHT.sub("", reply).strip()
    line = _unquote(text)
    if alone and line.endswith(("?", "？")) and "\n" not in line and not _LINE.match(line):
        return [{alone: line}]
    blocks: list[dict[str, str]] = []
    for name, value in _LINE.findall(text):
        field = _NAMES[name.lower()]
        if not blocks or field in blocks[-1]:
            blocks.append({})
        blocks[-1][field] = _unquote(value)
    return blocks


def write_block(block: Mapping[str, str], lang: Lang) -> str:
    """Format fields as lines, in the same format as a generator's response."""
    names = {field: name for name, field in _NAMES.items() if name.isascii() == (lang == "en")}
    colon = ": " if lang == "en" else "："
    return "\n".join(f"{names[field].capitalize()}{colon}{value}" for field, value in block.items() if field in names)


def is_nothing(value: str) -> bool:
    """Check whether a field is empty or states that there is no value."""
    return value.strip().strip(".。[]()（）").lower() in _NOTHING


def split_aliases(value: str) -> list[str]:
    """Return the aliases in a field."""
    parts = (_unquote(part) for part in re.split(r"\s*[|｜]\s*", value))
    return [part for part in parts if not is_nothing(part)]


def _unquote(value: str) -> str:
    """Remove the quotation marks that some models put around every value."""
    value = value.strip()
    inner = value[1:-1]
    is_quoted = value[:1] + value[-1:] in _QUOTES and not any(mark in inner for mark in (value[0], value[-1]))
    return inner.strip() if len(value) > 2 and is_quoted else value
