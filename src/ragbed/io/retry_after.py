"""Read from response headers how long a server asks its clients to wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

# `X-RateLimit-Reset` contains seconds, or a time in seconds or milliseconds since 1970, depending on the server.
_FIRST_TIME, _FIRST_TIME_MS = 1e9, 1e11


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the delay in seconds that a server requests, or None if no header contains a valid one.

    The headers are `retry-after-ms`, `Retry-After` and, if no calls remain, `X-RateLimit-Reset`. A time is compared
    with the server's own time if the response includes it, because our clock may be wrong.

    Args:
        headers: The headers, with names in lower case.
        now: The current time.
    """
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
