"""Determine the type and the charset of a document.

The type is that of the Content-Type header, or of the first bytes if the header is not specific. To decode the bytes,
byte order marks and UTF-8 are tried first, then the declared charset, then the likeliest one, because servers and pages
often declare the wrong charset, especially for GBK. Bytes that are valid UTF-8 are nearly always UTF-8, and multi-byte
charsets reject most bytes of other charsets. Single-byte charsets accept any bytes, so declaring one proves nothing.
`charset-normalizer` is not used because it ignores the Content-Type header and takes about 12 times as long.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

HTML = "text/html"
TEXT = "text/plain"
MARKDOWN = "text/markdown"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XML = "application/xml"
GZIP = "application/gzip"

KINDS = frozenset({HTML, TEXT, MARKDOWN, PDF, DOCX})  # types of documents from which text is extracted
LISTS = frozenset({XML, HTML, TEXT, GZIP})  # types of feeds, sitemaps and URL lists; many are served as text or HTML

_SAME = {
    "application/xhtml+xml": HTML,
    "text/xml": XML,
    "application/rss+xml": XML,
    "application/atom+xml": XML,
    "application/rdf+xml": XML,
    "text/x-markdown": MARKDOWN,
    "application/x-pdf": PDF,
    "application/x-gzip": GZIP,
}
UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
SUFFIXES = {
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".txt": TEXT,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".pdf": PDF,
    ".docx": DOCX,
}
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
# Declared charsets and the supersets used to decode them, as in browsers.
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs"}
_MANY_BYTES = frozenset({"utf-8", "gb18030", "big5hkscs", "hz", "utf-16", "utf-16-le", "utf-16-be"})
_BROKEN = 0.005  # maximum share of invalid characters; truncated pages have a few, and wrong charsets produce many
_FREQUENT = re.compile("[的一是不了在有人我他这這中大来來上个個国國和為为日月年]")  # a tenth or more of Chinese texts
_LIKELY = 0.04  # minimum share of these among the characters beyond ASCII


def kind_of(content_type: str, body: bytes | None = None) -> str:
    """Return a document's type based on its Content-Type header, or on its bytes if the header is not specific."""
    kind = content_type.partition(";")[0].strip().lower()
    return _SAME.get(kind, kind) if body is None or kind not in UNKNOWN else _sniff(body)


def _sniff(body: bytes) -> str:
    head = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for magic, kind in ((b"%pdf-", PDF), (b"\x1f\x8b", GZIP), (b"pk\x03\x04", DOCX)):
        if head.startswith(magic):
            return kind
    if head.startswith((b"<?xml", b"<rss", b"<feed", b"<urlset", b"<sitemapindex")) and b"<html" not in head:
        return XML
    if head.startswith(b"<"):
        return HTML
    return "application/octet-stream" if b"\0" in body[:512] else TEXT


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
    return len(_FREQUENT.findall(decoded.text)) / max(1, beyond)
