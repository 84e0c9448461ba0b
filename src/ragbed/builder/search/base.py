"""What all search engines share: the query, what it asks of a hit, and how a search can fail."""

from __future__ import annotations

import re
from email.utils import parsedate
from typing import Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from ragbed.errors import UsageError
from ragbed.retrieval.local_index import host_of
from ragbed.schema import Hit, Lang

SearchOutcome: TypeAlias = Literal[
    "quota",  # the limit that the user set, or that the account has, is reached
    "auth",  # the key is missing, wrong, or not allowed to
    "rate",  # too many calls, and waiting did not help
    "server",  # the engine fails
    "timeout",
    "connect",
    "request",  # the engine does not understand the query
    "protocol",  # the answer is not what the engine's documentation says
    "missing",  # replay: nobody recorded this query
]


class SearchFailed(Exception):
    """A search that brought nothing, not even an empty list.

    Args:
        outcome: Its name.
        reason: What happened; never with a key, and never in the server's words, which may hold one.
        passing: Whether it may go better in a moment.
        pause_s: How long the server asks us to wait until then.
    """

    def __init__(self, outcome: SearchOutcome, reason: str, *, passing: bool = False, pause_s: float = 0) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.passing, self.pause_s = outcome, reason, passing, pause_s


class Query(Struct, frozen=True, kw_only=True):
    """What is searched for."""

    text: str
    lang: Lang
    after: str | None = None
    """ISO date: nothing older."""
    before: str | None = None
    """ISO date: nothing newer."""
    include: tuple[str, ...] = ()
    """Domains, of which and of whose subdomains hits must be; none named: of any."""
    exclude: tuple[str, ...] = ()
    count: int = 10
    """Pages per question; the paper uses ten."""

    def __post_init__(self) -> None:
        for day in (self.after, self.before):
            if day is not None and read_day(day) != day:
                raise UsageError(f"{day!r} is no day; write it as 2026-11-15.")


class SearchEngine(Protocol):
    """A search engine."""

    name: str

    async def search(self, query: Query) -> list[Hit]:
        """At most `query.count` hits, the best first.

        Raises:
            Failed: The engine did not answer.
        """


class SearchResult(NamedTuple):
    """A line of an engine's answer."""

    url: str
    title: str
    snippet: str
    date: str | None = None
    """ISO date."""


def make_hits(query: Query, engine: str, results: list[SearchResult]) -> list[Hit]:
    """The results that are what was asked for, each address once, with their ranks.

    Engines take filters for hints; a date that is not given is given the benefit of the doubt.
    """
    once = {result.url: result for result in reversed(results) if _fits(query, result)}
    kept = [result for result in results if once.get(result.url) is result][: query.count]
    return [
        Hit(
            question=query.text,
            rank=rank,
            url=one.url,
            title=one.title,
            snippet=one.snippet,
            engine=engine,
            date=one.date,
        )
        for rank, one in enumerate(kept, 1)
    ]


def _fits(query: Query, result: SearchResult) -> bool:
    if result.date is not None and not (query.after or "") <= result.date <= (query.before or "9999"):
        return False
    host = host_of(result.url)
    if any(_is_of(host, domain) for domain in query.exclude):
        return False
    return not query.include or any(_is_of(host, domain) for domain in query.include)


def _is_of(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def with_sites(query: Query) -> str:
    """The text with domains in the words that most engines understand: `site:a.org OR site:b.org -site:c.org`."""
    wanted = " OR ".join(f"site:{domain}" for domain in query.include)
    unwanted = " ".join(f"-site:{domain}" for domain in query.exclude)
    return " ".join(filter(None, (query.text, f"({wanted})" if len(query.include) > 1 else wanted, unwanted)))


_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_CHINESE = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})日")
_ENGLISH = re.compile(r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4})")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def read_day(told: str | None) -> str | None:
    """The day in a date as engines spell it: ISO, RFC 2822, `Mar 3, 2024`, `2024年3月3日`; none of `2 days ago`."""
    text = told or ""
    if found := _ISO.search(text) or _CHINESE.search(text):
        year, month, day = map(int, found.groups())
    elif (found := _ENGLISH.search(text)) and found[1] in _MONTHS:
        year, month, day = int(found[3]), _MONTHS.index(found[1]) + 1, int(found[2])
    elif parsed := parsedate(text):
        year, month, day = parsed[:3]
    else:
        return None
    return f"{year:04}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else None
