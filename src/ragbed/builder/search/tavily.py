"""Tavily, whose API has no language option: https://docs.tavily.com/documentation/api-reference/endpoint/search."""

from __future__ import annotations

from msgspec import Struct, json

from ragbed.builder.search.base import Query, SearchContext, SearchResult, read_day
from ragbed.builder.search.served import SearchRequest, SearchService

_COUNT = 20


class _Result(Struct):
    url: str
    title: str = ""
    content: str = ""
    published_date: str | None = None


class _Answer(Struct):
    results: list[_Result]


def open_tavily(setting: SearchContext) -> SearchService:
    """Open Tavily with the key in `TAVILY_API_KEY`."""
    url = f"{setting.base_url('TAVILY_BASE_URL', 'https://api.tavily.com')}/search"
    headers = {"Authorization": f"Bearer {setting.key('TAVILY_API_KEY')}"}

    def ask(query: Query, page: int) -> SearchRequest:  # noqa: ARG001 - there is only one page
        body = {
            "query": query.text,
            "max_results": min(query.count, _COUNT),
            "search_depth": "basic",
            "start_date": query.after,
            "end_date": query.before,
            "include_domains": query.include,
            "exclude_domains": query.exclude,
        }
        return SearchRequest("POST", url, headers, body={name: value for name, value in body.items() if value})

    return SearchService("tavily", ask, _read, page_size=_COUNT, pages=1, longest=400, interval_s=0.6)


def _read(body: bytes) -> list[SearchResult]:
    answer = json.decode(body, type=_Answer)
    return [
        SearchResult(result.url, result.title, result.content, read_day(result.published_date))
        for result in answer.results
    ]
