"""Google's Custom Search JSON API, which the paper used: https://developers.google.com/custom-search/v1/cse/list.

Google no longer accepts new customers for this API and will shut it down in January 2027.
"""

from __future__ import annotations

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchContext, SearchResult, read_day, with_sites
from ragbed.builder.search.served import SearchRequest, SearchService

_LANGUAGES = {"en": "lang_en", "zh": "lang_zh-CN|lang_zh-TW"}
_COUNT = 10
_DATES = ("article:published_time", "og:published_time", "publishdate", "date")  # meta tags with the publication date


class _PageMap(Struct):
    metatags: list[dict[str, object]] = []


class _Result(Struct):
    link: str
    title: str = ""
    snippet: str = ""
    pagemap: _PageMap | None = None


class _Answer(Struct):
    kind: str
    items: list[_Result] = []  # missing if nothing was found


def open_google(setting: SearchContext) -> SearchService:
    """Open Google with the key in `GOOGLE_API_KEY` and the engine ID in `GOOGLE_CSE_ID`."""
    url = f"{setting.base_url('GOOGLE_CSE_BASE_URL', 'https://customsearch.googleapis.com')}/customsearch/v1"
    account = {"key": setting.key("GOOGLE_API_KEY"), "cx": setting.key("GOOGLE_CSE_ID")}

    def ask(query: Query, page: int) -> SearchRequest:
        params: dict[str, str | int] = {
            **account,
            "q": with_sites(query),
            "lr": _LANGUAGES[query.lang],
            "num": _COUNT,
            "start": page * _COUNT + 1,
        }
        if query.after or query.before:
            first, last = query.after or "1990-01-01", query.before or setting.today.isoformat()
            params["sort"] = f"date:r:{first.replace('-', '')}:{last.replace('-', '')}"
        return SearchRequest("GET", url, params=params)

    return SearchService("google", ask, _read, page_size=_COUNT, pages=10, longest=2048, interval_s=0.6)


def _read(body: bytes) -> list[SearchResult]:
    return [
        SearchResult(result.link, result.title, result.snippet, _date_of(result))
        for result in json.decode(body, type=_Answer).items
    ]


def _date_of(result: _Result) -> str | None:
    values = (tags.get(name) for tags in (result.pagemap or _PageMap()).metatags for name in _DATES)
    return next((day for value in values if isinstance(value, str) and (day := read_day(value))), None)
