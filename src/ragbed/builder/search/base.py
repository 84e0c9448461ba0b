"""Types shared by all search engines: context, query, results and failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from email.utils import parsedate
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from ragbed.builder.web.page_cache import PageCache
from ragbed.errors import UsageError
from ragbed.schema import Article, Hit, Lang

SearchOutcome: TypeAlias = Literal[
    "quota",  # the account's quota has been used up
    "auth",  # the API key is missing or invalid, or lacks permission
    "rate",  # the rate limit was exceeded, even after waiting
    "server",  # the search engine failed, e.g. with HTTP status 500
    "timeout",
    "connect",
    "request",  # the engine rejected the query
    "protocol",  # the response does not match the engine's documentation
]


class SearchFailed(Exception):
    """Raised when a search fails; a search without results is not a failure.

    Args:
        outcome: Name of the failure.
        reason: Description that contains no keys, and no text from the server, which may contain a key.
        passing: Whether a retry may succeed.
        pause_s: Pause that the server requires before a retry.
    """

    def __init__(self, outcome: SearchOutcome, reason: str, *, passing: bool = False, pause_s: float = 0) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.passing, self.pause_s = outcome, reason, passing, pause_s


@dataclass(frozen=True)
class SearchContext:
    """The settings for opening a search engine.

    Args:
        keep: Cache for results.
        today: Latest date that a result may have.
        environ: Keys and base URLs.
        articles: Articles that the local engine searches.
    """

    keep: PageCache
    today: date
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    articles: Iterable[Article] | None = None

    def key(self, name: str) -> str:
        """Return an API key from the environment."""
        value = self.environ.get(name, "").strip()
        if not value:
            raise UsageError(f"{name} is not set. Set this environment variable to your API key.")
        if not (value.isascii() and value.isprintable()):
            raise UsageError(f"{name} contains characters that are not allowed in an API key; copy the key again.")
        return value

    def base_url(self, name: str, default: str) -> str:
        """Return a service's base URL from the environment, or the default URL if the variable is not set."""
        return (self.environ.get(name, "").strip() or default).rstrip("/")


class Query(Struct, frozen=True, kw_only=True):
    """A search query."""

    text: str
    lang: Lang
    after: str | None = None  # ISO date of the oldest allowed result
    before: str | None = None  # ISO date of the newest allowed result
    count: int = 10  # maximum number of hits; the paper uses ten pages per question

    def __post_init__(self) -> None:
        for day in (self.after, self.before):
            if day is not None and read_day(day) != day:
                raise UsageError(f"{day!r} is not a valid date; use the form YYYY-MM-DD, e.g. 2026-11-15.")


class SearchEngine(Protocol):
    """A search engine."""

    name: str

    async def search(self, query: Query) -> list[Hit]:
        """Return at most `query.count` hits, best first.

        Raises:
            SearchFailed: The engine returned no results.
        """


class SearchResult(NamedTuple):
    """A search result; `date` is an ISO date or None."""

    url: str
    title: str
    snippet: str
    date: str | None = None


def make_hits(query: Query, engine: str, results: list[SearchResult]) -> list[Hit]:
    """Return the results that match the query, with their ranks and without duplicate URLs.

    The dates are checked again, because engines treat them as hints. Results without a date pass.
    """
    first, last = query.after or "", query.before or "9999"
    fitting = [result for result in results if result.date is None or first <= result.date <= last]
    once = {result.url: result for result in reversed(fitting)}
    kept = [result for result in results if once.get(result.url) is result][: query.count]
    return [
        Hit(
            question=query.text,
            rank=rank,
            url=result.url,
            title=result.title,
            snippet=result.snippet,
            engine=engine,
            date=result.date,
        )
        for rank, result in enumerate(kept, 1)
    ]


# The order of the parts of 03/04/2024 is not known.
_DIGITS = re.compile(r"(?<![A-Za-z0-9_.])(\d{4})(?:([-/.])(\d{1,2})\2|\s*年\s*(\d{1,2})\s*月\s*)(\d{1,2})(?!\d)")


def read_day(text: str | None) -> str | None:
    """Parse a date and return it in ISO format, or return None if a text has none.

    The known forms are `2024-03-03`, `2024/3/3`, `2024年3月3日`, `March 3, 2024`, `3 Mar 2024` and those of RFC 2822.
    """
    text = text or ""
    if found := _DIGITS.search(text):
        year, month, day = int(found[1]), int(found[3] or found[4]), int(found[5])
    elif parsed := parsedate(text) or parsedate(f"{text} 00:00:00"):
        year, month, day = parsed[:3]
    else:
        return None
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
