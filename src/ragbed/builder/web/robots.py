"""Obey robots.txt (RFC 9309), which is read once per host.

If a host responds with 4xx, it has no rules. A host that fails (5xx, timeout, invalid response) may have rules and is
skipped for a while. Unlike in the RFC, 429 counts as a failure, because it does not mean that there are no rules. If
the host cannot be reached at all or does not respond, its pages get the outcome of that failure.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yarl import URL

from ragbed.builder.web.client import Client, FetchFailed, find_redirect, lane_of, refuse_status
from ragbed.io.http import read_start

if TYPE_CHECKING:
    from protego import Protego

_AGENT = "ragbed"  # the user agent matched in robots.txt
_MAX_BYTES = 512 << 10  # RFC 9309, 2.5: read at least 500 KiB
_MAX_REDIRECTS = 5  # RFC 9309, 2.3.1.2: follow at least five redirects
_VALID_S = 86_400  # RFC 9309, 2.4: use a cached file for at most a day
_FAILED_S = 300  # number of seconds for which a host is skipped after a failure
# Maximum number of lines times the number of agents, because the parser stores each rule once for every agent. Large
# sites have a few thousand lines.
_MAX_RULES = 500_000
_MAX_WILD = 100_000  # maximum length of all wildcard rules in characters; each is compared with every URL
_UNREACHED = frozenset({"address", "private", "dns", "connect", "tls"})
_TEMPORARY = frozenset(
    {"timeout", "cut", "protocol", "server"}
)  # failures after which the next build requests the pages again


@dataclass(frozen=True)
class _Rules:
    """A host's robots.txt rules. If both `parser` and `problem` are None, every URL is allowed."""

    valid_until: float
    parser: Protego | None = None
    problem: FetchFailed | None = None


class Robots:
    """The robots.txt rules of all hosts."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._rules: dict[str, _Rules] = {}
        self._reading: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def check(self, url: URL) -> float:
        """Return the pause in seconds that a host requires between two requests, or 0 if it requires none.

        Raises:
            FetchFailed: The page must not be fetched.
        """
        origin = f"{url.scheme}://{lane_of(url)}"
        async with self._reading[origin]:
            rules = self._rules.get(origin)
            if rules is None or self._clock() > rules.valid_until:
                rules = self._rules[origin] = await self._read(url.origin() / "robots.txt")
        if rules.problem is not None:
            if rules.problem.outcome in _UNREACHED:
                raise FetchFailed(rules.problem.outcome, rules.problem.reason)
            outcome = rules.problem.outcome if rules.problem.outcome in _TEMPORARY else "robots"
            raise FetchFailed(outcome, f"the robots.txt file of {url.host} cannot be read: {rules.problem.reason}")
        if rules.parser is None:
            return 0.0
        if not rules.parser.can_fetch(str(url), _AGENT):
            raise FetchFailed("robots", f"the robots.txt file of {url.host} disallows this URL")
        pause_s = rules.parser.crawl_delay(_AGENT) or 0.0
        if pause_s > self._client.manners.longest_delay_s:
            raise FetchFailed(
                "robots",
                f"the robots.txt file of {url.host} requires a crawl delay of {pause_s:g} s, which is too long",
            )
        return pause_s

    async def _read(self, url: URL) -> _Rules:
        try:
            for _ in range(_MAX_REDIRECTS + 1):
                found = await self._request(url)
                if isinstance(found, _Rules):
                    return found
                url = found
        except FetchFailed as failed:
            return _Rules(self._clock() + _FAILED_S, problem=failed)
        return _Rules(self._clock() + _VALID_S)  # RFC 9309, 2.3.1.2: too many redirects count as 4xx

    async def _request(self, url: URL) -> _Rules | URL:
        from protego import Protego  # noqa: PLC0415 - belongs to the `build` extra

        async with self._client.get(url) as response:
            if (target := find_redirect(url, response)) is not None:
                return target
            if 400 <= response.status < 500 and response.status != 429:
                return _Rules(self._clock() + _VALID_S)
            refuse_status(response)
            body = await read_start(response, _MAX_BYTES)
        text = body[:_MAX_BYTES].decode("utf-8", "replace")
        lines = text.lower().splitlines()
        agents = sum(line.lstrip().startswith("user") for line in lines)
        if len(lines) * agents > _MAX_RULES or sum(len(line) for line in lines if "*" in line) > _MAX_WILD:
            raise FetchFailed("size", "robots.txt contains too many rules")
        return _Rules(self._clock() + _VALID_S, Protego.parse(text))
