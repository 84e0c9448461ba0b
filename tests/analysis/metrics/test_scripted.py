"""Metrics of scripted models have the computed values, on every testbed and profile."""

from __future__ import annotations

import pytest

from ragbed.models.scripted import SCRIPTS
from tests.analysis.metrics.scripted import SCORERS, SHARES, found

_PAPER, _CODE_2023 = (pytest.param(profile, marks=pytest.mark.slow) for profile in ("paper", "code-2023"))
_PROFILES = ("robust", _PAPER, _CODE_2023, "code-2024")
_NOISE = (0, 0.2, 0.4, 0.6, 0.8)

# Each row: oracle, refuser, majority, memory, gullible, echo; what does not depend on where documents stand.
_STEADY = ("oracle", "refuser", "majority", "memory", "gullible", "echo")
_EVERYWHERE: dict[tuple[str, float | None], tuple[float | None, ...]] = {
    **{("base.noise.accuracy", ratio): (1, 0, 1, 1, 1, 1) for ratio in _NOISE},
    **{("base.noise.false_refusal", ratio): (0, 1, 0, 0, 0, 0) for ratio in _NOISE},
    **{("base.noise.false_alarm", ratio): (0, 0, 0, 0, 0, 0) for ratio in _NOISE},
    ("base.noise.auc", None): (1, 0, 1, 1, 1, 1),
    **{("base.noise.change", ratio): (0, 0, 0, 0, 0, 0) for ratio in _NOISE[1:]},
    ("base.rejection.refusal_recall", 1): (1, 1, 1, 0, 0, 0),
    ("base.rejection.correct_without_evidence", 1): (0, 0, 0, 1, 1, 0),
    ("base.rejection.wrong_without_evidence", 1): (0, 0, 0, 0, 0, 1),
    ("base.rejection.false_refusal", None): (0, 1, 0, 0, 0, 0),
    ("base.rejection.refusal_f1", None): (1, 2 / 3, 1, 0, 0, 0),
    ("base.rejection.balanced_accuracy", None): (1, 0.5, 1, 0.5, 0.5, 0.5),
    **{("int.integration.accuracy", ratio): (1, 0, 1, 1, 1, 1) for ratio in _NOISE[:3]},
    **{("int.integration.false_refusal", ratio): (0, 1, 0, 0, 0, 0) for ratio in _NOISE[:3]},
    ("int.integration.auc", None): (1, 0, 1, 1, 1, 1),
    **{("base.noise.gain_by_documents", ratio): (1, 0, 1, 0, 0, 1) for ratio in _NOISE},
}

# To copy all documents is no answer on the robust scorer, whatever they hold.
_COPYING: dict[tuple[str, float | None], float | None] = {
    **{("base.noise.accuracy", ratio): 0 for ratio in _NOISE},
    ("base.noise.auc", None): 0,
    **{("int.integration.accuracy", ratio): 0 for ratio in _NOISE[:3]},
    ("int.integration.auc", None): 0,
    **{("base.noise.gain_by_documents", ratio): 0 for ratio in _NOISE},
}

_TRUE_SHARES: dict[str, tuple[float, ...]] = {  # accuracy where 0, 0.2, … 1 of the documents are true
    "oracle": (0, 1, 1, 1, 1, 1),
    "refuser": (0, 0, 0, 0, 0, 0),
    "first-doc": SHARES,
    "last-doc": SHARES,
    "majority": (0, 0, 0, 1, 1, 1),
    "memory": (1, 1, 1, 1, 1, 1),
    "gullible": (0, 0, 0, 0, 0, 0),
    "echo": (0, 1, 1, 1, 1, 1),
    **dict.fromkeys(("obedient", "deaf"), (0, 1, 1, 1, 1, 1)),
}


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("profile", _PROFILES)
@pytest.mark.parametrize("script", _STEADY)
def test_scripted_models_have_the_expected_metrics(script: str, profile: str, lang: str, scorer: str) -> None:
    cells = found(script, lang, profile)
    expected = {where: row[_STEADY.index(script)] for where, row in _EVERYWHERE.items()}
    if (script, scorer) == ("echo", "robust"):
        expected |= _COPYING
    seen = {(name, noise): cells.value(name, script, scorer, noise=noise, k=5) for name, noise in expected}
    assert seen == {where: None if value is None else pytest.approx(value) for where, value in expected.items()}


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("profile", ["robust", _PAPER])
@pytest.mark.parametrize("script", ["first-doc", "last-doc"])
def test_one_document_gives_its_share_of_the_accuracy(script: str, profile: str, lang: str, scorer: str) -> None:
    cells = found(script, lang, profile)
    for ratio in _NOISE:
        assert cells.value("base.noise.accuracy", script, scorer, noise=ratio, k=5) == pytest.approx(1 - ratio)
        if ratio:
            assert cells.value("base.noise.change", script, scorer, noise=ratio, k=5) == pytest.approx(-ratio)
            same = cells.value("base.noise.accuracy", script, scorer, noise=ratio, k=5, arm="random")
            assert same == pytest.approx(1 - ratio)
    assert cells.value("base.noise.auc", script, scorer, k=5) == pytest.approx(0.6)
    for k in (2, 5):
        assert cells.value("base.noise.accuracy", script, scorer, k=k, arm="fixed") == pytest.approx(1 / k)
        assert cells.value("base.noise.noise_effect", script, scorer, k=k, arm="fixed") == pytest.approx(1 / k - 1)
        # One Chinese question of fifty has no neighbour to cut a control from, so that the slots are one short.
        control = cells.value("base.noise.length_effect", script, scorer, k=k, arm="control")
        assert control == pytest.approx(1 / k - 1, abs=1 / 49)
    assert cells.value("int.integration.accuracy", script, scorer, noise=0, k=5) == 0
    assert cells.value("base.noise.gain_by_documents", script, scorer, noise=0.6, k=5) == pytest.approx(0.4)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("profile", [_CODE_2023, "code-2024"])
@pytest.mark.parametrize(("script", "accuracy"), [("first-doc", (1, 1, 1, 1, 0)), ("last-doc", (1, 1, 1, 1, 1))])
def test_the_original_order_favours_the_last_document(
    script: str, accuracy: tuple[int, ...], profile: str, lang: str
) -> None:
    cells = found(script, lang, profile)
    seen = [cells.value("base.noise.accuracy", script, "code", noise=ratio, k=5) for ratio in _NOISE]
    assert seen == list(accuracy)


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("script", list(SCRIPTS))
def test_counterfactual_metrics_follow_the_share_of_true_documents(script: str, lang: str, scorer: str) -> None:
    cells = found(script, lang, "robust")

    def value(metric: str, **place: object) -> float | None:
        return cells.value(f"fact.counterfactual.{metric}", script, scorer, **place)  # type: ignore[arg-type]

    expected = (0,) * len(SHARES) if (script, scorer) == ("echo", "robust") else _TRUE_SHARES[script]
    seen = [value("accuracy", correct=share, noise=0, k=5) for share in SHARES]
    assert seen == pytest.approx(expected)
    assert value("error_detection", correct=0, noise=0, k=5) == 0
    assert value("corrected_of_flagged", correct=0, noise=0, k=5) is None
    assert value("false_alarm", correct=1, noise=0, k=5) == 0


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    ("script", "knows", "refuses"),
    [("oracle", 0, 1), ("refuser", 0, 1), ("majority", 0, 1), ("memory", 1, 0), ("gullible", 1, 0), ("echo", 0, 0)],
)
def test_closed_book_has_accuracy_and_refusals(script: str, knows: int, refuses: int, lang: str) -> None:
    cells = found(script, lang, "robust")
    assert cells.value("base.closed-book.accuracy", script, "code") == knows
    assert cells.value("base.closed-book.refusal", script, "code") == refuses


@pytest.mark.parametrize(("script", "slot"), [("first-doc", 0), ("last-doc", 4)])
def test_all_positions_show_which_position_is_read(script: str, slot: int) -> None:
    cells = found(script, "en", "robust", rotate=True)
    for place in range(5):
        seen = cells.value("base.position.accuracy_by_slot", script, "code", noise=0.8, k=5, slot=place)
        assert seen == (place == slot)
    assert cells.value("base.position.order_robustness", script, "code", noise=0.8, k=5) == 0
    assert (cells.value("base.position.position_p", script, "code", noise=0.8, k=5) or 1) < 1e-9
    assert cells.value("base.noise.accuracy", script, "code", noise=0.8, k=5) == pytest.approx(0.2)


def test_a_model_that_reads_everything_is_robust_to_order() -> None:
    cells = found("oracle", "en", "robust", rotate=True)
    assert cells.value("base.position.order_robustness", "oracle", "code", noise=0.8, k=5) == 1
    assert cells.value("base.position.position_p", "oracle", "code", noise=0.8, k=5) == 1
