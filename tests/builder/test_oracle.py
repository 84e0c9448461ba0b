"""Whole builds with a scripted generator: bad questions are rejected with a reason, good ones are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.schema import Lang
from tests.builder.invented_pages import policy_pages, synthetic_pages
from tests.builder.oracle import build_planned


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
