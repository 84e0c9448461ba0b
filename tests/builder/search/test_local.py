"""The engine over one's own documents."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragbed.builder.search import Query, SearchContext, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.schema import Article, Hit, Lang

BRIDGE = Article(
    id="bridge", url="http://news.test/bridge", title="Bridge", text="The mayor opened the footbridge.", lang="en",
    sha256="", source="s", date="2026-11-03",
)  # fmt: skip
ARTICLES = [
    BRIDGE,
    replace(
        BRIDGE,
        url="http://bay.test/rain",
        title="Rain",
        text="Heavy rain is expected on Friday. Schools stay shut.",
        date="2026-11-05",
    ),
    replace(
        BRIDGE,
        url="http://old.news.test/bridge",
        title="Old",
        text="The old footbridge was built in 1920.",
        date="2020-01-01",
    ),
    replace(BRIDGE, url="notes/market.md", title="Market", text="The market moved to the harbour.", date=None),
    replace(BRIDGE, url="http://news.test/zh", title="桥", text="步行桥于周二正式开放，市长出席了仪式。", lang="zh"),
    replace(BRIDGE, url="http://bay.test/zh", title="雨", text="预计周五有大雨。市长提醒市民注意安全。", lang="zh"),
]


def search(folder: Path, query: Query, articles: list[Article] = ARTICLES) -> list[Hit]:
    with PageCache(folder / "kept.db") as keep:
        engine = open_engine("local", SearchContext(keep, date(2026, 11, 15), articles=articles))
        return asyncio.run(engine.search(query))


def urls(folder: Path, text: str, lang: Lang = "en", **more: object) -> list[str]:
    return [hit.url for hit in search(folder, Query(text=text, lang=lang, **more))]  # type: ignore[arg-type]


def test_documents_are_found_by_their_words_in_both_languages(tmp_path: Path) -> None:
    assert urls(tmp_path, "who opened the footbridge")[:2] == ["http://news.test/bridge", "http://old.news.test/bridge"]
    assert urls(tmp_path, "市长何时开放步行桥", "zh") == ["http://news.test/zh", "http://bay.test/zh"]
    assert urls(tmp_path, "大雨", "zh") == ["http://bay.test/zh"]
    assert urls(tmp_path, "zeppelin") == urls(tmp_path, "???") == []


def test_a_hit_tells_title_snippet_date_and_rank(tmp_path: Path) -> None:
    wanted = Hit(
        question="schools shut",
        rank=1,
        url="http://bay.test/rain",
        title="Rain",
        snippet="Rain Heavy rain is expected on Friday. Schools stay shut.",
        engine="local",
        date="2026-11-05",
    )
    assert search(tmp_path, Query(text="schools shut", lang="en", count=1)) == [wanted]


def test_copies_come_after_all_that_is_different(tmp_path: Path) -> None:
    form = "The {} branch of the savings bank opens at nine on weekdays and closes at five, {} included."
    texts = [form.format("harbour", day) for day in ("Monday", "Tuesday", "Friday")]
    texts.append("A savings bank at the harbour was founded in 1890.")
    articles = [replace(BRIDGE, url=str(number), title="", text=text) for number, text in enumerate(texts)]
    query = Query(text="When does the harbour branch of the savings bank close?", lang="en")
    assert [hit.url for hit in search(tmp_path, query, articles)] == ["0", "3", "1", "2"]
    # A copy does not take the place of another document.
    assert [hit.url for hit in search(tmp_path, replace(query, count=2), articles)] == ["0", "3"]


def test_dates_are_heeded(tmp_path: Path) -> None:
    text = "the footbridge rain market"
    new = {"http://news.test/bridge", "http://bay.test/rain", "notes/market.md"}
    assert set(urls(tmp_path, text, after="2026-01-01")) == new
    assert set(urls(tmp_path, text, before="2021-01-01")) == {"http://old.news.test/bridge", "notes/market.md"}


def test_without_documents_there_is_nothing_to_search(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep, pytest.raises(UsageError, match="requires documents"):
        open_engine("local", SearchContext(keep, date(2026, 11, 15)))
