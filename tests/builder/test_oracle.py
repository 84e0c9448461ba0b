"""Bad questions and planted defects are rejected with a reason, and what is good is kept, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.planted_defects import ALARMS, DECIDED, KINDS, count_alarms, count_caught
from ragbed.schema import Lang
from tests.builder.invented_items import example_items, falsified, pairs_of
from tests.builder.invented_pages import LANGS, policy_pages, synthetic_pages
from tests.builder.oracle import build_planned


@pytest.mark.parametrize("lang", LANGS)
def test_bad_questions_are_rejected_and_good_ones_kept(lang: Lang, tmp_path: Path) -> None:
    pages = [*policy_pages(lang)[::3], *synthetic_pages(lang, 8)]
    outcomes = build_planned(tmp_path, pages, lang)
    bad = [one for one in outcomes if one.planned.kind != "good"]
    good = [one for one in outcomes if one.planned.kind == "good"]
    assert len(bad) > 20
    assert len(good) > 30
    assert [one for one in bad if not one.reason] == []
    assert sum(bool(one.reason) for one in good) <= 0.05 * len(good)


@pytest.mark.parametrize("lang", LANGS)
def test_planted_defects_are_found_and_good_items_kept(lang: Lang) -> None:
    base = example_items(lang)[:24]
    pools = {"base": base, "int": pairs_of(base), "fact": falsified(base)}
    alarms, count = map(sum, zip(*(count_alarms(items) for items in pools.values()), strict=True))
    assert alarms <= ALARMS * count
    found = {name: count_caught(kind, pools[kind.items][:12]) for name, kind in KINDS.items()}
    assert [name for name, (caught, planted) in found.items() if planted < 4 or 2 * caught < planted] == []
    caught, planted = map(sum, zip(*(found[name] for name, kind in KINDS.items() if kind.decided), strict=True))
    assert caught >= DECIDED * planted
