"""How the way to a page can end."""

from __future__ import annotations

from typing import Literal, TypeAlias

FetchOutcome: TypeAlias = Literal[
    "ok",  # the page is there
    "address",  # the URL is none, or one that is not followed
    "private",  # it leads to an address that is not public
    "robots",  # the site does not want it fetched
    "dns",  # the host is not known
    "connect",  # no connection
    "tls",  # no trusted encryption
    "timeout",  # silent, or not done in time
    "cut",  # the connection broke
    "protocol",  # what answers does not speak HTTP as it should
    "status",  # the server says no
    "redirect",  # too often, or to where we do not follow
    "type",  # not a kind of document that is read
    "size",  # larger than allowed
    "encoding",  # cannot be unpacked
    "empty",  # no bytes
]


class FetchFailed(Exception):
    """The way ended without a page.

    Args:
        outcome: Its name.
        reason: What happened, for a person; never with credentials.
        passing: Whether it may go better next time.
        pause_s: How long the server asks us to wait until then.
    """

    def __init__(self, outcome: FetchOutcome, reason: str, *, passing: bool = False, pause_s: float = 0) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.passing, self.pause_s = outcome, reason, passing, pause_s
