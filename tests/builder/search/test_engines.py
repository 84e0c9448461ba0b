"""The engines that are asked over HTTP, against wire doubles that speak as documented, and badly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from ragbed.builder.search import ENGINES, Query, SearchContext, SearchFailed, open_engine
from ragbed.builder.search.engines import HttpSearchEngine, SearchService
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UnknownName, UsageError
from ragbed.io.retry import RetryPolicy
from ragbed.schema import Hit
from tests.builder.search.engine_server import EngineServer, Reply, reply, running_engine

KEY = "key-that-is-secret-0123456789"
ENVIRON = dict.fromkeys(("BRAVE_API_KEY", "SERPER_API_KEY"), KEY)
TODAY = date(2026, 11, 15)
FULL = Query(
    text="who opened the bridge",
    lang="en",
    after="2026-10-01",
    before="2026-11-10",
)
QUICK = RetryPolicy(attempt_s=10, attempts=2, first_pause_s=0)


@dataclass(frozen=True)
class Double:
    """An engine as its documentation shows it."""

    answer: Callable[[list[tuple[str, str, str, str]]], object]
    """From results (url, title, snippet, ISO date) to its JSON."""
    asked: dict[str, object]
    """What FULL is in its words: parameters, or fields of the body."""
    header: str | None
    nothing: object


def _brave(rows: list[tuple[str, str, str, str]]) -> object:
    results = [{"url": u, "title": t, "description": s, "page_age": f"{d}T08:00:00"} for u, t, s, d in rows]
    return {"type": "search", "query": {"original": "q"}, "web": {"type": "search", "results": results}}


def _serper(rows: list[tuple[str, str, str, str]]) -> object:
    months = {"10": "Oct", "11": "Nov", "09": "Sep"}
    days = [f"{months[d[5:7]]} {int(d[8:])}, {d[:4]}" for *_, d in rows]
    organic = [
        {"title": t, "link": u, "snippet": s, "date": day, "position": n}
        for n, ((u, t, s, _), day) in enumerate(zip(rows, days, strict=True), 1)
    ]
    return {"searchParameters": {"q": "q"}, "organic": organic}


def _searxng(rows: list[tuple[str, str, str, str]]) -> object:
    results = [
        {"url": u, "title": t, "content": s, "publishedDate": f"{d}T00:00:00", "engine": "x"} for u, t, s, d in rows
    ]
    return {"query": "q", "number_of_results": 0, "results": results, "unresponsive_engines": []}


DOUBLES = {
    "brave": Double(
        _brave,
        {"q": FULL.text, "search_lang": "en", "freshness": "2026-10-01to2026-11-10", "offset": "0", "count": "20"},
        "X-Subscription-Token",
        {"type": "search"},
    ),
    "serper": Double(
        _serper,
        {"q": FULL.text, "gl": "us", "hl": "en", "tbs": "cdr:1,cd_min:10/01/2026,cd_max:11/10/2026", "page": 1},
        "X-API-KEY",
        {"organic": []},
    ),
    "searxng": Double(
        _searxng,
        {"q": FULL.text, "language": "en", "format": "json", "pageno": "1"},
        None,
        {"results": [], "unresponsive_engines": []},
    ),
}
ROWS = [
    ("https://news.test/1", "One", "the mayor opened it", "2026-11-03"),
    ("https://www.bay.test/2", "Two", "on Tuesday", "2026-10-20"),
    ("https://news.test/1", "One again", "", "2026-11-03"),
    ("https://news.test/5", "Too old", "", "2026-09-30"),
]


@pytest.fixture(scope="module")
def _engine() -> Iterator[EngineServer]:
    with running_engine() as server:
        yield server


@pytest.fixture
def wire(_engine: EngineServer, monkeypatch: pytest.MonkeyPatch) -> EngineServer:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    _engine.script, _engine.asked = [reply({})], []
    return _engine


def ask(wire: EngineServer, folder: Path, name: str, *queries: Query) -> list[list[Hit]]:
    async def run() -> list[list[Hit]]:
        urls = {f"{variable}_BASE_URL": wire.url for variable in ("BRAVE", "SERPER", "SEARXNG")}
        with PageCache(folder / "kept.db") as keep:
            service = ENGINES[name](SearchContext(keep, TODAY, {**ENVIRON, **urls}))
            assert isinstance(service, SearchService)
            engine = HttpSearchEngine(SearchService(**{**vars(service), "interval_s": 0}), keep, QUICK)
            return [await engine.search(query) for query in queries]

    return asyncio.run(run())


every_engine = pytest.mark.parametrize("name", DOUBLES)


@every_engine
def test_a_query_is_put_in_the_engines_words_and_its_answer_in_ours(
    wire: EngineServer, tmp_path: Path, name: str
) -> None:
    double = DOUBLES[name]
    wire.script = [reply(double.answer(ROWS)), reply(double.nothing)]
    (hits,) = ask(wire, tmp_path, name, FULL)
    assert [(hit.rank, hit.url, hit.title, hit.snippet, hit.date) for hit in hits] == [(1, *ROWS[0]), (2, *ROWS[1])]
    assert {(hit.question, hit.engine) for hit in hits} == {(FULL.text, name)}
    asked = wire.asked[0]
    said = {**asked.params, **asked.body}
    assert {field: said.get(field) for field in double.asked} == double.asked
    if double.header:
        assert KEY in asked.headers[double.header]


@every_engine
def test_chinese_is_asked_for_as_the_engine_calls_it(wire: EngineServer, tmp_path: Path, name: str) -> None:
    wire.script = [reply(DOUBLES[name].nothing)]
    assert ask(wire, tmp_path, name, Query(text="谁开放了步行桥", lang="zh")) == [[]]
    said = {**wire.asked[0].params, **wire.asked[0].body}
    assert "谁开放了步行桥" in said.values()
    assert any("zh" in str(value) for value in said.values())
    assert not {"freshness", "tbs"} & set(said)


@every_engine
def test_an_answer_is_cached_without_the_key(wire: EngineServer, tmp_path: Path, name: str) -> None:
    wire.script = [reply(DOUBLES[name].answer(ROWS[:2]))]
    query = Query(text="bridge", lang="en", count=2)
    first, again = ask(wire, tmp_path, name, query, query)
    (later,) = ask(wire, tmp_path, name, query)
    assert first == again == later
    assert len(first) == 2
    assert len(wire.asked) == 1
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes()


HTML = b"<!doctype html><p>Service unavailable"
BAD: dict[str, tuple[Reply, str]] = {
    "401": (reply({"error": KEY}, 401), "auth"),
    "403": (reply({"error": KEY}, 403), "auth"),
    "402": (reply({}, 402), "quota"),
    "400": (reply({"error": KEY}, 400), "request"),
    "429": (reply({"error": KEY}, 429), "rate"),
    "429 with a pause": (reply({}, 429, Retry_After="0"), "rate"),
    "500": (reply(HTML, 500), "server"),
    "599, which has no name": (reply(b"", 599), "server"),
    "HTML": (reply(HTML), "protocol"),
    "nothing at all": (reply(b""), "protocol"),
    "a list": (reply([]), "protocol"),
    "wrong types": (reply(dict.fromkeys(("web", "organic", "results"), 7)), "protocol"),
    "cut JSON": (reply(b'{"results": [{"url"'), "protocol"),
    "bytes that are no text": (reply(b'{"results": [{"url": "\xff\xfe"}]}'), "protocol"),
    "depth 100,000": (reply(b"[" * 100_000), "protocol"),
    "a redirect": (reply({}, 302, Location="http://127.0.0.1:9/"), "request"),
    "packed as nobody asked": (reply(b"x", Content_Encoding="br"), "protocol"),
    "no HTTP": (reply(b"", 999, Content_Length="x"), "protocol"),
    "8 MB": (reply(b" " * (8 << 20)), "protocol"),
}


@pytest.mark.parametrize("name", ["brave", "searxng"])
@pytest.mark.parametrize(("bad", "outcome"), BAD.values(), ids=BAD)
def test_a_bad_answer_has_a_name_shows_no_key_and_is_not_cached(
    wire: EngineServer, tmp_path: Path, name: str, bad: Reply, outcome: str
) -> None:
    wire.script = [bad]
    with pytest.raises(SearchFailed) as caught:
        ask(wire, tmp_path, name, Query(text="bridge", lang="en"))
    assert caught.value.outcome == outcome
    assert KEY not in f"{caught.value} {caught.value.__cause__!r} {caught.value.__context__!r}"
    wire.script = [reply(DOUBLES[name].answer(ROWS[:1])), reply(DOUBLES[name].nothing)]
    assert len(ask(wire, tmp_path, name, Query(text="bridge", lang="en"))[0]) == 1


def test_a_failure_that_passes_is_tried_again(wire: EngineServer, tmp_path: Path) -> None:
    wire.script = [reply({}, 503), reply(_serper(ROWS[:1])), reply({"organic": []})]
    assert len(ask(wire, tmp_path, "serper", Query(text="bridge", lang="en"))[0]) == 1


def test_pages_are_asked_for_until_there_are_enough_hits(wire: EngineServer, tmp_path: Path) -> None:
    def page(start: int) -> Reply:
        rows = [(f"https://news.test/{n}", "", "", "2026-11-03") for n in range(start, start + 10)]
        return reply(_serper(rows))

    wire.script = [page(0), page(5), page(30)]
    (hits,) = ask(wire, tmp_path, "serper", Query(text="bridge", lang="en", count=15))
    assert [hit.url.rsplit("/", 1)[1] for hit in hits] == [str(number) for number in range(15)]
    assert [asked.body["page"] for asked in wire.asked] == [1, 2]


def test_engines_behind_searxng_that_are_silent_are_no_empty_result(wire: EngineServer, tmp_path: Path) -> None:
    wire.script = [reply({"results": [], "unresponsive_engines": [["google", "CAPTCHA"]]})]
    with pytest.raises(SearchFailed, match="SearXNG received no response from any of its search engines"):
        ask(wire, tmp_path, "searxng", Query(text="bridge", lang="en"))


def test_an_engine_that_is_not_there_is_named_without_its_address(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep:
        setting = SearchContext(keep, TODAY, {"SEARXNG_BASE_URL": f"http://127.0.0.1:9/{KEY}"})
        service = ENGINES["searxng"](setting)
        assert isinstance(service, SearchService)
        with pytest.raises(SearchFailed, match="cannot connect to searxng; check the base URL") as caught:
            asyncio.run(
                HttpSearchEngine(service, keep, policy=RetryPolicy(attempts=1)).search(Query(text="x", lang="en"))
            )
    assert caught.value.outcome == "connect"


def test_missing_keys_and_unknown_names_are_said_at_once(tmp_path: Path) -> None:
    with PageCache(tmp_path / "kept.db") as keep:
        for name, variable in (("brave", "BRAVE_API_KEY"), ("searxng", "SEARXNG_BASE_URL")):
            with pytest.raises(UsageError, match=f"{variable} is not set"):
                open_engine(name, SearchContext(keep, TODAY))
        with pytest.raises(UsageError, match="contains characters that are not allowed in an API key"):
            open_engine("brave", SearchContext(keep, TODAY, {"BRAVE_API_KEY": "a\nb"}))
        with pytest.raises(UnknownName, match=re.escape("unknown search engine 'bing'.")):
            open_engine("bing", SearchContext(keep, TODAY))
        setting = SearchContext(keep, TODAY, ENVIRON)
        assert KEY not in f"{setting!r} {open_engine('brave', setting)!r} {vars(open_engine('serper', setting))!r}"
