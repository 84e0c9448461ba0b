"""What the sites allow: robots.txt as RFC 9309 says, read once for each host.

Who answers 4xx has no rules; who fails (5xx, silence, nonsense) may have some, and is left alone for a while. Against
the letter of the RFC, 429 is a failure: it says "too much", not "no rules". A host that cannot be reached at all ends
under the name of that, since its pages would too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yarl import URL

from ragbed.builder.web.client import Client, find_redirect, lane_of
from ragbed.builder.web.decompress import read_beginning
from ragbed.builder.web.fetch_errors import FetchFailed
from ragbed.builder.web.limits import NAME

if TYPE_CHECKING:
    from protego import Protego

_MAX_BYTES = 512 << 10
"""RFC 9309, 2.5: at least 500 KiB are read; the rest is not."""
_HOPS = 5
"""RFC 9309, 2.3.1.2."""
_VALID_S = 86_400
"""RFC 9309, 2.4: not kept for more than a day."""
_FAILED_S = 300
"""So long a host that failed is left alone."""
_MOST_STORED = 50_000
"""Rules times agents: half a second and 25 MB. Large sites have some thousands."""
_MOST_COMPARED = 200_000_000
"""Characters of wildcard rules times characters of a URL: at worst some hundredths of a second for each page. 100 kB of
such rules and a URL of 200 characters are a tenth of it."""
_UNREACHED = frozenset({"address", "private", "dns", "connect", "tls"})


@dataclass(frozen=True)
class _Rules:
    """What a host allows; everything, if there is neither a parser nor a problem."""

    valid_until: float
    parser: Protego | None = None
    problem: FetchFailed | None = None
    wild_chars: int = 0
    """Characters of rules with wildcards: each may be compared with each of a URL."""


class Robots:
    """The rules of all hosts that were asked."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._rules: dict[str, _Rules] = {}
        self._reading: dict[str, asyncio.Lock] = {}

    async def check(self, url: URL) -> float:
        """The pause in seconds that a host asks for between two pages, 0 if it says nothing.

        Raises:
            Ended: The page is not to be fetched.
        """
        origin = f"{url.scheme}://{lane_of(url)}"
        async with self._reading.setdefault(origin, asyncio.Lock()):
            rules = self._rules.get(origin)
            if rules is None or self._clock() > rules.valid_until:
                rules = self._rules[origin] = await self._read(url.origin() / "robots.txt")
        if rules.problem is not None:
            raise _as_of_page(url, rules.problem)
        if rules.parser is None:
            return 0.0
        if rules.wild_chars * len(str(url)) > _MOST_COMPARED:
            raise FetchFailed("robots", f"the rules of {url.host} (robots.txt) are too long to be checked for this URL")
        if not rules.parser.can_fetch(str(url), NAME):
            raise FetchFailed("robots", f"{url.host} does not want it fetched (robots.txt)")
        pause_s = rules.parser.crawl_delay(NAME) or 0.0
        if pause_s > self._client.manners.longest_delay_s:
            raise FetchFailed("robots", f"{url.host} asks for {pause_s:g} s between two pages (robots.txt)")
        return pause_s

    async def _read(self, url: URL) -> _Rules:
        try:
            for _ in range(_HOPS + 1):
                found = await self._ask(url)
                if isinstance(found, _Rules):
                    return found
                url = found
        except FetchFailed as ended:
            return _Rules(self._clock() + _FAILED_S, problem=ended)
        return _Rules(self._clock() + _VALID_S)  # RFC 9309, 2.3.1.2: more hops than five count as 4xx

    async def _ask(self, url: URL) -> _Rules | URL:
        from protego import Protego  # noqa: PLC0415 - belongs to the extra `build`

        async with self._client.get(url) as response:
            onward = find_redirect(url, response)
            if onward is not None:
                return onward
            if 400 <= response.status < 500 and response.status != 429:
                return _Rules(self._clock() + _VALID_S)
            if response.status != 200:
                raise FetchFailed("status", f"the server answered {response.status}")
            text = (await read_beginning(response, _MAX_BYTES))[:_MAX_BYTES].decode("utf-8", "replace")
        if _count_stored(text) > _MOST_STORED:
            raise FetchFailed("size", "it has too many rules for too many agents")
        wild = sum(len(line) for line in text.splitlines() if "*" in line and not _names_agent(line))
        return _Rules(self._clock() + _VALID_S, Protego.parse(text), wild_chars=wild)


def _count_stored(text: str) -> int:
    """Count the rules as the parser stores them: each one for every agent of its group."""
    stored = agents = 0
    in_rules = True
    for line in text.splitlines():
        if _names_agent(line):
            agents = 1 if in_rules else agents + 1
            in_rules = False
        else:
            in_rules = True
            stored += agents
    return stored


def _names_agent(line: str) -> bool:
    """Tell whether a line begins or extends a group; the parser also takes misspelled ones."""
    return line.lstrip().lower().startswith("user")


def _as_of_page(url: URL, problem: FetchFailed) -> FetchFailed:
    """What a failure to read the rules means for a page."""
    if problem.outcome in _UNREACHED:
        return FetchFailed(problem.outcome, problem.reason)
    return FetchFailed("robots", f"the rules of {url.host} (robots.txt) cannot be read: {problem.reason}")
