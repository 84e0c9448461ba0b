"""The paper's figures and the findings S-1 to S-5, pinned."""

from __future__ import annotations

import pytest

from ragbed.analysis.paper.findings import Lost, find
from ragbed.analysis.paper.tables import CountOf, count_behind, read_tables

_FOUND = find()
_TABLES = read_tables()


def test_the_tables_have_six_models_in_two_languages() -> None:
    for table in (_TABLES.noise, _TABLES.rejection, _TABLES.integration):
        rows = list(table.rows())
        assert len(rows) == 12
        assert all(len(values) == len(table.columns) for _, _, values in rows)
    assert len(list(_TABLES.counterfactual.rows())) == 3


@pytest.mark.parametrize(
    ("percent", "n", "count"),
    [
        (96.33, 300, (289, 300)),
        (67.68, 300, (201, 297)),
        (3.37, 300, (10, 297)),
        (33.33, 3, (1, 3)),
        (55, 100, (55, 100)),
    ],
)
def test_percentages_are_whole_numbers_of_questions(percent: float, n: int, count: tuple[int, int]) -> None:
    assert count_behind(percent, n) == CountOf(*count)


def test_an_impossible_percentage_is_refused() -> None:
    with pytest.raises(ValueError, match=r"rounds to 50\.01%"):
        count_behind(50.01, 10)


def test_exactly_two_figures_lost_three_questions() -> None:
    assert _FOUND.lost == [
        Lost("noise", "zh", "BELLE-7B-2M", "0.8", CountOf(201, 297)),
        Lost("rejection", "zh", "Vicuna-7B-v1.3", "Rej", CountOf(10, 297)),
    ]


def test_s1_most_rows_decline_before_the_ratio_of_the_paper() -> None:
    verdicts = _FOUND.simple.verdicts
    assert [one.noise for one in verdicts] == ["0.2", "0.4", "0.6", "0.8"]
    assert [one.rows for one in verdicts] == [12] * 4
    assert [one.z for one in verdicts] == [0, 7, 11, 12]
    assert [one.bonferroni for one in verdicts] == [0, 5, 11, 12]
    assert [one.certain for one in verdicts] == [0, 7, 11, 12]
    assert [one.certain_holm for one in verdicts] == [0, 5, 11, 12]  # as many tests as ratios
    assert [one.certain_all for one in verdicts] == [0, 0, 8, 12]  # 48 tests
    assert [one.possible for one in verdicts] == [8, 11, 12, 12]


def test_s2_integration_at_the_highest_ratio_is_inconclusive_from_totals() -> None:
    *_, last = _FOUND.integrated.verdicts
    assert (last.noise, last.z, last.fisher, last.certain, last.possible) == ("0.4", 7, 6, 2, 12)


def test_s3_correction_rates_have_wide_intervals() -> None:
    found = {(one.model, one.lang): one for one in _FOUND.corrections}
    assert {key: tuple(one.count) for key, one in found.items()} == {
        ("ChatGPT", "zh"): (1, 3),
        ("Qwen-7B-Chat", "zh"): (1, 4),
        ("ChatGPT", "en"): (4, 7),
    }
    bounds = {key: tuple(round(100 * bound) for bound in one.interval[1:]) for key, one in found.items()}
    assert bounds == {("ChatGPT", "zh"): (6, 79), ("Qwen-7B-Chat", "zh"): (5, 70), ("ChatGPT", "en"): (25, 84)}


def test_s4_error_shares_do_not_fit_all_errors() -> None:
    wrong, fitting = _FOUND.error_shares.errors, _FOUND.error_shares.sizes_that_fit
    assert wrong == {"en": 66, "zh": 56, "both": 122}
    assert not set(wrong.values()) & set(fitting)
    assert {50, 100} <= set(fitting)


def test_s5_only_large_drops_are_detectable() -> None:
    drops = {(one.n, one.base): one.drop for one in _FOUND.resolutions}
    assert drops[300, 0.95] == pytest.approx(0.0623, abs=1e-4)
    assert drops[100, 0.45] == pytest.approx(0.1886, abs=1e-4)
    assert drops[100, 0.60] == pytest.approx(0.1969, abs=1e-4)
