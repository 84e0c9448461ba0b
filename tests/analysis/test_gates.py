"""Gates fail on significant evidence, and report inconclusive results."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest

from ragbed.analysis.comparison import ComparedCondition, Comparison
from ragbed.analysis.gates import GateResult, as_junit, check_declines, check_floors, parse_floor
from ragbed.analysis.metrics.cells import ONE_SUPPORTING, Cell, CellKey
from ragbed.analysis.statistics.paired import decline_test, paired_difference
from ragbed.analysis.statistics.rates import LEVEL, clustered_wilson, student
from ragbed.analysis.statistics.testing import ClusterSums, probabilities
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.errors import UsageError
from ragbed.schema import Estimate

_WHERE = ComparedCondition("d", "en", "noise", 0.4, 0.0, 5, "related")


def _cell(hits: int, n: int, noise: float = 0.8, lang: str = "en") -> Cell:
    value, low, high = clustered_wilson([1] * hits + [0] * (n - hits), [1] * n)
    estimate = Estimate(
        metric="accuracy", value=value, low=low, high=high, n=n, asked=n, questions=n, errors=0, infeasible=0
    )
    key, sums = TrialGroup("m", "d", lang, "robust"), ClusterSums.of([1] * hits + [0] * (n - hits), [1] * n)
    return Cell("noise", key, "robust", "all", estimate, {"noise": noise, "k": 5}, sums)


def _compared(won: int, lost: int, n: int, min_drop: float) -> Comparison:
    moved = [1.0] * won + [-1.0] * lost + [0.0] * (n - won - lost)
    fall = decline_test(moved, min_drop)
    return Comparison(_WHERE, n, 0, 0.5, 0.5, paired_difference(moved), won, lost, 1.0, 1.0, fall, n)


def _check_alone(row: Comparison) -> GateResult:
    (checked,) = check_declines([row], 0.03)
    return checked


@pytest.mark.parametrize(
    ("hits", "n", "state"),
    [(70, 100, "passed"), (60, 100, "passed"), (55, 100, "inconclusive"), (40, 100, "failed"), (5, 10, "inconclusive")],
)
def test_a_floor_fails_only_if_the_complete_interval_is_below_it(hits: int, n: int, state: str) -> None:
    (checked,) = check_floors([parse_floor("noise.accuracy=0.6")], [_cell(hits, n)])
    assert checked.state == state
    assert f"of {n}, required 60.0%" in checked.message


@pytest.mark.parametrize(
    ("hits", "state", "ending"),
    [(20, "passed", "; no number of questions can confirm 100%, but one failure refutes it"), (19, "failed", "100.0%")],
)
def test_a_minimum_of_100_per_cent_fails_at_the_first_failure(hits: int, state: str, ending: str) -> None:
    (checked,) = check_floors([parse_floor("noise.accuracy=100%")], [_cell(hits, 20)])
    assert checked.state == state
    assert checked.message.endswith(ending)


def _needed(message: str) -> int:
    return int(re.findall(r"about ([\d,]+) questions would be needed", message)[0].replace(",", ""))


def _power(n: int, minimum: float, share: float, state: str) -> float:
    """Return the probability that a run of n questions gets this state without a further remark."""
    checked = (check_floors([parse_floor(f"noise.accuracy={minimum}")], [_cell(hits, n)])[0] for hits in range(n + 1))
    decided = [one.state == state and "needed" not in one.message for one in checked]
    return float(probabilities(n, share)[decided].sum())


@pytest.mark.parametrize(("hits", "minimum", "state"), [(50, 0.6, "failed"), (85, 0.7, "passed"), (98, 0.9, "passed")])
def test_the_needed_questions_decide_a_floor_with_a_probability_of_80_per_cent(
    hits: int, minimum: float, state: str
) -> None:
    (short,) = check_floors([parse_floor(f"noise.accuracy={minimum}")], [_cell(round(hits / 5), 20)])
    needed = _needed(short.message)
    share = round(hits / 5) / 20
    assert _power(round(1.1 * needed), minimum, share, state) >= 0.75
    assert _power(round(0.9 * needed), minimum, share, state) <= 0.9


def test_the_needed_questions_do_not_count_repeats() -> None:
    value, low, high = clustered_wilson([5] * 11 + [0] * 9, [5] * 20)  # five equal answers to each of 20 questions
    counts = {"n": 100, "asked": 100, "questions": 20}
    estimate = Estimate(metric="accuracy", value=value, low=low, high=high, errors=0, infeasible=0, **counts)
    cells = [replace(_cell(1, 2), estimate=estimate), _cell(11, 20)]
    repeated, once = (_needed(check_floors([parse_floor("noise.accuracy=0.6")], [cell])[0].message) for cell in cells)
    assert repeated == pytest.approx(once, rel=0.2)


def test_a_few_right_answers_do_not_confirm_a_floor() -> None:
    (few,) = check_floors([parse_floor("noise.accuracy=0.9")], [_cell(5, 5)])
    needed = _needed(few.message)
    more, fewer = round(1.1 * needed), round(0.9 * needed)
    (enough,) = check_floors([parse_floor("noise.accuracy=0.9")], [_cell(more, more)])
    (short,) = check_floors([parse_floor("noise.accuracy=0.9")], [_cell(fewer, fewer)])
    assert enough.message.endswith(", required 90.0%")
    assert short.message.endswith("to confirm this")


def test_many_gates_together_have_the_false_alarm_rate_of_one() -> None:
    short = _cell(49, 100)
    (alone,) = check_floors([parse_floor("noise.accuracy=0.6")], [short])
    assert alone.state == "failed"
    others = [_cell(60, 100, noise=number / 100) for number in range(10)]
    among = check_floors([parse_floor("noise.accuracy=0.6")], [short, *others])
    assert {one.state for one in among} == {"inconclusive", "passed"}
    assert "; too few questions to decide after adjustment for 11 gates: about" in among[0].message
    clear = check_floors([parse_floor("noise.accuracy=0.6")], [_cell(30, 100), *others])
    assert [one.state for one in clear].count("failed") == 1


@pytest.mark.parametrize("gates", [1, 10, 40])
@pytest.mark.parametrize(
    ("n", "minimum"),
    [(n, minimum) for n in (20, 60, 300) for minimum in (0.5, 0.7, 0.9)] + [(20, 0.95), (50, 0.99), (100, 0.99)],
)
def test_a_true_rate_at_the_floor_fails_at_most_one_of_forty_builds(n: int, minimum: float, gates: int) -> None:
    floor, fine = parse_floor(f"noise.accuracy={minimum}"), _cell(n, n)

    def fails(hits: int) -> bool:
        return check_floors([floor], [_cell(hits, n), *[fine] * (gates - 1)])[0].state == "failed"

    most = next((hits for hits in reversed(range(n)) if fails(hits)), -1)
    alarm = probabilities(n, minimum)[: most + 1].sum()
    assert 1 - (1 - alarm) ** gates <= 0.025  # the chance that any gate fails if each true rate is at the floor


def test_a_floor_of_clustered_rates_counts_independent_questions() -> None:
    states = [
        check_floors([parse_floor(f"noise.accuracy={minimum}")], [replace(_cell(45, 100), sums=sums)])[0].state
        for sums in (ClusterSums.of([n] * 45 + [0] * 55, [n] * 100) for n in (1, 2))  # with two equal trials each
        for minimum in (0.55, 0.56)
    ]
    assert states == ["inconclusive", "failed"] * 2


def test_a_metric_that_does_not_exist_says_so() -> None:
    counts = {"n": 0, "asked": 60, "questions": 0, "errors": 0, "infeasible": 0}
    estimate = Estimate(metric="accuracy", value=None, low=None, high=None, **counts)
    (checked,) = check_floors([parse_floor("noise.accuracy=0.6")], [replace(_cell(9, 10), estimate=estimate)])
    assert checked.state == "inconclusive"
    assert checked.message == "no case counts for this metric (0 of 0), so it has no value"


def test_a_quantity_that_is_not_a_share_has_no_minimum() -> None:
    with pytest.raises(UsageError, match="searches is not a rate, so it cannot have a minimum"):
        parse_floor("search.searches=0.5")


def test_a_floor_of_a_difference_uses_its_interval() -> None:
    moved = [replace(_cell(1, 2), estimate=_moved_by(value, 0.1), sums=None) for value in (-0.15, -0.05)]
    assert [check_floors([parse_floor("noise.accuracy=0")], [one])[0].state for one in moved] == [
        "failed",
        "inconclusive",
    ]


def _moved_by(value: float, reach: float) -> Estimate:
    low, high, counts = value - reach, value + reach, dict.fromkeys(("n", "asked", "questions"), 100)
    return Estimate(metric="accuracy", value=value, low=low, high=high, errors=0, infeasible=0, **counts)


def test_no_two_gates_share_a_name() -> None:
    cell = _cell(9, 10)
    places = [CellKey(noise=0.8, k=5, correct=share) for share in (0.0, 0.4, 1.0)]
    places += [CellKey(noise=0.8, k=5, slot=slot) for slot in (0, 4)] + [CellKey(k=k, arm="fixed") for k in (2, 10)]
    for alike in (places[:5], places[5:]):
        cells = [replace(cell, place=place) for place in alike]
        names = [one.name for one in check_floors([parse_floor("noise.accuracy=0.5")], cells)]
        assert len(set(names)) == len(alike), names
    compared = [_compared(0, 30, 100, 0.03) for _ in range(3)]
    where = [_WHERE, _WHERE._replace(correct=0.4), _WHERE._replace(k=10)]
    rows = [replace(one, condition=place) for one, place in zip(compared, where, strict=True)]
    names = [one.name for one in check_declines(rows, 0.03)]
    assert names == [
        "noise on d, en, noise 0.4, k 5",
        "noise on d, en, noise 0.4, correct 0.4, k 5",
        "noise on d, en, noise 0.4, k 10",
    ]


def test_a_floor_selects_all_languages_and_ratios_by_default() -> None:
    cells = [_cell(9, 10, noise, lang) for noise in (0.0, 0.8) for lang in ("en", "zh")]
    assert len(check_floors([parse_floor("noise.accuracy=0.5")], cells)) == 4
    assert len(check_floors([parse_floor("noise.accuracy@0.8=0.5")], cells)) == 2
    (one,) = check_floors([parse_floor("noise.accuracy@0.8:zh=0.5")], cells)
    assert one.name == "noise.accuracy of m on d, zh, noise 0.8, k 5"


def test_a_floor_selects_the_plain_prompt() -> None:
    plain, poor = _cell(9, 10), _cell(0, 100)
    remedy = replace(poor, key=poor.key._replace(profile="robust+quote"))
    (one,) = check_floors([parse_floor("noise.accuracy=0.5")], [remedy, plain])
    assert one.state == "passed"
    arm = replace(poor, place={**poor.place, "arm": "random"})
    (only,) = check_floors([parse_floor("noise.accuracy=0.5")], [remedy, arm])
    assert (only.name, only.state) == ("noise.accuracy of m on d, en, noise 0.8, k 5, distractors random", "failed")


def test_a_floor_names_its_distractors_if_the_run_has_several_conditions() -> None:
    plain = _cell(9, 10)
    single = replace(plain, key=plain.key._replace(data="single"), place={"noise": 0.8, "k": ONE_SUPPORTING})
    cells = [plain, single, replace(plain, place={**plain.place, "arm": "random"})]
    cells += [replace(plain, place=CellKey(k=k, arm="fixed")) for k in (1, 5)]
    for ratio, ways in (("", "fixed, {}random, {}related"), ("@0.8", "0.8,fixed, {}0.8,random, {}0.8,related")):
        with pytest.raises(UsageError) as caught:
            check_floors([parse_floor(f"noise.accuracy{ratio}=0.5")], cells)
        expected = (
            f"has several distractor conditions. Name one: noise.accuracy@{ways.format(*['noise.accuracy@'] * 2)}."
        )
        assert str(caught.value).endswith(expected)
        for way in ways.format("", "").split(", "):
            assert len(check_floors([parse_floor(f"noise.accuracy@{way}=0.5")], cells)) == 1
    assert len(check_floors([parse_floor("noise.accuracy@fixed=0.5")], cells[3:])) == 2
    assert len(check_floors([parse_floor("noise.accuracy@0.8=0.5")], cells[:1])) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("speed=0.5", "use TESTBED.METRIC"),
        ("noise.accuracy=1.5", "between 0 and 1"),
        ("noise.accuracy=150%", "between 0 and 1"),
        ("noise.accuracy=1.5.5", "use TESTBED.METRIC"),
        ("nois.accuracy=0.5", "Did you mean 'noise'"),
        ("noise.acuracy=0.5", "Did you mean 'accuracy'"),
        ("noise.accuracy@0.6=0.5", "the run has no value with this name"),
        ("noise.accuracy@fixed=0.5", "the run has no value with this name"),
        ("noise.accuracy@0.8,fixd=0.5", "use TESTBED.METRIC"),
        ("rejection.refusal_recall=0.5", "the run has no value with this name"),
    ],
)
def test_an_invalid_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_floors([parse_floor(text)], [_cell(9, 10)])


@pytest.mark.parametrize(
    ("won", "lost", "n", "state"),
    [(0, 30, 100, "failed"), (10, 14, 100, "inconclusive"), (10, 10, 1000, "passed"), (20, 0, 100, "passed")],
)
def test_a_loss_fails_only_if_it_is_significantly_larger(won: int, lost: int, n: int, state: str) -> None:
    assert _check_alone(_compared(won, lost, n, 0.03)).state == state


def test_an_inconclusive_comparison_is_decided_by_the_stated_questions() -> None:
    message = _check_alone(_compared(8, 8, 100, 0.03)).message
    assert "cannot be ruled out; " in message
    needed = _needed(message)
    moved = round(0.08 * needed)
    decided = _compared(moved, moved, needed, 0.03)
    assert _check_alone(decided).state == "passed"
    # The distance to the limit leaves room for an unfavourable sample: 0.84 standard errors, for a power of 80%, and
    # slightly more, because the added changes make the interval of the short run wider.
    error = (decided.difference.high - decided.difference.low) / 2 / student(LEVEL, needed)
    assert 0.84 <= (decided.difference.low + 0.03) / error < 1.1


def test_the_needed_questions_exceed_those_of_the_run() -> None:
    assert _needed(_check_alone(_compared(60, 140, 2000, 0.03)).message) > 2000
    exactly = _check_alone(_compared(4, 7, 100, 0.03))
    assert exactly.message.endswith("; more than 1,000,000 questions would be needed")


def test_a_p_value_is_never_printed_as_zero() -> None:
    row = replace(_compared(0, 50, 100, 0.03), decline_p=0.0)
    (checked,) = check_declines([row], 0.03)
    assert checked.message.endswith("a drop of more than 3, p < 0.001")


def test_junit_has_one_case_per_gate_with_valid_names() -> None:
    checked = [GateResult("a<b>\x00\ud800", "failed", '1 & "2"'), GateResult("c", "inconclusive", "few")]
    root = Xml.fromstring(as_junit("run \x1b[31m", checked))
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    first, second = root
    assert first.attrib["name"] == "a<b>\ufffd\ufffd"
    assert first[0].attrib["message"] == '1 & "2"'
    assert second[0].text == "inconclusive: few"
