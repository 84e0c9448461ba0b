"""Determine a document's type from its Content-Type header, or from its first bytes if the header is not specific."""

from __future__ import annotations

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
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
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


def has_type(content_type: str) -> bool:
    """Check whether a Content-Type header names a specific type."""
    return kind_of(content_type) not in _UNKNOWN


def kind_of(content_type: str, body: bytes | None = None) -> str:
    """Return a document's type based on its Content-Type header, or on its bytes if the header is not specific."""
    kind = content_type.partition(";")[0].strip().lower()
    return _SAME.get(kind, kind) if body is None or kind not in _UNKNOWN else _sniff(body)


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
