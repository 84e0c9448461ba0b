"""Sources of every kind, served and read for real: articles, and a reason for whatever is none."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.articles import collect_articles, make_articles
from ragbed.builder.build_context import Build
from ragbed.builder.recipe import read_recipe
from ragbed.builder.sources import ArticleSource, DocumentFetcher
from ragbed.builder.web.client import AddressFilter, FetchLimits
from ragbed.builder.web.documents import READERS, ReadJob
from ragbed.builder.web.extract import Extractor
from ragbed.builder.web.fetch import Fetcher
from ragbed.builder.web.formats import MARKDOWN
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError, UnknownName, UsageError
from ragbed.schema import Article, Reject
from tests.servers.faulty_site import FaultServer, page, redirect, running_server, status

TODAY = date(2026, 11, 15)
ENGLISH = "The council opened the footbridge on Tuesday, and the mayor thanked the workers for their patience. " * 4
CHINESE = "新建的步行桥于周二正式开放，市长感谢了工人们的耐心和努力，居民们表示这座桥的建成非常方便。" * 3
FRENCH = "La ville a ouvert mardi la nouvelle passerelle, avec deux mois de retard sur le calendrier prévu. " * 4


def html(text: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head><title>Bridge</title>{head}</head><body><p>{text}</p></body></html>".encode()


@pytest.fixture(scope="module")
def web() -> Iterator[FaultServer]:
    with running_server() as server:
        yield server


def collect(folder: Path, *sources: ArticleSource) -> tuple[list[Article], list[Reject]]:
    async def run() -> list[Article | Reject]:
        manners = FetchLimits(per_host_s=0, tries=1)
        with PageCache(folder / "kept.db") as keep:
            async with Fetcher(keep, manners, gate=AddressFilter(loopback=True)) as fetcher, Extractor(1) as extractor:
                return [
                    one async for one in collect_articles(sources, DocumentFetcher(fetcher, extractor.extract), TODAY)
                ]

    found = asyncio.run(run())
    return [one for one in found if isinstance(one, Article)], [one for one in found if isinstance(one, Reject)]


def outcomes(rejects: Sequence[Reject]) -> dict[str, str]:
    return {one.what.rsplit("/", 1)[-1]: one.outcome for one in rejects}


def test_a_feed_leads_to_articles_and_every_entry_has_an_outcome(web: FaultServer, tmp_path: Path) -> None:
    links = ["good", "moved", "gone", "french", "picture", "short", "good", "copy"]
    items = "".join(f"<item><title>T {link}</title><link>/{link}</link></item>" for link in links)
    lie = "<item><title>Liar</title><link>/liar</link><pubDate>Tue, 03 Nov 2099 08:00:00 GMT</pubDate></item><item/>"
    web.scripts = {
        "robots.txt": [status(404)],
        "feed": [page(f"<rss><channel>{items}{lie}</channel></rss>".encode(), "text/xml")],
        "good": [page(html(ENGLISH, "<meta name='date' content='2026-11-03'>"))],
        "moved": [redirect("/there")],
        "there": [page(html(CHINESE))],
        "gone": [status(404)],
        "french": [page(html(FRENCH))],
        "picture": [page(b"GIF89a", "image/gif")],
        "short": [page(html("The council met on Tuesday."))],
        "copy": [page(html(ENGLISH) + b" ")],
        "liar": [page(html("Officials said that the new road will be of use to many. " * 5))],
    }
    articles, rejects = collect(tmp_path, ArticleSource("feed", web.url("feed")))
    assert [(one.url, one.title, one.lang, one.date) for one in articles] == [
        (web.url("good"), "T good", "en", "2026-11-03"),
        (web.url("there"), "T moved", "zh", None),
        (web.url("liar"), "Liar", "en", None),
    ]
    assert all(one.source == web.url("feed") and len(one.sha256) == 64 for one in articles)
    assert sorted(one.outcome for one in rejects) == sorted(
        ["status", "language", "type", "short", "duplicate", "duplicate", "address"]
    )
    assert outcomes(rejects)["copy"] == "duplicate"
    assert len(articles) + len(rejects) == len(links) + 2


def test_a_sitemap_of_sitemaps_is_followed_and_a_circle_is_left(web: FaultServer, tmp_path: Path) -> None:
    index = "<sitemapindex><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap></sitemapindex>"
    urls = f"<urlset><url><loc>{web.url('good')}</loc></url></urlset>"
    web.scripts = {
        "robots.txt": [status(404)],
        "index.xml": [page(index.format(web.url("one.xml"), web.url("index.xml")).encode(), "application/xml")],
        "one.xml": [page(urls.encode(), "application/xml")],
        "good": [page(html(ENGLISH))],
    }
    articles, rejects = collect(tmp_path, ArticleSource("sitemap", web.url("index.xml"), licence="CC BY 4.0"))
    assert [(one.url, one.licence) for one in articles] == [(web.url("good"), "CC BY 4.0")]
    assert outcomes(rejects) == {"index.xml": "list"}


def test_a_list_of_the_web_cannot_name_files_of_this_machine(web: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text(web.url("secret"))
    index = f"<sitemapindex><sitemap><loc>file://{tmp_path}/own.txt</loc></sitemap></sitemapindex>"
    web.scripts = {"robots.txt": [status(404)], "files.xml": [page(index.encode(), "application/xml")]}
    articles, rejects = collect(tmp_path, ArticleSource("sitemap", web.url("files.xml")))
    assert not articles
    assert [one.outcome for one in rejects] == ["list"]


def test_a_list_that_cannot_be_had_is_rejected_and_the_next_source_is_read(web: FaultServer, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(f"{web.url('good')}\n")
    web.scripts = {
        "robots.txt": [status(404)],
        "feed": [status(503)],
        "good": [page(html(ENGLISH))],
        "no": [page(html("x"))],
    }
    mine = ArticleSource("urls", str(tmp_path / "mine.txt"))
    articles, rejects = collect(
        tmp_path, ArticleSource("feed", web.url("feed")), ArticleSource("feed", web.url("no")), mine, mine
    )
    assert [one.url for one in articles] == [web.url("good")]
    assert outcomes(rejects) == {"feed": "server", "no": "broken", "good": "duplicate"}


def test_files_whose_names_are_not_utf_8_are_read_and_shown_by_escapes(tmp_path: Path) -> None:
    root, name = tmp_path / "docs", os.fsdecode("新闻".encode("gbk"))
    root.mkdir()
    (root / f"{name}.txt").write_text(ENGLISH)
    (root / f"{name}.{name}").write_text(ENGLISH)
    articles, rejects = collect(tmp_path, ArticleSource("folder", str(root)))
    shown = r"\udcd0\udcc2\udcce\udcc5"
    assert [one.url for one in articles] == [f"{shown}.txt"]
    assert [(one.what, one.outcome) for one in rejects] == [(f"{root}/{shown}.{shown}", "type")]
    assert msgspec.json.encode([articles, rejects])


def test_a_folder_is_read_to_its_depths(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    (root / "inner").mkdir(parents=True)
    (root / "a.html").write_bytes(html(ENGLISH))
    (root / "inner" / "b.md").write_text(f"---\ntitle: 桥\ndate: 2026-11-01\n---\n{CHINESE}")
    (root / "c.TXT").write_bytes(("第二篇。" + CHINESE).encode("gbk"))
    (root / "d.xyz").write_text("?")
    (root / "e.pdf").write_text("no pdf")
    (root / "f.txt").symlink_to("/etc/hostname")
    (root / ".hidden.txt").write_text(ENGLISH)
    (root / "loop").symlink_to(".")
    articles, rejects = collect(tmp_path, ArticleSource("folder", str(root)))
    assert [(one.url, one.lang, one.date) for one in articles] == [
        ("a.html", "en", None),
        ("c.TXT", "zh", None),
        ("inner/b.md", "zh", "2026-11-01"),
    ]
    assert outcomes(rejects) == {"d.xyz": "type", "e.pdf": "broken", "f.txt": "outside", "loop": "link"}


def test_builds_inside_the_folder_of_documents_are_not_read(tmp_path: Path) -> None:
    root = tmp_path / "docs"
    build, reviewed = root / "builds" / "mine", root / "reviewed"
    for folder in (build / "steps", reviewed / "review"):
        folder.mkdir(parents=True)
    for place in (root / "a.html", build / "quality.html", reviewed / "quality.html"):
        place.write_bytes(html(ENGLISH + place.parent.name))
    (build / "build.lock").touch()
    (reviewed / "review" / "reviewed.json").write_text("{}")
    articles, rejects = collect(tmp_path, ArticleSource("folder", str(root)))
    assert ([one.url for one in articles], rejects) == (["a.html"], [])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('---\ntitle: "The mill: a walk"\n---\nText.', "The mill: a walk"),
        ("--- \ntitle: The mill\n---  \nText.", "The mill"),
        ("---\ntitle: The mill\n...\nText.", "The mill"),
        ("---\n# Notes\n\nText.\n\n...\n\nMore.", "Notes"),
        ('# Talk: "The village under the lake"\n\nText.', 'Talk: "The village under the lake"'),
        ("# Readers' questions about readers'\n\nText.", "Readers' questions about readers'"),
    ],
)
def test_a_markdown_title_keeps_its_quotation_marks(text: str, title: str) -> None:
    assert READERS[MARKDOWN](ReadJob(kind=MARKDOWN, body=text.encode())).title == title


def test_records_are_read_line_by_line(tmp_path: Path) -> None:
    lines = [
        json.dumps({"text": ENGLISH, "title": "Bridge", "date": "2026-11-03T08:00:00Z", "licence": "CC0", "more": 1}),
        json.dumps({"text": CHINESE, "url": "http://a.test/"}),
        json.dumps({"title": "no text"}),
        "no JSON",
    ]
    path = tmp_path / "news.jsonl"
    path.write_text("\n".join(lines))
    articles, rejects = collect(tmp_path, ArticleSource("jsonl", str(path)))
    assert [(one.url, one.title, one.date, one.licence) for one in articles] == [
        ("news.jsonl:1", "Bridge", "2026-11-03", "CC0"),
        ("http://a.test/", "", None, None),
    ]
    assert outcomes(rejects) == {"news.jsonl:3": "broken", "news.jsonl:4": "broken"}
    assert "field `text`" in rejects[0].reason


@pytest.mark.parametrize(
    ("written", "day"),
    {
        "March 3, 2024": "2024-03-03",
        "2024/03/03": "2024-03-03",
        "20240303": "2024-03-03",
        "20240303T080000Z": "2024-03-03",
        "Sun, 03 Mar 2024 08:00:00 GMT": "2024-03-03",
        "2024-02-31": None,
        "2099/03/03": None,
        "1712011234": None,  # seconds since 1970, not a day in 1712
    }.items(),
)
def test_dates_of_records_and_front_matter_are_read_in_common_forms(
    written: str, day: str | None, tmp_path: Path
) -> None:
    (tmp_path / "news.jsonl").write_text(json.dumps({"text": ENGLISH, "date": written}))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(f"---\ntitle: Bridge\ndate: '{written}'\n---\n\nNew. {ENGLISH}\n")
    sources = [ArticleSource("jsonl", str(tmp_path / "news.jsonl")), ArticleSource("folder", str(tmp_path / "docs"))]
    articles, rejects = collect(tmp_path, *sources)
    assert ([article.date for article in articles], rejects) == ([day, day], [])


def test_files_of_several_sources_with_the_same_relative_name_are_all_kept(tmp_path: Path) -> None:
    texts = [f"Report {number}. {ENGLISH}" for number in range(4)]
    for folder, text in zip(("one", "two"), texts[:2], strict=True):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "page1.md").write_text(text)
        (tmp_path / folder / "photo.raw").write_text("?")
    for folder, text in zip(("one", "two"), texts[2:], strict=True):
        (tmp_path / folder / ".docs.jsonl").write_text(json.dumps({"text": text}))

    def read(**sources: str) -> tuple[list[str], list[str]]:
        tables = "".join(f'[[sources]]\nkind = "{kind[:-1]}"\nplace = "{place}"\n' for kind, place in sources.items())
        (tmp_path / "mine.toml").write_text(f'name = "mine"\ngenerator = "m/x"\n{tables}')
        recipe = read_recipe(tmp_path / "mine.toml")
        found = list(make_articles(Build(tmp_path / "out", recipe, TODAY, lambda _: {}, home=tmp_path)))
        rejected = [one.what for one in found if isinstance(one, Reject)]
        return [one.url for one in found if isinstance(one, Article)], rejected

    urls, rejected = read(folder1="one", folder2="./two", jsonl1="one/.docs.jsonl", jsonl2="two/.docs.jsonl")
    assert urls == ["one/page1.md", "two/page1.md", "one/.docs.jsonl:1", "two/.docs.jsonl:1"]
    assert rejected == ["one/photo.raw", "two/photo.raw"]
    assert read(folder1="one", jsonl1="one/.docs.jsonl") == (["page1.md", ".docs.jsonl:1"], ["one/photo.raw"])


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder"):
        collect(tmp_path, ArticleSource("folder", str(tmp_path / "nowhere")))
    with pytest.raises(RagbedError, match=r"nowhere cannot be read: No such file or directory. Check the path"):
        collect(tmp_path, ArticleSource("urls", str(tmp_path / "nowhere")))
    with pytest.raises(UnknownName, match=r"unknown kind of source 'feeds'. Did you mean 'feed'"):
        collect(tmp_path, ArticleSource("feeds", "http://a.test/"))
