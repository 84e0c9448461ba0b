"""The site builds strictly and offline in both languages, and loads nothing from other hosts."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser

from scripts.build_site import build_site
from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    for configuration in ROOT.glob("mkdocs*.yml"):
        shutil.copy(configuration, folder)
    return build_site(folder)


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[There](there.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: broken\n")
    with pytest.raises(SystemExit, match="page does not exist"):
        build_site(tmp_path)


@pytest.mark.parametrize(
    ("name", "lang", "other"),
    [
        ("index.html", "en", "zh/index.html"),
        ("how-to/ci.html", "en", "../zh/ci.html"),
        ("zh/ci.html", "zh", "../how-to/ci.html"),
        ("explanation/scoring.html", "en", "../zh/index.html"),
    ],
)
def test_a_page_has_labels_of_its_language_and_links_to_the_other(name: str, lang: str, other: str, site: Path) -> None:
    text = (site / name).read_text("utf-8")
    assert f'<html lang="{lang}"' in text
    assert ("搜索" in text) == (lang == "zh")
    target = "en" if lang == "zh" else "zh"
    assert f'<a href="{other}" hreflang="{target}"' in text


class _Links(HTMLParser):
    """Collects the links and the loaded resources of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if told.get("id"):
            self.anchors.add(str(told["id"]))
        if tag == "a" and told.get("href"):
            self.links.append(str(told["href"]))
        elif tag == "link" and told.get("rel") != "canonical" and told.get("href"):
            self.loads.append(str(told["href"]))
        elif told.get("src"):
            self.loads.append(str(told["src"]))


def _read(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text("utf-8"))
    return links


def test_every_link_has_a_target(site: Path) -> None:
    lost = [
        f"{page.relative_to(site)}: {link}"
        for page in sorted(site.rglob("*.html"))
        if page.name != "404.html"  # its links are relative to the root of a server
        for link in (*_read(page).links, *_read(page).loads)
        if not urlsplit(link).scheme and not (page.parent / unquote(urlsplit(link).path)).exists()
    ]
    assert lost == []


def test_every_anchor_that_a_link_names_exists(site: Path) -> None:
    pages = {page.resolve(): _read(page) for page in site.rglob("*.html") if page.name != "404.html"}
    missing = [
        f"{page.name}: {link}"
        for page, links in pages.items()
        for link in links.links
        if (parts := urlsplit(link)).fragment and not parts.scheme
        if (target := (page.parent / unquote(parts.path)).resolve() if parts.path else page) in pages
        if unquote(parts.fragment) not in pages[target].anchors
    ]
    assert missing == []


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert [link for link in _read(page).loads if urlsplit(link).netloc] == [], page
    for sheet in site.rglob("*.css"):
        assert re.findall(r"@import|url\([\"']?(?:https?:)?//", sheet.read_text("utf-8")) == [], sheet


@pytest.mark.parametrize("name", ["index.html", "reference/cli.html", "zh/index.html"])
def test_a_page_opens_from_disk_without_requests(name: str, site: Path, browser: Browser) -> None:
    page = browser.new_page()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((site / name).as_uri())
    assert page.locator("h1").first.inner_text()
    assert [url for url in requested if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()


def test_the_search_finds_pages_when_opened_from_the_disk(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "reference/cli.html").as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.get_by_placeholder("Search").first.fill("counterfactual")
    page.get_by_text(re.compile(r"^\d+ results$")).first.wait_for(timeout=15_000)
    found = page.locator("a[href*='.html']", has_text="ounterfactual").first
    assert urlsplit(str(found.evaluate("link => link.href"))).scheme == "file"
    page.close()
