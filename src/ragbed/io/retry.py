"""Decide when a failed HTTP request is repeated; this module imports no HTTP library."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from msgspec import Struct

# `X-RateLimit-Reset` contains seconds, or a time in seconds or milliseconds since 1970, depending on the server.
_FIRST_TIME, _FIRST_TIME_MS = 1e9, 1e11
# Safety margin in seconds, because timers can fire early and no request may be sent before the time set by the server.
_MARGIN_S = 0.01
_MAX_WAIT_S = 60.0


HttpFailureKind: TypeAlias = Literal["connect", "tls", "timeout", "network", "protocol"]


class HttpFailure(Exception):
    """A request without a usable response; the message says what happened.

    Attributes:
        kind: What failed; the kinds of failed calls (`models/failures.py`) include these.
        again: Whether another attempt may succeed.
        wait_s: The pause that the server requests, in seconds.
    """

    def __init__(self, kind: HttpFailureKind, detail: str, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(detail)
        self.kind, self.again, self.wait_s = kind, again, wait_s


class RetryPolicy(Struct, frozen=True):
    """Time limits, listed from the shortest to the longest, and maximum numbers of attempts."""

    connect_s: float = 10  # time limit in seconds for DNS lookup, connection and TLS handshake
    silence_s: float = 30  # maximum pause in seconds within a response; before the first byte, only `attempt_s` applies
    attempt_s: float = 120
    item_s: float = 600  # time limit in seconds per case, including all retries and pauses but not queueing time
    attempts: int = 6
    paid_attempts: int = 3  # maximum number of attempts if responses are unusable, because each response may be billed
    # Pause in seconds before the second attempt. The pause triples before each further attempt, and half of it is
    # random. Six attempts take long enough to outlast a 30-second server restart.
    first_pause_s: float = 0.5
    longest_pause_s: float = 60
    max_bytes: int = 4 << 20  # maximum size of a decoded response in bytes; a streamed response may be larger

    def pause_s(self, attempt: int, wait_s: float | None = None) -> float:
        """Return the pause after a failed attempt; the time that the server set is its minimum."""
        longest = min(self.longest_pause_s, self.first_pause_s * 3.0 ** (attempt - 1))
        return (wait_s or longest / 2) + _MARGIN_S + random.random() * longest / 2


def capped_retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the delay that a server requests, or 0; long delays are shortened, because a user is waiting."""
    return min(retry_after_s(headers) or 0.0, _MAX_WAIT_S)


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the delay in seconds that a server requests, or None if no header contains a valid one.

    The headers are `retry-after-ms`, `Retry-After` and, if no calls remain, `X-RateLimit-Reset`. A time is compared
    with the server's own time if the response includes it, because our clock may be wrong.

    Args:
        headers: The headers; if a name occurs several times, the last value counts.
        now: The current time.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    now = now or datetime.now(UTC)
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "")
        seconds = _parse_number(value)
        if seconds is not None:
            return max(0.0, seconds / scale)
        date = _parse_date(value)
        if date is not None:
            return max(0.0, (date - _server_time(headers, now)).total_seconds())
    reset = _parse_number(headers.get("x-ratelimit-reset", ""))
    if reset is None or _parse_number(headers.get("x-ratelimit-remaining", "")) != 0:
        return None
    if reset >= _FIRST_TIME:
        reset = reset / (1000.0 if reset >= _FIRST_TIME_MS else 1.0) - _server_time(headers, now).timestamp()
    return max(0.0, reset)


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
    return _parse_date(headers.get("date", "")) or now


def _parse_number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _parse_date(value: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to import and rarely needed

    if not value:
        return None
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date.replace(tzinfo=date.tzinfo or UTC)
