"""The delay that a server requests is read from all headers that providers use."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ragbed.io.retry import retry_after_s

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_DATE = "Thu, 01 Jan 2026 00:00:30 GMT"
_RESET_S = int(_NOW.timestamp()) + 30


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": _DATE}, 30.0),
        ({"retry-after": _DATE, "date": "Thu, 01 Jan 2026 00:00:20 GMT"}, 10.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        # OpenRouter sends milliseconds since 1970, other servers send seconds since 1970 or until the reset.
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{_RESET_S}000"}, 30.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": f"{_RESET_S}"}, 30.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "7"}, 7.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "7", "retry-after": "3"}, 3.0),
        ({"x-ratelimit-remaining": "5", "x-ratelimit-reset": "7"}, None),
        ({"x-ratelimit-reset": "7"}, None),
    ],
)
def test_the_delay_that_a_server_requests(headers: dict[str, str], wait_s: float | None) -> None:
    assert retry_after_s(headers, _NOW) == wait_s
