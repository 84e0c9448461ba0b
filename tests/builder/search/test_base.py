"""Dates as engines spell them, and as users do."""

from __future__ import annotations

import pytest

from ragbed.builder.search.base import Query, read_day
from ragbed.errors import UsageError

DAYS = {
    "2026-11-03": "2026-11-03",
    "2026-11-03T23:59:59+08:00": "2026-11-03",
    "Tue, 03 Nov 2026 08:00:00 GMT": "2026-11-03",
    "Nov 3, 2026": "2026-11-03",
    "November 3, 2026": "2026-11-03",
    "2026年11月3日": "2026-11-03",
    "2026/11/3": "2026-11-03",
    "2026.11.03": "2026-11-03",
    "3 November 2026": "2026-11-03",
    "3 Nov 2026": "2026-11-03",
    "03/11/2026": None,  # 3 November or 11 March
    "12026-11-03": None,
    "2 days ago": None,
    "3天前": None,
    "2026-99-99": None,
    "Foo 3, 2026": None,
    "": None,
}


@pytest.mark.parametrize(("told", "day"), DAYS.items())
def test_a_day_is_read_however_it_is_spelled(told: str, day: str | None) -> None:
    assert read_day(told) == day
    assert read_day(None) is None


@pytest.mark.parametrize("text", ["5 marathons 2024", "7 Mayors, 2021", "v2024.1.10", "192.168.2024.1.1", "2024/02/31"])
def test_a_text_that_only_looks_like_a_date_has_no_day(text: str) -> None:
    assert read_day(text) is None


@pytest.mark.parametrize("day", ["yesterday", "2026-11-3", "03.11.2026", "2026-11-03T08:00"])
def test_a_query_takes_days_in_one_spelling_only(day: str) -> None:
    with pytest.raises(UsageError, match="use the form YYYY-MM-DD"):
        Query(text="bridge", lang="en", after=day)
