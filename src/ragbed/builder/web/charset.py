"""Decode a page's bytes, trying byte order marks and UTF-8 first, then the declared charset, then the likeliest one.

Servers and pages often declare the wrong charset, especially for GBK. Bytes that are valid UTF-8 are nearly always
UTF-8, and multi-byte charsets reject most bytes of other charsets. Single-byte charsets accept any bytes, so declaring
one proves nothing. `charset-normalizer` is not used because it ignores the Content-Type header and takes about 12 times
as long.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # must precede UTF-16, whose byte order mark is a prefix of this one
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_META = re.compile(rb"<(?:meta[^>]*?|\?xml[^>]*?en)(?:charset|coding)\s*=\s*[\"']?\s*([\w:.-]+)", re.IGNORECASE)
_META_BYTES = 4096  # number of bytes to search for a charset; the standard says 1,024, but some pages declare it later
# Supersets that replace the declared charsets in decoding, as in browsers.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
_MANY_BYTES = frozenset(
    {"utf-8", "gb18030", "big5hkscs", "cp949", "cp932", "euc_jp", "hz", "utf-16", "utf-16-le", "utf-16-be"}
)
_BROKEN = 0.005  # maximum share of invalid characters; truncated pages have a few, the wrong charset produces many
# Characters that make up 12 to 20% of Chinese text, but are rare in text decoded with the wrong charset.
_FREQUENT = "的一是不了在有人我他这這中大来來上个個国國和为為日月年"
_LIKELY = 0.04


class Decoded(NamedTuple):
    """Decoded text with its charset and its share of invalid characters."""

    text: str
    charset: str
    broken: float


def decode_page(body: bytes, content_type: str = "") -> Decoded:
    """Decode a page that has the given Content-Type header."""
    for mark, charset in _BOMS.items():
        if body.startswith(mark):
            return _read(body[len(mark) :], charset)
    if b"\0" not in body:  # English text in UTF-16 is also valid UTF-8, but has a zero byte for every letter
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
    header, meta = _HEADER.search(content_type), _META.search(body[:_META_BYTES])
    for name in (header and header[1], meta and meta[1].decode("ascii", "replace")):
        with suppress(LookupError):
            if name:
                codec = codecs.lookup(name).name
                yield _WIDER.get(codec, codec)


def _read(body: bytes, charset: str) -> Decoded:
    try:
        text = body.decode(charset, "replace")
    except (LookupError, UnicodeError):  # some declared codecs, e.g. base64, do not produce text
        return Decoded("", charset, 1.0)
    return Decoded(text, charset, text.count("\ufffd") / max(1, len(text)))


def _chinese(decoded: Decoded) -> float:
    """Return the share of common Chinese characters among the non-ASCII characters."""
    beyond = len(decoded.text) - len(decoded.text.encode("ascii", "ignore"))
    return sum(map(decoded.text.count, _FREQUENT)) / max(1, beyond)
