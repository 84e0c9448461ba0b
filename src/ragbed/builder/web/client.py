"""One GET of one address: in its turn, through the gate, in time; whatever goes wrong is an `FetchFailed`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from ragbed.builder.web.addresses import AddressFilter, ForbiddenAddress
from ragbed.builder.web.decompress import ACCEPT_ENCODING
from ragbed.builder.web.fetch_errors import FetchFailed, FetchOutcome
from ragbed.builder.web.host_pacing import HostPacer
from ragbed.builder.web.limits import USER_AGENT, FetchLimits
from ragbed.io.http import PASSING, REDIRECTS, RequestRefused, as_interruption, next_hop, parse_url, retry_after


class Client:
    """What all requests for pages share. Used as `async with Client(...) as client`.

    Args:
        manners: The limits.
        gate: What may be connected to.
        resolver: Looks names up; the system does where there is none.
    """

    def __init__(self, manners: FetchLimits, gate: AddressFilter, resolver: AbstractResolver | None = None) -> None:
        self.manners, self._gate, self._resolver = manners, gate, resolver
        self._pace = HostPacer(manners.per_host_s)

    async def __aenter__(self) -> Self:
        limits = self.manners
        connector = aiohttp.TCPConnector(
            socket_factory=self._gate.open_socket, resolver=self._resolver, use_dns_cache=False, limit=0
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=limits.connect_s, sock_read=limits.idle_s),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": ACCEPT_ENCODING},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,  # behind a proxy we could not tell what is connected to; and no .netrc
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._session.close()

    @asynccontextmanager
    async def get(
        self, url: URL, headers: Mapping[str, str] | None = None, interval_s: float = 0
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Asks once, following nothing, and gives the answer whose body has not been read yet."""
        try:
            async with (
                self._pace.turn(lane_of(url), interval_s),
                asyncio.timeout(self.manners.total_s),
                self._session.get(url, headers=headers, allow_redirects=False) as response,
            ):
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise _ended(error) from error
        except ValueError as error:  # names that no host can have, as labels of 64 characters
            raise FetchFailed("address", f"this is no address that can be asked ({error})") from error

    def postpone(self, url: URL, pause_s: float) -> None:
        """The host of an address wants to be left alone for a while."""
        self._pace.postpone(lane_of(url), pause_s)


def lane_of(url: URL) -> str:
    """The host, which is asked one thing at a time."""
    return f"{url.host}:{url.port}"


def parse_page_url(text: str) -> URL:
    """An address of a page, or Ended."""
    try:
        url = parse_url(text)
    except RequestRefused as refusal:
        raise FetchFailed("address", str(refusal)) from refusal
    if url.user is not None or url.password is not None:
        raise FetchFailed("address", "addresses with a name or password in them are not followed")
    return url.with_fragment(None)


def find_redirect(here: URL, response: aiohttp.ClientResponse) -> URL | None:
    """Where an answer sends us on to, if it does."""
    if response.status not in REDIRECTS:
        return None
    try:
        return parse_page_url(str(next_hop(here, response.headers.get("Location", ""))))
    except (RequestRefused, FetchFailed) as error:
        raise FetchFailed("redirect", str(error)) from error


def refuse_status(response: aiohttp.ClientResponse) -> None:
    """Ends at any status but 200."""
    if response.status != 200:
        said = f"the server answered {response.status} {response.reason or ''}".rstrip()
        raise FetchFailed("status", said, passing=response.status in PASSING, pause_s=retry_after(response))


def _ended(error: aiohttp.ClientError | TimeoutError) -> FetchFailed:
    outcome: FetchOutcome
    match error:
        case aiohttp.ConnectionTimeoutError():
            outcome = "connect"
        case TimeoutError():
            return FetchFailed("timeout", "the server fell silent, or was not done in time", passing=True)
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
            return FetchFailed("tls", f"no trusted encryption can be agreed on with {error.host}")
        case aiohttp.ClientConnectorDNSError():
            outcome = "dns"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ForbiddenAddress):
            return FetchFailed("private", f"{error.host} is not asked: {error.os_error.strerror}")
        case aiohttp.ClientConnectorError():
            outcome = "connect"
        case aiohttp.InvalidURL():
            return FetchFailed("address", "this is no address that can be asked")
        case aiohttp.ClientResponseError():
            return FetchFailed("protocol", str(as_interruption(error)))
        case _:
            outcome = "cut"
    return FetchFailed(outcome, str(as_interruption(error)), passing=True)
