"""Serper, Google's results: https://serper.dev; dates in Google's own `tbs` (https://serpapi.com/advanced-google-query-parameters)."""

from __future__ import annotations

from datetime import date

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchResult, read_day, with_sites
from ragbed.builder.search.served import SearchRequest, SearchService
from ragbed.builder.search.setting import SearchContext

_PLACES = {"en": ("us", "en"), "zh": ("cn", "zh-cn")}
_COUNT = 10
"""More than ten results cost a second credit."""


class _Result(Struct):
    link: str
    title: str = ""
    snippet: str = ""
    date: str | None = None


class _Answer(Struct):
    organic: list[_Result]


def open_serper(setting: SearchContext) -> SearchService:
    """The key is `SERPER_API_KEY`."""
    url = f"{setting.base_url('SERPER_BASE_URL', 'https://google.serper.dev')}/search"
    headers = {"X-API-KEY": setting.key("SERPER_API_KEY")}

    def ask(query: Query, page: int) -> SearchRequest:
        country, language = _PLACES[query.lang]
        body: dict[str, object] = {
            "q": with_sites(query),
            "gl": country,
            "hl": language,
            "num": _COUNT,
            "page": page + 1,
        }
        if query.after or query.before:
            limits = [("cd_min", query.after), ("cd_max", query.before)]
            body["tbs"] = ",".join(["cdr:1", *(f"{name}:{_american(day)}" for name, day in limits if day)])
        return SearchRequest("POST", url, headers, body=body)

    return SearchService("serper", ask, _read, page_size=_COUNT, pages=10, longest=2048, interval_s=0.1)


def _american(day: str) -> str:
    return date.fromisoformat(day).strftime("%m/%d/%Y")


def _read(body: bytes) -> list[SearchResult]:
    answer = json.decode(body, type=_Answer)
    return [SearchResult(one.link, one.title, one.snippet, read_day(one.date)) for one in answer.organic]
