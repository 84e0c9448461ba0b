"""Limits, error types and library checks for fetching pages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

from ragbed import __version__
from ragbed.errors import UsageError

NAME = "ragbed"  # the user agent matched in robots.txt
USER_AGENT = f"{NAME}/{__version__}"
MAX_PAGE_BYTES = 20 << 20  # maximum size of a page after decompression; most text pages are between 0.1 and 2 MB

FetchOutcome: TypeAlias = Literal[
    "ok",
    "address",  # the URL is invalid or contains credentials
    "private",  # the URL leads to an address that is not public
    "robots",  # robots.txt disallows the page
    "dns",  # the host is unknown
    "connect",  # the connection could not be opened
    "tls",  # the certificate is not trusted
    "timeout",
    "cut",  # the connection was closed early
    "protocol",  # the response is not valid HTTP
    "status",  # the HTTP status is not 200
    "redirect",  # too many redirects, or a redirect to an unsupported URL
    "type",  # documents of this type are not supported
    "size",  # the page is larger than allowed
    "encoding",  # the content cannot be decompressed
    "empty",  # the response is empty
]


@dataclass(frozen=True)
class FetchLimits:
    """Limits for each page and each host."""

    per_host_s: float = 1.0  # pause between requests to the same host; requests to different hosts run in parallel
    longest_delay_s: float = 60.0  # maximum pause; hosts whose robots.txt requires a longer one are skipped
    connect_s: float = 10  # time limit for connecting, including the DNS lookup
    idle_s: float = 15  # maximum pause between two parts of a response
    total_s: float = 60  # time limit for one response, however slowly it arrives
    max_bytes: int = MAX_PAGE_BYTES
    redirects: int = 5
    tries: int = 2  # maximum number of attempts if the failure may be temporary
    fresh_s: float = 86_400  # minimum age in seconds at which a stored page is requested again


class FetchFailed(Exception):
    """Raised when a fetch fails and returns no page.

    Args:
        outcome: Name of the failure.
        reason: Description without credentials.
        passing: Whether a retry may succeed.
        pause_s: Pause that the server requires before a retry.
    """

    def __init__(self, outcome: FetchOutcome, reason: str, *, passing: bool = False, pause_s: float = 0) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.passing, self.pause_s = outcome, reason, passing, pause_s


def need_extra(*modules: str) -> None:
    """Raise a `UsageError` with the install command if a library from the `build` extra is missing."""
    for module in modules:
        if find_spec(module) is None:
            raise UsageError(f"building a dataset requires {module}: pip install 'ragbed[build]'.")
