"""Check claims against constructed cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from ragbed.analysis.claims import CLAIMS, MIN_QUESTIONS, ClaimInputs, check_claims
from ragbed.analysis.diagnosis.causes import Cause
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import Cell, CellKey
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.binomial import sign_test
from ragbed.reporting.claim_texts import evidence_columns, tell_evidence, tell_finding
from ragbed.schema import Estimate
from ragbed.testbeds.names import parse_case

_BASE, _INT, _FACT = (TrialGroup("m", data, "en", "robust") for data in ("en", "en_int", "en_fact"))


def _cell(
    table: str, key: TrialGroup, metric: str, value: float, reach: float = 0.05, *, n: int = 100, **place: float
) -> Cell:
    estimate = Estimate(
        metric=metric, value=value, low=value - reach, high=value + reach, n=n, asked=n, questions=n, errors=0,
        infeasible=0,
    )  # fmt: skip
    return Cell(table, key, "robust", "all", estimate, CellKey(k=5, **place))  # type: ignore[typeddict-item]


def _transition(ratio: float, helped: float, harmed: float) -> list[Cell]:
    p = float(sign_test(round(100 * helped), round(100 * harmed)))
    return [
        _cell("transitions", _BASE, "gain_by_documents", helped - harmed, noise=ratio),
        _cell("transitions", _BASE, "gain_p", p, noise=ratio),
    ]


def _decline(ratio: float, change: float, p: float, same: float = 1.0) -> list[Cell]:
    numbers = {"change": change, "decline_holm": p, "same_holm": same}
    return [_cell("noise", _BASE, metric, value, noise=ratio) for metric, value in numbers.items()]


def _refusals(value: float, reach: float = 0.05) -> list[Cell]:
    return [_cell("rejection", _BASE, "refusal_recall", value, reach, noise=1.0)]


def _closed(value: float) -> Cell:
    return _cell("closed-book", _BASE, "refusal", value)


def _adherence(value: float, reach: float) -> list[Cell]:
    return [_cell("rejection", _BASE, "format_adherence", value, reach, noise=1.0)]


def _integration(value: float, ratio: float = 0.0) -> list[Cell]:
    return [_cell("integration", _INT, "accuracy", value, noise=ratio)]


def _gain(remedy: str, value: float, p: float) -> list[Cell]:
    key = _BASE._replace(profile=f"robust+{remedy}")
    return [_cell("remedies", key, "noise_gain", value), _cell("remedies", key, "noise_gain_p", p)]


def _changes(simple: float, several: float) -> list[Cell]:
    return [
        _cell("noise", _BASE, "accuracy", 0.9, noise=0.0),
        _cell("noise", _BASE, "change", simple, noise=0.4),
        _cell("integration", _INT, "accuracy", 0.9, noise=0.0),
        _cell("integration", _INT, "change", several, noise=0.4),
    ]


def _override(value: float, reach: float = 0.1) -> list[Cell]:
    return [_cell("counterfactual", _FACT, "override_of_known", value, reach, noise=0.0, correct=0.0)]


@pytest.mark.parametrize(
    ("claim", "cells", "verdict"),
    [
        ("C1", _transition(0.0, 0.5, 0.02) + _transition(0.8, 0.3, 0.05), "supported"),
        ("C1", _transition(0.0, 0.5, 0.02) + _transition(0.8, 0.05, 0.3), "contradicted"),
        ("C1", _transition(0.0, 0.5, 0.02) + _transition(0.8, 0.1, 0.1), "inconclusive"),
        ("C2", _decline(0.4, -0.02, 0.9) + _decline(0.8, -0.2, 0.001), "supported"),
        ("C2", _decline(0.4, -0.1, 0.01) + _decline(0.8, -0.2, 0.001), "contradicted"),
        ("C2", _decline(0.8, 0.0, 0.9, same=0.01), "contradicted"),
        ("C2", _decline(0.4, -0.02, 0.9) + _decline(0.8, -0.05, 0.2), "inconclusive"),
        ("C2", _decline(0.4, -0.02, 0.9), "not_enough_data"),
        ("C3", _refusals(0.3), "inconclusive"),  # a weak model says nothing about the best
        ("C3", _refusals(0.6), "contradicted"),
        ("C3", _refusals(0.45), "inconclusive"),
        ("C4", _adherence(0.5, 0.1), "supported"),
        ("C4", _adherence(0.96, 0.03), "contradicted"),
        ("C4", _adherence(0.9, 0.05), "inconclusive"),
        ("C5", _integration(0.5) + _integration(0.3, 0.4), "inconclusive"),
        ("C5", _integration(0.5) + _integration(0.5, 0.4), "contradicted"),
        ("C5", _integration(0.9, 0.2), "not_enough_data"),
        ("C6", _changes(-0.05, -0.3), "supported"),
        ("C6", _changes(-0.3, -0.05), "contradicted"),
        ("C6", _changes(-0.1, -0.12), "inconclusive"),
        ("C8", _override(0.8), "supported"),
        ("C8", _override(0.2), "contradicted"),
        ("C8", _override(0.5), "inconclusive"),
        ("C9", [_closed(0.6), *_refusals(0.2)], "supported"),
        ("C9", [_closed(0.2), *_refusals(0.6)], "contradicted"),
        ("C9", [_closed(0.4), *_refusals(0.42)], "inconclusive"),
        ("C10", _gain("quote", 0.2, 0.01) + _gain("isolate", 0.1, 0.02), "supported"),
        ("C10", _gain("quote", 0.2, 0.01) + _gain("isolate", 0.1, 0.2), "supported"),
        ("C10", _gain("quote", -0.2, 0.01) + _gain("isolate", 0.1, 0.2), "contradicted"),
        ("C10", _gain("quote", 0.2, 0.01) + _gain("isolate", -0.1, 0.02), "inconclusive"),
        ("C10", _gain("quote", 0.2, 0.03) + _gain("isolate", 0.2, 0.03), "inconclusive"),
        ("C10", _gain("numbered", 0.2, 0.01) + _gain("unwarned", -0.2, 0.01), "not_enough_data"),
    ],
)
def test_a_claim_is_decided_by_its_rule(claim: str, cells: list[Cell], verdict: str) -> None:
    finding = CLAIMS[claim](ClaimInputs(cells))
    assert (finding.claim, finding.verdict) == (claim, verdict)


def test_changes_from_different_ratios_are_not_compared() -> None:
    *simple, _, change = _changes(-0.05, -0.3)
    cells = [*simple, _cell("integration", _INT, "accuracy", 0.9, noise=0.2), change]
    assert CLAIMS["C6"](ClaimInputs(cells)).verdict == "not_enough_data"


def test_gains_of_two_testbeds_on_the_same_data_are_judged_separately() -> None:
    helped = _transition(0.0, 0.5, 0.02) + _transition(0.8, 0.3, 0.05)
    useless = _transition(0.0, 0.02, 0.02) + _transition(0.8, 0.02, 0.03)
    several = [replace(cell, place={**cell.place, "arm": "integration"}) for cell in useless]
    finding = CLAIMS["C1"](ClaimInputs(helped + several))
    assert [one.verdict for one in finding.evidence] == ["supported"] * 2 + ["inconclusive"] * 2


def test_refusals_are_compared_under_the_same_instruction_if_possible() -> None:
    instructed = _cell("closed-book", _BASE, "refusal_instructed", 0.6)
    (one,) = CLAIMS["C9"](ClaimInputs([_closed(0.1), instructed, *_refusals(0.2)])).evidence
    assert one.value == pytest.approx(0.4)


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_claims_without_measurements_are_not_decided(claim: str) -> None:
    finding = CLAIMS[claim](ClaimInputs([]))
    assert (finding.verdict, finding.evidence) == ("not_enough_data", ())


def _causes(counts: dict[str, int]) -> list[Cause]:
    types = [name for name, count in counts.items() for _ in range(count)]
    name = "en_int/{}/integration@noise=0,k=5,arm=related,profile=robust,seed=0"
    return [Cause("m", parse_case(name.format(number)), (type_,)) for number, type_ in enumerate(types)]


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ({"E7": 38, "E4": 28, "E5": 28, "E6": 6}, "supported"),
        ({"E7": 5, "E4": 5, "E5": 85, "E6": 5}, "contradicted"),
        ({"E7": 4, "E4": 3, "E5": 3}, "not_enough_data"),
    ],
)
def test_error_shares_are_compared_with_the_paper(counts: dict[str, int], verdict: str) -> None:
    assert CLAIMS["C7"](ClaimInputs([], _causes(counts))).verdict == verdict


def test_error_shares_are_computed_by_profile_and_count_questions_not_repeats() -> None:
    causes = _causes({"E7": 38, "E4": 28, "E5": 28, "E6": 6})
    name = "en_int/{}/integration@noise=0,k=5,arm=related,profile=code-2024,seed=0"
    other = [cause._replace(case=parse_case(name.format(number))) for number, cause in enumerate(causes)]
    found = CLAIMS["C7"](ClaimInputs([], [*causes, *(cause._replace(repeat=1) for cause in causes), *other])).evidence
    assert {(row.key.profile, row.n) for row in found} == {("robust", 100), ("code-2024", 100)}


def test_error_shares_of_a_monitored_run_decide_nothing() -> None:
    causes = [cause._replace(is_monitored=True) for cause in _causes({"E7": 5, "E4": 5, "E5": 85, "E6": 5})]
    finding = CLAIMS["C7"](ClaimInputs([], causes))
    assert finding.verdict == "inconclusive"
    assert {(row.low, row.high) for row in finding.evidence} == {(None, None)}


def test_a_strategy_is_no_evidence_about_the_plain_prompt() -> None:
    remedied = _cell("rejection", _BASE._replace(profile="robust+quote"), "refusal_recall", 0.9, noise=1.0)
    assert CLAIMS["C3"](ClaimInputs([*_refusals(0.3), remedied])).verdict == "inconclusive"


def test_one_counterexample_among_many_models_is_enough() -> None:
    other = TrialGroup("n", "en", "en", "robust")
    cells = [*_refusals(0.3), _cell("rejection", other, "refusal_recall", 0.9, noise=1.0)]
    finding = CLAIMS["C3"](ClaimInputs(cells))
    assert finding.verdict == "contradicted"
    assert [one.verdict for one in finding.evidence] == ["inconclusive", "contradicted"]


def test_p_values_are_adjusted_for_the_number_of_rows() -> None:
    alone = CLAIMS["C9"](ClaimInputs([_closed(0.5), *_refusals(0.4)])).evidence[0]
    other = TrialGroup("n", "en", "en", "robust")
    more = [_cell("closed-book", other, "refusal", 0.4), _cell("rejection", other, "refusal_recall", 0.4, noise=1.0)]
    both = CLAIMS["C9"](ClaimInputs([_closed(0.5), *_refusals(0.4), *more])).evidence[0]
    assert alone.p is not None
    assert both.p == pytest.approx(2 * alone.p)


def _with_questions(cells: list[Cell], questions: int) -> list[Cell]:
    return [replace(cell, estimate=structs.replace(cell.estimate, questions=questions)) for cell in cells]


_DECIDED = {
    "C1": _transition(0.0, 0.5, 0.02) + _transition(0.8, 0.3, 0.05),
    "C2": _decline(0.8, -0.2, 0.001),
    "C3": _refusals(0.6),
    "C4": _adherence(0.5, 0.1),
    "C5": _integration(0.9),
    "C6": _changes(-0.05, -0.3),
    "C8": _override(0.8),
    "C9": [_closed(0.6), *_refusals(0.2)],
    "C10": _gain("quote", 0.2, 0.01),
}


@pytest.mark.parametrize("claim", list(_DECIDED))
def test_a_claim_needs_the_minimum_number_of_questions(claim: str) -> None:
    enough = CLAIMS[claim](ClaimInputs(_with_questions(_DECIDED[claim], MIN_QUESTIONS)))
    too_few = CLAIMS[claim](ClaimInputs(_with_questions(_DECIDED[claim], MIN_QUESTIONS - 1)))
    assert enough.verdict in ("supported", "contradicted")
    assert (too_few.verdict, too_few.evidence) == ("not_enough_data", ())


def test_repeats_of_a_few_questions_are_not_many_questions() -> None:
    counterexample = _with_questions([_cell("rejection", _BASE, "refusal_recall", 0.9, n=100, noise=1.0)], 5)
    assert CLAIMS["C3"](ClaimInputs(counterexample)).verdict == "not_enough_data"


@pytest.mark.parametrize("model", ["baseline/lexical", "scripted/gullible"])
def test_baselines_and_scripted_models_do_not_count(model: str) -> None:
    key = _BASE._replace(model=model)
    cells = [*_refusals(0.3), _cell("rejection", key, "refusal_recall", 0.9, noise=1.0)]
    assert [one.key.model for one in CLAIMS["C3"](ClaimInputs(cells)).evidence] == ["m"]
    causes = [cause._replace(model=model) for cause in _causes({"E4": 40})]
    assert CLAIMS["C7"](ClaimInputs([], causes)).verdict == "not_enough_data"


def test_errors_on_few_questions_are_not_enough() -> None:
    (cause,) = _causes({"E4": 1})
    assert CLAIMS["C7"](ClaimInputs([], [cause] * 100)).verdict == "not_enough_data"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_finding_has_a_text_in_both_languages(lang: str) -> None:
    words = read_words("zh" if lang == "zh" else "en")
    cells = _transition(0.0, 0.5, 0.02) + _decline(0.8, -0.2, 0.001) + _refusals(0.3) + _adherence(0.5, 0.1)
    cells += _integration(0.5) + _changes(-0.1, -0.2) + _override(0.8) + [_closed(0.5)] + _gain("quote", 0.1, 0.01)
    findings = check_claims(ClaimInputs(cells, _causes({"E4": 40})))
    assert sum(bool(finding.evidence) for finding in findings) == 10
    for finding in findings:
        assert all(tell_finding(finding, words))
        for one in finding.evidence:
            assert len(tell_evidence(finding.claim, one, words)) == len(evidence_columns(words))
