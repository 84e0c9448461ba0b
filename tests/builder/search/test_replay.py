"""Recorded hits."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.search import Query, SearchContext, SearchEngine, SearchFailed, open_engine
from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import DataError, UsageError
from ragbed.schema import Hit


def replay(folder: Path, *hits: Hit) -> SearchEngine:
    path = folder / "hits.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, hits)))
    return open_recorded(folder, path)


def open_recorded(folder: Path, path: Path | None) -> SearchEngine:
    with PageCache(folder / "kept.db") as keep:
        return open_engine("replay", SearchContext(keep, date(2026, 11, 15), recorded=path))


def hit(rank: int, url: str, question: str = "bridge", day: str | None = None) -> Hit:
    return Hit(question=question, rank=rank, url=url, title="T", snippet="S", engine="brave", date=day)


def test_recorded_hits_are_given_again_as_far_as_they_fit(tmp_path: Path) -> None:
    engine = replay(
        tmp_path, hit(2, "http://b.test/"), hit(1, "http://a.test/"), hit(3, "http://c.test/", day="2020-01-01")
    )
    found = asyncio.run(engine.search(Query(text="bridge", lang="en", after="2026-01-01")))
    assert found == [hit(1, "http://a.test/"), hit(2, "http://b.test/")]


def test_a_query_that_nobody_recorded_is_noted_once(tmp_path: Path) -> None:
    engine = replay(tmp_path, hit(1, "http://a.test/"))
    missing = Query(text="桥", lang="zh")
    for _ in range(2):
        with pytest.raises(SearchFailed, match="there are no recorded results for this query"):
            asyncio.run(engine.search(missing))
    noted = (tmp_path / "hits.jsonl.missing").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Query) for line in noted] == [missing]


def test_a_line_that_is_no_hit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hits.jsonl"
    path.write_text('{"question": 1}')
    with pytest.raises(DataError, match=r"hits\.jsonl:1: the line is not a valid search hit"):
        open_recorded(tmp_path, path)
    with pytest.raises(UsageError, match="requires a file of recorded hits"):
        open_recorded(tmp_path, None)
