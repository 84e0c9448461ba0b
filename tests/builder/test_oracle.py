"""Bad questions and planted defects are rejected with a reason, and what is good is kept, in both languages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ragbed.data.catalog import open_data
from ragbed.schema import Item, Lang
from tests.builder.invented_pages import policy_pages, synthetic_pages
from tests.builder.oracle import build_planned
from tests.builder.planting import PLANTERS, count_caught, false_alarms, other_forms


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_bad_questions_are_rejected_and_good_ones_kept(lang: Lang, tmp_path: Path) -> None:
    pages = [*policy_pages(lang)[::3], *synthetic_pages(lang, 8)]
    outcomes = build_planned(tmp_path, pages, lang)
    bad = [one for one in outcomes if one.planned.kind != "good"]
    good = [one for one in outcomes if one.planned.kind == "good"]
    assert len(bad) > 20
    assert len(good) > 30
    assert [one for one in bad if not one.reason] == []
    assert sum(bool(one.reason) for one in good) <= 0.05 * len(good)


ENOUGH = 0.95
"""The required recall for each kind of defect."""
_LANGS: tuple[Lang, ...] = ("en", "zh")


@cache
def _items(lang: Lang, kind: str) -> list[Item]:
    (dataset,) = open_data([f"ragbed-mini-{lang}_{kind}"])
    return list(dataset.items())


@pytest.mark.parametrize("lang", _LANGS)
@pytest.mark.parametrize("defect", PLANTERS)
def test_a_planted_defect_is_caught(defect: str, lang: Lang) -> None:
    kind, planter = PLANTERS[defect]
    caught, planted = count_caught(planter, _items(lang, kind))
    assert planted >= 20
    assert caught / planted >= ENOUGH


@pytest.mark.parametrize("lang", _LANGS)
def test_what_has_no_defect_passes(lang: Lang) -> None:
    alarms = false_alarms([*_items(lang, "base"), *_items(lang, "fact")])
    assert all(of and count / of <= 1 - ENOUGH for count, of in alarms.values()), alarms


@pytest.mark.parametrize(
    ("alias", "lang", "form"),
    [
        ("44 billion dollars", "en", "44bn dollars"),
        ("1,200 people", "en", "one thousand two hundred people"),
        ("12 November 2020", "en", "2020-11-12"),
        ("440亿元", "zh", "四百四十亿元"),
        ("11月12日", "zh", "十一月十二日"),
        ("Ada Brandt", "en", "Ada\u00a0Brandt"),
    ],
)
def test_the_planted_forms_are_what_people_write(alias: str, lang: Lang, form: str) -> None:
    assert form in other_forms(alias, lang)
