"""Feeds, sitemaps and lists, good and bad."""

from __future__ import annotations

import gzip

import pytest

from ragbed.builder.web.links import Link, read_links

RSS = """<?xml version="1.0" encoding="gb2312"?><rss version="2.0"><channel><title>新闻</title>
<item><title>桥梁开放</title><link>/news/1</link><pubDate>Tue, 03 Nov 2026 08:00:00 GMT</pubDate></item>
<item><title>没有链接</title></item>
<item><title>日期不对</title><link>http://a.test/2</link><pubDate>昨天</pubDate></item></channel></rss>""".encode(
    "gb2312"
)
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><entry><title>Bridge opens</title>
<link href="http://a.test/1"/><published>2026-11-03T23:30:00+08:00</published></entry></feed>"""
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><!-- made by hand -->
<url><loc> http://a.test/1 </loc><lastmod>2026-11-04</lastmod><news:news><news:title>Bridge</news:title>
<news:publication_date>2026-11-03T08:00:00Z</news:publication_date></news:news></url>
<url><loc>http://a.test/2</loc></url></urlset>"""
PICTURED = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:i="http://a.test/image"
 xmlns:n="http://a.test/news" xmlns:v="http://a.test/video"><url><loc>http://a.test/1</loc>
<n:news><n:title>Bridge</n:title><n:publication_date>2026-11-03</n:publication_date></n:news>
<i:image><i:loc>http://a.test/1.jpg</i:loc><i:title>Photo</i:title></i:image>
<v:video><v:publication_date>2020-01-01</v:publication_date></v:video></url></urlset>"""
TITLES = b"""<rss version="2.0"><channel><item><title><![CDATA[Mayor&#8217;s <i>plan</i> &amp; ours]]></title>
<link>http://a.test/1</link></item><item><title>A &lt; B</title><link>http://a.test/2</link></item></channel></rss>"""
INDEX = b"""<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>http://a.test/one.xml.gz</loc></sitemap></sitemapindex>"""
LISTED = "# mine\n\nhttp://a.test/1\n  http://a.test/2  comment\n".encode("utf-8-sig")

GOOD = {
    "RSS in GB2312": (
        RSS,
        [
            Link(url="http://a.test/news/1", title="桥梁开放", date="2026-11-03"),
            Link(url="", title="没有链接"),
            Link(url="http://a.test/2", title="日期不对"),
        ],
    ),
    "Atom": (ATOM, [Link(url="http://a.test/1", title="Bridge opens", date="2026-11-03")]),
    "a sitemap": (
        SITEMAP,
        [Link(url="http://a.test/1", title="Bridge", date="2026-11-03"), Link(url="http://a.test/2")],
    ),
    "a sitemap with pictures and videos": (PICTURED, [Link(url="http://a.test/1", title="Bridge", date="2026-11-03")]),
    "titles in HTML and in plain text": (
        TITLES,
        [Link(url="http://a.test/1", title="Mayor’s plan & ours"), Link(url="http://a.test/2", title="A < B")],
    ),
    "a packed sitemap of sitemaps": (gzip.compress(INDEX), [Link(url="http://a.test/one.xml.gz", is_list=True)]),
    "lines": (LISTED, [Link(url="http://a.test/1"), Link(url="http://a.test/2")]),
    "a sitemap that is cut": (SITEMAP[:-40], [Link(url="http://a.test/1", title="Bridge", date="2026-11-03")]),
}


@pytest.mark.parametrize(("body", "links"), GOOD.values(), ids=GOOD)
def test_addresses_are_found_with_title_and_date(body: bytes, links: list[Link]) -> None:
    assert read_links(body, "", "http://a.test/feed")[: len(links)] == links


BAD = {
    "a page": b"<!doctype html><p>no feed",
    "nothing": b"",
    "a feed without entries": b"<rss><channel></channel></rss>",
    "a sitemap without entries": b"<urlset></urlset>",
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_what_is_no_list_is_named(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"is not a feed|the list has no entries"):
        read_links(body, "", "http://a.test/feed")


def test_a_packed_list_is_read_completely_or_refused() -> None:
    lines = [b"http://a.test/1\n", b"http://a.test/2\n"]
    packed = b"".join(map(gzip.compress, lines))
    assert [link.url for link in read_links(packed, "", "")] == ["http://a.test/1", "http://a.test/2"]
    for cut in (packed[:-9], gzip.compress(lines[0])[:-9], b"\x1f\x8b"):
        with pytest.raises(ValueError, match="incomplete or damaged"):
            read_links(cut, "", "")
    bomb = gzip.compress(b"<urlset><url><loc>http://a.test/1</loc></url>" + b" " * (64 << 20), 1)
    with pytest.raises(ValueError, match="larger than 20,971,520 bytes"):
        read_links(bomb, "", "")
