"""Serper, which returns Google's results: https://serper.dev.

Dates are passed in Google's `tbs` parameter (https://serpapi.com/advanced-google-query-parameters).
"""

from __future__ import annotations

from datetime import date

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchContext, SearchResult, read_day, with_sites
from ragbed.builder.search.served import SearchRequest, SearchService

_PLACES = {"en": ("us", "en"), "zh": ("cn", "zh-cn")}
_COUNT = 10  # number of results per page; a larger page costs a second credit


class _Result(Struct):
    link: str
    title: str = ""
    snippet: str = ""
    date: str | None = None


class _Answer(Struct):
    organic: list[_Result]


def open_serper(setting: SearchContext) -> SearchService:
    """Open Serper with the key in `SERPER_API_KEY`."""
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
            days = (f"{name}:{date.fromisoformat(day):%m/%d/%Y}" for name, day in limits if day)
            body["tbs"] = ",".join(["cdr:1", *days])
        return SearchRequest("POST", url, headers, body=body)

    return SearchService("serper", ask, _read, page_size=_COUNT, pages=10, longest=2048, interval_s=0.1)


def _read(body: bytes) -> list[SearchResult]:
    answer = json.decode(body, type=_Answer)
    return [SearchResult(result.link, result.title, result.snippet, read_day(result.date)) for result in answer.organic]
