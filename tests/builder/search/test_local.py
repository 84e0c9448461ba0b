"""The engine over one's own documents, with a real index and an encoder that counts letters."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest

from ragbed.builder.search import Query, SearchContext, SearchEngine, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.local_index import Encode, IndexedPassage, LocalIndex, Role
from ragbed.retrieval.terms import words_of
from ragbed.schema import Hit, Lang

ENTRIES = [
    IndexedPassage(
        "http://news.test/bridge", "Bridge", "en", ["The mayor opened the footbridge.", "Rain fell."], "2026-11-03"
    ),
    IndexedPassage(
        "http://bay.test/rain", "Rain", "en", ["Heavy rain is expected on Friday.", "Schools stay shut."], "2026-11-05"
    ),
    IndexedPassage(
        "http://old.news.test/bridge", "Old bridge", "en", ["The old footbridge was built in 1920."], "2020-01-01"
    ),
    IndexedPassage("notes/market.md", "Market", "en", ["The market moved to the harbour."]),
    IndexedPassage("http://news.test/zh", "桥", "zh", ["新建的步行桥于周二正式开放，市长出席了仪式。"], "2026-11-03"),
    IndexedPassage(
        "http://bay.test/zh", "雨", "zh", ["预计周五有大雨，学校停课。", "市长提醒市民注意安全。"], "2026-11-05"
    ),
]


def letters(texts: Sequence[str], role: Role) -> list[list[float]]:
    """A vector for each text: how often each letter occurs."""
    return [[float(text.lower().count(chr(97 + place))) for place in range(26)] for text in texts]


def search(path: Path, *queries: Query, encode: Encode | None = None) -> list[list[Hit]]:
    async def run(engine: SearchEngine) -> list[list[Hit]]:
        return [await engine.search(query) for query in queries]

    with PageCache(path.with_suffix(".kept")) as keep, LocalIndex(path, encode) as index:
        return asyncio.run(run(open_engine("local", SearchContext(keep, date(2026, 11, 15), index=index))))


def urls(path: Path, text: str, lang: Lang = "en", encode: Encode | None = None, **more: object) -> list[str]:
    (hits,) = search(path, Query(text=text, lang=lang, **more), encode=encode)  # type: ignore[arg-type]
    return [hit.url for hit in hits]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with LocalIndex(tmp_path / "index.db") as index:
        assert index.add(ENTRIES) == len(ENTRIES)
    return tmp_path / "index.db"


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


def test_documents_are_found_by_their_words_in_both_languages(path: Path) -> None:
    assert urls(path, "who opened the footbridge")[:2] == ["http://news.test/bridge", "http://old.news.test/bridge"]
    assert urls(path, "市长何时开放步行桥", "zh") == ["http://news.test/zh", "http://bay.test/zh"]
    assert urls(path, "大雨", "zh") == ["http://bay.test/zh"]
    assert urls(path, "zeppelin") == []
    assert urls(path, "???") == []


def test_a_hit_tells_title_snippet_date_and_rank(path: Path) -> None:
    (hits,) = search(path, Query(text="schools shut", lang="en", count=1))
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
    entries = [
        IndexedPassage(f"http://bank.test/{n}", "", "en", [form.format("harbour", day)]) for n, day in enumerate(days)
    ]
    entries += [
        IndexedPassage("http://bank.test/history", "", "en", ["A savings bank at the harbour was founded in 1890."])
    ]
    with LocalIndex(tmp_path / "index.db") as index:
        index.add(entries)
    found = urls(tmp_path / "index.db", "When does the harbour branch of the savings bank close?")
    assert [url.rpartition("/")[2] for url in found] == ["0", "history", "1", "2"]
    two = urls(tmp_path / "index.db", "When does the harbour branch of the savings bank close?", count=2)
    assert two == found[:2], "a copy does not take the place of another document"


def test_dates_are_heeded(path: Path) -> None:
    text = "the footbridge rain market"
    new = {"http://news.test/bridge", "http://bay.test/rain", "notes/market.md"}
    assert set(urls(path, text, after="2026-01-01")) == new
    assert set(urls(path, text, before="2021-01-01")) == {"http://old.news.test/bridge", "notes/market.md"}


def test_quotes_and_operators_of_the_index_are_words_like_others(path: Path) -> None:
    for text in (
        '"',
        'opened" OR',
        "NEAR(footbridge)",
        "footbridge*",
        "title:footbridge",
        "-footbridge",
        "AND",
        "(",
        "'; DROP",
    ):
        search(path, Query(text=text, lang="en"))
    assert urls(path, 'footbridge" AND NOT "x')[0].endswith("bridge")


def test_a_document_is_added_once(path: Path) -> None:
    with LocalIndex(path) as index:
        assert index.add(ENTRIES) == 0


def test_vectors_find_what_words_do_not(tmp_path: Path) -> None:
    path = tmp_path / "dense.db"
    with LocalIndex(path, letters) as index:
        index.add(ENTRIES)
    assert urls(path, "retsaeuqzzzz", encode=letters) != []
    assert urls(path, "ohueb horrat arem ktt de mveo", encode=letters)[0] == "notes/market.md"
    assert urls(path, "footbridge opened", encode=letters, count=1) == ["http://news.test/bridge"]


def test_an_index_without_vectors_is_not_searched_with_an_encoder(path: Path) -> None:
    with pytest.raises(UsageError, match="was created without an encoder"):
        urls(path, "footbridge", encode=letters)


def test_a_batch_that_fails_leaves_nothing_half_done(tmp_path: Path) -> None:
    def fail(texts: Sequence[str], role: Role) -> list[list[float]]:
        raise RagbedError("the encoder is gone")

    path = tmp_path / "index.db"
    with LocalIndex(path, fail) as index, pytest.raises(RagbedError, match="gone"):
        index.add(ENTRIES)
    with LocalIndex(path) as index:
        assert index.rows("SELECT count(*) FROM documents") == [(0,)]
        assert index.add(ENTRIES) == len(ENTRIES)


def test_without_an_index_there_is_nothing_to_search(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep, pytest.raises(UsageError, match="requires a document index"):
        open_engine("local", SearchContext(keep, date(2026, 11, 15)))


def test_a_file_that_is_no_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.db").write_bytes(b"no database" * 500)
    with pytest.raises(RagbedError, match=r"the index .*index\.db cannot be used"):
        LocalIndex(tmp_path / "index.db")
