"""The site: built strictly and offline, every page in the navigation, and nothing in it from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from playwright.sync_api import Browser

from tests.docs.blocks import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = _build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def _build(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [str(Path(sys.executable).with_name("zensical")), "build", "--clean", "--strict"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[There](there.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: broken\n")
    assert _build(tmp_path).returncode != 0


def test_every_page_is_in_the_navigation() -> None:
    told = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(_targets(told)) == pages, "give the page a line in the nav of mkdocs.yml"


def _targets(told: object) -> Iterator[str]:
    if isinstance(told, str):
        yield told
    else:
        assert isinstance(told, list | dict)
        for one in told.values() if isinstance(told, dict) else told:
            yield from _targets(one)


class _Links(HTMLParser):
    """What a page leads to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if told.get("id"):
            self.anchors.add(str(told["id"]))
        if tag == "a" and told.get("href"):
            self.leads.append(str(told["href"]))
        elif tag == "link" and told.get("rel") != "canonical" and told.get("href"):
            self.loads.append(str(told["href"]))
        elif told.get("src"):
            self.loads.append(str(told["src"]))


def _read(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text("utf-8"))
    return links


def test_every_link_of_every_page_leads_to_something(site: Path) -> None:
    lost = [
        f"{page.relative_to(site)}: {link}"
        for page in sorted(site.rglob("*.html"))
        if page.name != "404.html"  # its links are those of a server's root
        for link in (*_read(page).leads, *_read(page).loads)
        if not urlsplit(link).scheme and not (page.parent / unquote(urlsplit(link).path)).exists()
    ]
    assert lost == []


def test_every_anchor_that_a_link_names_exists(site: Path) -> None:
    pages = {page.resolve(): _read(page) for page in site.rglob("*.html") if page.name != "404.html"}
    missing = [
        f"{page.name}: {link}"
        for page, links in pages.items()
        for link in links.leads
        if (parts := urlsplit(link)).fragment and not parts.scheme
        if (target := (page.parent / unquote(parts.path)).resolve() if parts.path else page) in pages
        if unquote(parts.fragment) not in pages[target].anchors
    ]
    assert missing == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert [link for link in _read(page).loads if urlsplit(link).netloc] == [], page
    for sheet in site.rglob("*.css"):
        told = sheet.read_text("utf-8")
        assert re.findall(r"@import|url\([\"']?(?:https?:)?//", told) == [], sheet


@pytest.mark.parametrize("name", ["index.html", "project/figures.html", "reference/cli.html", "zh/index.html"])
def test_a_page_opens_from_the_disk_and_asks_no_server(name: str, site: Path, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / name).as_uri())
    assert page.locator("h1").first.inner_text()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()


@pytest.mark.parametrize("name", ["index.html", "reference/cli.html"])
def test_the_search_finds_pages_when_opened_from_the_disk(name: str, site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / name).as_uri())
    page.get_by_role("button", name="Search").first.click()
    page.get_by_placeholder("Search").first.fill("counterfactual")
    page.get_by_text(re.compile(r"^\d+ results$")).first.wait_for(timeout=15_000)
    found = page.locator("a[href*='.html']", has_text="ounterfactual").first
    assert urlsplit(str(found.evaluate("link => link.href"))).scheme == "file"
    page.close()
