"""Paired tests: against references, by hand, and their size."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import scipy

from ragbed.analysis.statistics import paired
from ragbed.analysis.statistics.paired import (
    changes,
    cochran_q,
    decline_test,
    paired_difference,
    sign_flips,
)
from ragbed.analysis.statistics.rates import clustered_wilson
from ragbed.analysis.statistics.testing import sign_test


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 5), (10, 10), (3, 17), (40, 12)])
def test_the_sign_test_is_the_binomial_test_of_the_changed_questions(won: int, lost: int) -> None:
    expected = scipy.stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert float(sign_test(won, lost)) == pytest.approx(expected)


def test_sign_flips_of_right_and_wrong_are_the_sign_test() -> None:
    assert sign_flips([1] * 9 + [-1] * 2 + [0] * 50) == pytest.approx(float(sign_test(9, 2)))
    assert sign_flips([0, 0, 0]) == 1.0


def test_sign_flips_of_graded_scores_agree_with_the_reference() -> None:
    differences = [0.5, 0.5, 1, -0.5, 1, 0.25, 0, -0.25, 1, 0.5]
    reference = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flips(differences) == pytest.approx(reference.pvalue)


def test_sign_flips_of_many_arbitrary_differences_agree_with_the_normal_approximation() -> None:
    differences = np.random.default_rng(5).normal(0.05, 0.4, 300)
    assert sign_flips(differences) == pytest.approx(scipy.stats.ttest_1samp(differences, 0).pvalue, abs=0.005)


def test_sign_flips_of_large_samples_have_no_smallest_p_value() -> None:
    """With 1,500 pairs of models, Holm multiplies the p-value by 1,500, and it must still be significant."""
    rng = np.random.default_rng(1)
    shares = rng.binomial(6, 0.75, 400) / 6 - rng.binomial(5, 0.6, 400) / 5
    for differences in (shares, rng.normal(0.15, 0.4, 400)):
        assert 0 < sign_flips(differences) < 1e-6
    assert sign_flips([0.1 + 0.001 * number for number in range(100)]) == pytest.approx(2.0**-99)


def test_exact_flips_on_a_lattice_equal_all_permutations() -> None:
    whole = np.array([3, 3, -3, 2, 2, 2, 2, -1, 1, 5, 5, -5, 4])
    expected = np.mean(np.abs(np.array(list(product((-1, 1), repeat=len(whole)))) @ whole) >= abs(whole.sum()))
    sizes, flips = np.unique(np.abs(whole), return_counts=True)
    assert paired._lattice_flips(sizes, flips, int(whole.sum())) == pytest.approx(expected, rel=1e-12)
    assert sign_flips(whole / 6) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("denominator", [1, 5, 60])
@pytest.mark.parametrize("rise", [0.0, 0.2, 0.9])
def test_the_saddlepoint_approximation_agrees_with_exact_flips(denominator: int, rise: float) -> None:
    rng = np.random.default_rng(denominator)
    whole = rng.integers(-denominator, denominator + 1, 300)
    whole = np.where(rng.random(300) < rise, np.abs(whole), whole)
    sizes, flips = np.unique(np.abs(whole[whole != 0]), return_counts=True)
    observed = abs(int(whole.sum()))
    exact = paired._lattice_flips(sizes, flips, observed)
    close = paired._saddlepoint_flips(sizes / denominator, flips, observed / denominator, 1 / denominator)
    assert close == pytest.approx(exact, rel=0.005)
    assert (1e-60 < exact < 1e-20) == (rise == 0.9)


def test_sign_flips_of_verdicts_and_a_few_means_are_exact() -> None:
    """A few odd differences among many verdicts would mislead an approximation for continuous sums."""
    differences = [1.0] * 900 + [-1.0] * 700 + [1 / 7, -2 / 7, 3 / 11, 5 / 13]
    expected = sum(
        probability
        * scipy.stats.binom.sf(np.ceil((1600 + 200 + sum(differences[1600:]) - one) / 2 - 1e-9) - 1, 1600, 0.5)
        for one, probability in (
            (float(np.dot(signs, np.abs(differences[1600:]))), 1 / 16) for signs in product((-1, 1), repeat=4)
        )
    )
    assert sign_flips(differences) == pytest.approx(2 * expected, rel=1e-9)


def test_a_difference_combines_the_intervals_of_gains_and_losses() -> None:
    moved = [-1] * 15 + [1] * 5 + [0] * 80
    up, down = (clustered_wilson([change == sign for change in moved], [1] * 100) for sign in (1, -1))
    correlation = -math.sqrt(0.05 * 0.15 / (0.95 * 0.85))
    below, above = (up.value - up.low, down.high - down.value), (up.high - up.value, down.value - down.low)
    reach = [math.sqrt(a**2 + b**2 - 2 * correlation * a * b) for a, b in (below, above)]
    assert paired_difference(moved) == pytest.approx((-0.10, -0.10 - reach[0], -0.10 + reach[1]), abs=1e-9)


def test_means_of_verdicts_tie_if_they_are_mathematically_equal() -> None:
    """The means 1/5 and 2/5 against 3/5 and 0/5 used to count as ten losses of 5.6e-17."""
    before, after = [(1 / 5 + 2 / 5) / 2] * 10, [(3 / 5 + 0 / 5) / 2] * 10
    assert before != after
    moved = changes(before, after)
    assert (moved == 0).all()
    assert sign_flips(moved) == 1.0
    assert paired_difference(moved) == paired_difference([0.0] * 10)


def test_paired_results_do_not_depend_on_the_order_of_the_verdicts() -> None:
    rng = np.random.default_rng(0)
    verdicts = rng.random((2, 50, 7)) < 0.5

    def results(scores: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[object, ...]:
        moved = changes(*([sum(1 / 7 for right in row if right) for row in side.tolist()] for side in scores))
        return sign_flips(moved), *paired_difference(moved), (moved > 0).sum(), (moved < 0).sum()

    assert results(rng.permuted(verdicts, axis=2)[:, rng.permutation(50)]) != results(verdicts[::-1])
    same = np.stack([rng.permutation(side.T).T for side in verdicts])[:, rng.permutation(50)]
    assert results(same) == pytest.approx(results(verdicts), abs=1e-12)


def test_the_weights_of_questions_are_those_of_the_mean() -> None:
    moved, weights = [1.0, 0.0, -1.0, 0.0], [3, 1, 1, 1]
    found = paired_difference(moved, weights=weights)
    assert found.value == pytest.approx(2 / 6)
    assert found.low < 0 < found.high


def test_questions_of_one_event_widen_the_interval() -> None:
    moved = [-1.0] * 30 + [0.0] * 70
    alone, together = (paired_difference(moved, clusters=[at // size for at in range(100)]) for size in (1, 10))
    assert together.value == alone.value
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_graded_scores_get_a_narrower_interval_than_verdicts() -> None:
    verdicts, graded = ([size] * 10 + [-size] * 10 + [0] * 20 for size in (1.0, 0.2))
    wide, narrow = paired_difference(verdicts), paired_difference(graded)
    assert narrow.high < 0.3 * wide.high
    still, nearly = paired_difference([0] * 40), paired_difference([0] * 39 + [0.2])
    assert nearly.high - nearly.low == pytest.approx(still.high - still.low, rel=0.35)


@pytest.mark.parametrize("n", [30, 100, 300])
def test_the_interval_of_a_difference_has_its_nominal_coverage(n: int) -> None:
    """The coverage is computed from all outcomes with a probability above 1e-8.

    With 30 questions, 29% of samples have no gain, and the interval of their rate is an exact one, which is wider: the
    coverage is 97.9%. With 100 and 300 questions, it is 95.9% and 95.4%.
    """
    fell, rose = 0.12, 0.04
    downs, ups = (np.arange(round(n * share + 6 * math.sqrt(n * share)) + 2) for share in (fell, rose))
    down, up = (side.ravel() for side in np.meshgrid(downs[downs <= n], ups[ups <= n]))
    down, up = down[down + up <= n], up[down + up <= n]
    chances = scipy.stats.multinomial.pmf(np.stack([down, up, n - down - up], axis=1), n, [fell, rose, 1 - fell - rose])
    kept = chances > 1e-8
    covered = 0.0
    for losses, gains, chance in zip(down[kept].tolist(), up[kept].tolist(), chances[kept].tolist(), strict=True):
        interval = paired_difference([-1] * losses + [1] * gains + [0] * (n - losses - gains))
        covered += chance * (interval.low <= rose - fell <= interval.high)
    assert chances[kept].sum() > 0.9999
    assert 0.93 <= covered <= 0.98
    if n * rose >= 5:
        assert covered <= 0.97


@pytest.mark.parametrize("fell", range(0, 60, 3))
def test_declining_is_the_interval_beyond_the_least_drop(fell: int) -> None:
    differences = [-1] * fell + [1] * 4 + [0] * (200 - fell)
    assert (decline_test(differences, 0.03) < 0.05) == (paired_difference(differences).high < -0.03)


def test_a_significant_drop_can_be_too_small_for_a_decline() -> None:
    differences = [-1] * 30 + [1] * 5 + [0] * 1_965
    assert float(sign_test(5, 30)) < 0.001
    assert decline_test(differences, 0.03) > 0.9


def test_cochran_q_is_the_textbook_formula() -> None:
    table = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0]])
    columns, rows, total, k = table.sum(0), table.sum(1), table.sum(), 3
    q = (k - 1) * (k * (columns**2).sum() - total**2) / (k * total - (rows**2).sum())
    assert cochran_q(table) == pytest.approx(scipy.stats.chi2.sf(q, k - 1))
    assert cochran_q(table) < 0.05


def test_cochran_q_of_graded_scores_agrees_with_permutations_within_each_row() -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 4, size=(60, 4)) / 3 - [0, 0, 0, 0.1]
    spread = [np.var(rng.permuted(scores, axis=1).sum(axis=0)) for _ in range(4_000)]
    share = np.mean(np.array(spread) >= np.var(scores.sum(axis=0)))
    assert cochran_q(scores) == pytest.approx(share, abs=0.03)
    assert cochran_q([[0.5, 0.5, 0.5]] * 9) == 1.0
    assert cochran_q([[0.5, 0.0]] * 9) == pytest.approx(float(sign_test(9, 0)))


def test_cochran_q_of_two_conditions_is_the_sign_test() -> None:
    assert cochran_q([[1, 0]] * 9 + [[0, 1]] * 2 + [[1, 1]] * 5) == pytest.approx(float(sign_test(9, 2)))
    assert cochran_q([[1, 1, 1]] * 5 + [[0, 0, 0]] * 5) == 1.0
