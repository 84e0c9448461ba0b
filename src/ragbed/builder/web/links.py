"""Extract the URLs from feeds, sitemaps and plain lists, detecting the format. This module runs in a child process."""

# ruff: noqa: PLC0415  # each library is imported when the first list that needs it is read

from __future__ import annotations

import gzip
import io
import re
import time
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from msgspec import Struct

from ragbed.builder.web import MAX_PAGE_BYTES
from ragbed.builder.web.formats import decode_page

_MAGIC = b"\x1f\x8b"
_HEAD = 4096
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Link(Struct, frozen=True, kw_only=True):
    """An entry in a feed, sitemap or list of URLs."""

    url: str  # empty if the entry has no URL
    title: str = ""
    date: str | None = None  # ISO date of publication
    is_list: bool = False  # whether the entry is itself a list, as in a sitemap index


def read_links(body: bytes, content_type: str, url: str) -> list[Link]:
    """Return the entries in a feed, sitemap or list of URLs in order; relative URLs are resolved against the given URL.

    Raises:
        ValueError: The list cannot be read completely, or it has no entries.
    """
    if body.startswith(_MAGIC):
        body = _decompress(body)
    head = body[:_HEAD].lower()
    if b"<urlset" in head or b"<sitemapindex" in head:
        found = list(_read_sitemap(body, url))
    elif b"<rss" in head or b"<feed" in head or b"<rdf" in head:
        found = list(_read_feed(body, url))
    elif b"<" not in head:
        lines = filter(None, map(str.strip, decode_page(body, content_type).text.splitlines()))
        found = [Link(url=line.split()[0]) for line in lines if not line.startswith("#")]
    else:
        raise ValueError("the file is not a feed, a sitemap or a list of URLs")
    if not found:
        raise ValueError("the list has no entries")
    return found


def _decompress(body: bytes) -> bytes:
    try:
        with gzip.open(io.BytesIO(body)) as source:
            content = source.read(MAX_PAGE_BYTES + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError("the compressed list is incomplete or damaged") from error
    if len(content) > MAX_PAGE_BYTES:
        raise ValueError(f"the list is larger than {MAX_PAGE_BYTES:,} bytes after decompression")
    return content


def _read_sitemap(body: bytes, url: str) -> Iterator[Link]:
    from lxml import etree

    tree = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
    for entry in [] if tree is None else tree:
        if not isinstance(entry.tag, str):  # skip comments
            continue
        # Images and videos in an entry have URLs, titles and dates of their own, which are not those of the page.
        nodes = (*entry.iterfind("{*}news/*"), *entry.iterfind("*"))
        fields = {etree.QName(node).localname: (node.text or "").strip() for node in nodes}
        # `lastmod` is not used, because it is the date of the last change, not of publication.
        day = _DAY.search(fields.get("publication_date", ""))
        yield Link(
            url=urljoin(url, fields["loc"]) if fields.get("loc") else "",
            title=fields.get("title", ""),
            date=day[0] if day else None,
            is_list=etree.QName(entry).localname == "sitemap",
        )


def _read_feed(body: bytes, url: str) -> Iterator[Link]:
    import feedparser

    feed = feedparser.parse(io.BytesIO(body), response_headers={"content-location": url}, sanitize_html=False)
    for entry in feed.entries:
        # feedparser's own `get` returns `published` in place of a missing `updated`, and warns about it.
        when = dict.get(entry, "published_parsed") or dict.get(entry, "updated_parsed")
        yield Link(
            url=urljoin(url, entry["link"]) if entry.get("link") else "",
            title=_title_of(entry),
            date=time.strftime("%Y-%m-%d", when) if when else None,
        )


def _title_of(entry: Any) -> str:  # noqa: ANN401 - feedparser has no types
    """Return the title of a feed's entry as plain text; it may be HTML."""
    from lxml import html

    title: str = entry.get("title", "")
    is_html = bool(title) and entry["title_detail"]["type"] in ("text/html", "application/xhtml+xml")
    return str(html.fragment_fromstring(title, create_parent="p").text_content()) if is_html else title
