"""The engine over one's own documents."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from ragbed.builder.search import Query, SearchContext, SearchEngine, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.retrieval.terms import words_of
from ragbed.schema import Article, Hit, Lang


def article(url: str, title: str, lang: Lang, text: str, day: str | None = None) -> Article:
    return Article(id=url, url=url, title=title, text=text, lang=lang, sha256="0", source="s", date=day)


ARTICLES = [
    article("http://news.test/bridge", "Bridge", "en", "The mayor opened the footbridge. Rain fell.", "2026-11-03"),
    article("http://bay.test/rain", "Rain", "en", "Heavy rain is expected on Friday. Schools stay shut.", "2026-11-05"),
    article("http://old.news.test/bridge", "Old bridge", "en", "The old footbridge was built in 1920.", "2020-01-01"),
    article("notes/market.md", "Market", "en", "The market moved to the harbour."),
    article("http://news.test/zh", "桥", "zh", "新建的步行桥于周二正式开放，市长出席了仪式。", "2026-11-03"),
    article("http://bay.test/zh", "雨", "zh", "预计周五有大雨，学校停课。市长提醒市民注意安全。", "2026-11-05"),
]


def search(path: Path, *queries: Query, articles: list[Article] = ARTICLES) -> list[list[Hit]]:
    async def run(engine: SearchEngine) -> list[list[Hit]]:
        return [await engine.search(query) for query in queries]

    with PageCache(path / "kept.db") as keep:
        setting = SearchContext(
            keep, date(2026, 11, 15), articles=lambda: [(one, one.text.split(". ")) for one in articles]
        )
        return asyncio.run(run(open_engine("local", setting)))


def urls(path: Path, text: str, lang: Lang = "en", articles: list[Article] = ARTICLES, **more: Any) -> list[str]:
    (hits,) = search(path, Query(text=text, lang=lang, **more), articles=articles)
    return [hit.url for hit in hits]


def test_words_are_latin_words_and_pairs_of_han_characters() -> None:
    assert words_of("The U.S. opened 步行桥 in 2026, 雨!") == [
        "the",
        "u",
        "s",
        "opened",
        "步行",
        "行桥",
        "in",
        "2026",
        "雨",
    ]
    assert words_of("") == words_of("…") == []


def test_documents_are_found_by_their_words_in_both_languages(tmp_path: Path) -> None:
    assert urls(tmp_path, "who opened the footbridge")[:2] == ["http://news.test/bridge", "http://old.news.test/bridge"]
    assert urls(tmp_path, "市长何时开放步行桥", "zh") == ["http://news.test/zh", "http://bay.test/zh"]
    assert urls(tmp_path, "大雨", "zh") == ["http://bay.test/zh"]
    assert urls(tmp_path, "zeppelin") == []
    assert urls(tmp_path, "???") == []


def test_a_hit_tells_title_snippet_date_and_rank(tmp_path: Path) -> None:
    (hits,) = search(tmp_path, Query(text="schools shut", lang="en", count=1))
    wanted = Hit(
        question="schools shut",
        rank=1,
        url="http://bay.test/rain",
        title="Rain",
        snippet="Schools stay shut.",
        engine="local",
        date="2026-11-05",
    )
    assert hits == [wanted]


def test_copies_come_after_all_that_is_different(tmp_path: Path) -> None:
    form = "The {} branch of the savings bank opens at nine on weekdays and closes at five, {} included."
    days = ("Monday", "Tuesday", "Friday")
    articles = [article(f"http://bank.test/{n}", "", "en", form.format("harbour", day)) for n, day in enumerate(days)]
    articles.append(article("http://bank.test/history", "", "en", "A savings bank at the harbour was founded in 1890."))
    question = "When does the harbour branch of the savings bank close?"
    found = urls(tmp_path, question, articles=articles)
    assert [url.rpartition("/")[2] for url in found] == ["0", "history", "1", "2"]
    two = urls(tmp_path, question, articles=articles, count=2)
    assert two == found[:2], "a copy does not take the place of another document"


def test_dates_are_heeded(tmp_path: Path) -> None:
    text = "the footbridge rain market"
    new = {"http://news.test/bridge", "http://bay.test/rain", "notes/market.md"}
    assert set(urls(tmp_path, text, after="2026-01-01")) == new
    assert set(urls(tmp_path, text, before="2021-01-01")) == {"http://old.news.test/bridge", "notes/market.md"}


def test_without_an_index_there_is_nothing_to_search(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep, pytest.raises(UsageError, match="requires documents"):
        open_engine("local", SearchContext(keep, date(2026, 11, 15)))
