"""How politely and how much: the limits of fetching pages."""

from __future__ import annotations

from dataclasses import dataclass

from ragbed import __version__

NAME = "ragbed"
"""The name that robots.txt files may address."""
USER_AGENT = f"{NAME}/{__version__}"
MAX_PAGE_BYTES = 20 << 20
"""Decoded. Pages of text have 0.1 to 2 MB; what is larger is no text to read."""


@dataclass(frozen=True)
class FetchLimits:
    """For each page, and for each host."""

    per_host_s: float = 1.0
    """From one request to a host to the next; hosts are asked in parallel."""
    longest_delay_s: float = 60.0
    """A host whose robots.txt asks for longer pauses is left alone."""
    connect_s: float = 10
    """Until a connection stands, name look-up included."""
    idle_s: float = 15
    """Between two pieces of an answer."""
    total_s: float = 60
    """For one answer, so that one that drips cannot go on for ever."""
    max_bytes: int = MAX_PAGE_BYTES
    """Decoded."""
    redirects: int = 5
    tries: int = 2
    """Where a server says, or a cut suggests, that it may go better next time."""
    fresh_s: float = 86_400
    """A page that is kept and no older is not asked for again."""
