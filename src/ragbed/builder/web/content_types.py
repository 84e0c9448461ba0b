"""Kinds of documents: what the Content-Type says, or what the first bytes show where it says nothing."""

from __future__ import annotations

HTML = "text/html"
TEXT = "text/plain"
MARKDOWN = "text/markdown"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XML = "application/xml"
GZIP = "application/gzip"

KINDS = frozenset({HTML, TEXT, MARKDOWN, PDF, DOCX})
"""Documents with text to read."""
LISTS = frozenset({XML, HTML, TEXT, GZIP})
"""Documents with addresses in them: feeds and sitemaps, which are often called text or HTML."""

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
_UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
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
"""Of files."""


def is_told(content_type: str) -> bool:
    """Whether a Content-Type says anything."""
    return _bare(content_type) not in _UNTOLD


def kind_of(content_type: str, body: bytes | None = None) -> str:
    """The kind of a document by its Content-Type, or by its bytes where that says nothing."""
    if body is not None and not is_told(content_type):
        return _sniff(body)
    said = _bare(content_type)
    return _SAME.get(said, said)


def _bare(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _sniff(body: bytes) -> str:
    head = body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith(b"%pdf-"):
        return PDF
    if head.startswith(b"\x1f\x8b"):
        return GZIP
    if head.startswith(b"pk\x03\x04"):
        return DOCX
    if head.startswith((b"<?xml", b"<rss", b"<feed", b"<urlset", b"<sitemapindex")) and b"<html" not in head:
        return XML
    if head.startswith(b"<"):
        return HTML
    return "application/octet-stream" if b"\0" in body[:512] else TEXT
