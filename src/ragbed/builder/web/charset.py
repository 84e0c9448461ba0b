"""Bytes of a page to text: what the bytes prove first, what is declared second, what is likely last.

Servers and pages declare charsets wrongly, above all where GBK is about. Text in UTF-8 is hardly ever anything else
that happens to be well-formed, and charsets with two bytes a character refuse most of what is not theirs; those with
one byte take anything, so a declared one proves nothing.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_META = re.compile(rb"<(?:meta[^>]*?|\?xml[^>]*?en)(?:charset|coding)\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_META_BYTES = 4096
"""The standard says 1,024; pages with long heads put it later."""
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "euc_kr": "cp949", "shift_jis": "cp932"}
"""What is declared by the name of a subset is read as the whole, as browsers do."""
_MANY_BYTES = frozenset(
    {"utf-8", "gb18030", "big5hkscs", "cp949", "cp932", "euc_jp", "hz", "utf-16", "utf-16-le", "utf-16-be"}
)
_BROKEN = 0.005
"""Share of characters that may be unreadable: cut pages and pasted scraps have a few, a wrong charset has many."""
_FREQUENT = "的一是不了在有人我他这這中大来來上个個国國和为為日月年"
"""They make up 12 to 20 per cent of Chinese text, and hardly occur in bytes read as the wrong charset."""
_LIKELY = 0.04


class Decoded(NamedTuple):
    """A text, how it was read, and whether that may be trusted."""

    text: str
    charset: str
    broken: float
    """Share of characters that could not be read."""


def decode_page(body: bytes, content_type: str = "") -> Decoded:
    """The text of a page, given its bytes and its Content-Type header."""
    for mark, charset in _BOMS.items():
        if body.startswith(mark):
            return _read(body[len(mark) :], charset)
    if b"\0" not in body:  # UTF-16 of plain English is well-formed UTF-8, with a zero byte at every letter
        with suppress(UnicodeError):
            return Decoded(body.decode(), "utf-8", 0.0)
    declared = list(dict.fromkeys(_declared(body, content_type)))
    for charset in [*(name for name in declared if name in _MANY_BYTES), "utf-8"]:
        found = _read(body, charset)
        if found.broken <= _BROKEN:
            return found
    likely = max((_read(body, charset) for charset in ("gb18030", "big5hkscs")), key=_chinese)
    if _chinese(likely) >= _LIKELY and likely.broken <= _BROKEN:
        return likely
    return _read(body, next((name for name in declared if name not in _MANY_BYTES), "cp1252"))


def _declared(body: bytes, content_type: str) -> Iterator[str]:
    """Codecs by which the header and the page itself say to read it."""
    header, meta = _HEADER.search(content_type), _META.search(body[:_META_BYTES])
    for name in (header and header[1], meta and meta[1].decode("ascii", "replace")):
        if name:
            try:
                codec = codecs.lookup(name).name
            except LookupError:
                continue
            if codec in ("ascii", "iso8859-1", "latin-1"):  # as browsers do
                codec = "cp1252"
            yield _WIDER.get(codec, codec)


def _read(body: bytes, charset: str) -> Decoded:
    try:
        text = body.decode(charset, "replace")
    except (LookupError, UnicodeError):  # codecs for other things than text have names too
        return Decoded("", charset, 1.0)
    return Decoded(text, charset, text.count("\ufffd") / max(1, len(text)))


def _chinese(decoded: Decoded) -> float:
    """Share of frequent characters among those that are not ASCII."""
    beyond = len(decoded.text) - len(decoded.text.encode("ascii", "ignore"))
    return sum(map(decoded.text.count, _FREQUENT)) / max(1, beyond)
