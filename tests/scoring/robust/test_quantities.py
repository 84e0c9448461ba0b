"""Numbers with units."""

from __future__ import annotations

import pytest

from ragbed.scoring.robust.patterns import terms_of
from ragbed.scoring.robust.quantities import find_quantities


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("32,020 employees", [(32_020, "person")]),
        ("$44bn", [(44 * 10**9, "usd")]),
        ("us$44 billion", [(44 * 10**9, "usd")]),
        ("€44 billion", [(44 * 10**9, "eur")]),
        ("440亿美元", [(44 * 10**9, "usd")]),
        ("1亿3000万元", [(130_000_000, "cny")]),
        ("12.3% of 170", [(12.3, "%"), (170, "")]),
        ("71.8 per cent", [(71.8, "%")]),
        ("百分之三点五", [(3.5, "%")]),
        ("5.1m", [(5.1, "m"), (5_100_000, "")]),  # metres or millions
        ("3.973万名员工", [(39_730, "person")]),
        ("四次", [(4, "time")]),
        ("27.2千米", [(27.2, "km")]),
        ("3 matches", [(3, "~matche")]),
        ("covid-19, iphone14, 3rd, 747s", []),
        ("document 3 and [4]", []),
        ("1. paris\n2. rome", []),
        ("34. it was 29 once", [(34, ""), (29, "")]),
        ("a million and a half dollars", [(1_500_000, "usd")]),
        ("one and a half years", [(1.5, "year")]),
        ("twelve square kilometres", [(12, "km2")]),
        ("四十五个亿美元", [(45 * 10**8, "usd")]),
        ("第三, 统一, 百度, 万达", []),
        ("44, 15", [(44, ""), (15, "")]),
    ],
)
def test_quantities_are_found_with_their_units(text: str, found: list[tuple[float, str]]) -> None:
    assert [(float(each.value), each.unit) for each in find_quantities(text, terms_of(text))] == found
