"""What a report says about a model in sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import Cell, CellKey
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.reporting.summary import group_findings, make_standings, summarise
from ragbed.schema import Estimate

_EN = TrialGroup("m", "en_base", "en", "robust")


def _cell(
    table: str, metric: str, value: float | None, *, key: TrialGroup = _EN, questions: int = 100, **of: float
) -> Cell:
    counts = {name: int(of.pop(name, 0)) for name in ("errors", "filtered")}
    estimate = Estimate(
        metric=metric, value=value, low=of.pop("low", None), high=of.pop("high", None), n=int(of.pop("n", questions)),
        questions=questions, asked=questions, infeasible=0, **counts,
    )  # fmt: skip
    return Cell(table, key, "robust", "all", estimate, CellKey(k=5, **of))  # type: ignore[typeddict-item]


def _noise(first: float, last: float, low: float | None, high: float | None, *, ratio: float = 0.5) -> list[Cell]:
    change = _cell("noise", "change", last - first, noise=ratio)
    return [
        _cell("noise", "accuracy", first, noise=0.0),
        _cell("noise", "accuracy", last, noise=ratio),
        replace(change, estimate=structs.replace(change.estimate, low=low, high=high)),
    ]


def _say(cells: list[Cell], lang: str = "en") -> str:
    words = read_words("zh" if lang == "zh" else "en")
    ((texts,),) = (found.values() for found in group_findings(summarise(cells, "robust", words)).values())
    return ("" if lang == "zh" else " ").join(texts)


def test_the_summary_has_a_sentence_for_each_finding_and_the_biggest_failure_first() -> None:
    cells = _noise(0.91, 0.27, -0.7, -0.5)
    cells.append(_cell("rejection", "refusal_recall", 0.0, questions=60, n=120, low=0.0, high=0.06, noise=1.0))
    cells.append(_cell("rejection", "false_refusal", 0.0, noise=1.0))
    cells.append(_cell("counterfactual", "misled_at_all", 0.82, low=0.735, high=0.884, noise=0.0))
    assert _say(cells) == (
        "When no document contains the answer, the model correctly refuses 0% [0, 6] of 120 cases. "
        "False documents mislead the model on 82% [74, 88] of 100 questions. "
        "Accuracy falls from 91% to 27% of 100 questions when half of the documents are noise."
    )
    assert _say(cells, "zh") == (
        "所有文档都不含答案时，模型正确拒答 120 个用例中的 0% [0, 6]。"
        "模型在 100 个问题中的 82% [74, 88] 上听信错误文档。50% 的文档为噪声时，100 个问题的正确率从 91% 降至 27%。"
    )


def test_closed_book_accuracy_is_about_the_questions_of_the_noise_testbed() -> None:
    facts = TrialGroup("m", "en_fact", "en", "robust")
    cells = [*_noise(0.9, 0.9, -0.1, 0.1), _cell("counterfactual", "misled_at_all", 1.0, key=facts, noise=0.0)]
    closed = [_cell("closed-book", "accuracy", 0.0), _cell("closed-book", "accuracy", 0.5, key=facts)]
    cells += [replace(cell, place=CellKey()) for cell in closed]
    assert _say(cells) == (
        "False documents mislead the model on 100% of 100 questions. Accuracy stays at 90% of 100 questions when half "
        "of the documents are noise. Without documents, the model answers 0% of 100 questions correctly."
    )


def test_only_a_significant_change_has_a_direction() -> None:
    assert _say(_noise(0.9, 0.8, -0.2, 0.01)).endswith("but the difference is not significant.")
    assert _say(_noise(0.8, 0.9, 0.02, 0.2, ratio=0.8)) == (
        "Accuracy rises from 80% to 90% of 100 questions when 80% of the documents are noise."
    )
    assert _say(_noise(0.8, 0.8, -0.1, 0.1)).startswith("Accuracy stays at 80% of 100 questions when half")
    assert _say(_noise(0.9, 0.8, None, None)).startswith("Accuracy changes from 90% to 80% of 100 questions when half")


def test_a_paired_change_in_the_other_direction_has_no_direction() -> None:
    assert _say(_noise(0.4, 0.62, -0.5, -0.2)).startswith("Accuracy changes from 40% to 62% of")
    assert _say(_noise(0.62, 0.4, 0.2, 0.5)).startswith("Accuracy changes from 62% to 40% of")


def test_only_0_and_1_are_shown_as_0_and_100_percent() -> None:
    assert "refuses <1% of" in _say([_cell("rejection", "refusal_recall", 0.001, noise=1.0)])
    assert "refuses >99% of" in _say([_cell("rejection", "refusal_recall", 0.999, noise=1.0)])
    assert "refuses 100% of 1 question." in _say([_cell("rejection", "refusal_recall", 1.0, questions=1, noise=1.0)])


def test_failures_are_mentioned() -> None:
    assert _say([_cell("noise", "accuracy", 0.5, questions=12, noise=0.0, errors=3)]) == (
        "The model answers 50% of 12 questions correctly without noise. Under at least one condition, 3 of 12 calls "
        "failed; failed calls count as wrong."
    )
    for errors in (100, 40, 0):
        assert _say([_cell("noise", "accuracy", 0.0, noise=0.0, errors=errors, filtered=100 - errors)]) == (
            "No call returned a response, so there is nothing to score."
        )


def test_filtered_calls_are_not_called_failed() -> None:
    cells = [_cell("noise", "accuracy", 0.5, noise=0.0, filtered=3)]
    assert _say(cells) == (
        "The model answers 50% of 100 questions correctly without noise. Under at least one condition, 3 of 100 calls "
        "were blocked by the provider's content filter; filtered calls count as wrong."
    )
    assert "失败" not in _say(cells, "zh")


def test_an_infeasible_condition_is_not_counted() -> None:
    cells = [_cell("noise", "accuracy", None, questions=0, noise=0.0), _cell("closed-book", "accuracy", 0.4)]
    assert _say(cells) == "Without documents, the model answers 40% of 100 questions correctly."
    assert summarise(cells[:1], "robust", read_words("en")) == []


def test_languages_have_a_paragraph_each_and_prompting_strategies_none() -> None:
    chinese, remedy = _EN._replace(data="zh_base", lang="zh"), _EN._replace(profile="robust+quote")
    cells = [_cell("noise", "accuracy", value, key=key, noise=0.0)
             for key, value in ((remedy, 0.1), (_EN, 0.5), (chinese, 0.7))]  # fmt: skip
    told = summarise(cells, "robust", read_words("en"))
    assert [(one.model, one.lang, one.text, one.failure) for one in told] == [
        ("m", "English", "The model answers 50% of 100 questions correctly without noise.", 0.5),
        ("m", "Chinese", "The model answers 70% of 100 questions correctly without noise.", pytest.approx(0.3)),
    ]


def test_a_second_dataset_is_mentioned() -> None:
    cells = [_cell("noise", "accuracy", 0.5, noise=0.0),
             _cell("noise", "accuracy", 0.6, key=_EN._replace(data="en_refine"), noise=0.0)]  # fmt: skip
    assert _say(cells).endswith(
        "These results are for en_base with 5 documents. The tables also cover the other datasets and settings."
    )


def _row_cell(table: str, data: str, metric: str, value: float | None, **place: float) -> Cell:
    cell = _cell(table, metric, value, key=_EN._replace(data=data))
    return replace(cell, place=CellKey(**place))  # type: ignore[typeddict-item]


def test_abilities_of_different_datasets_share_a_row() -> None:
    cells = [
        _row_cell("noise", "base", "accuracy", 0.9, noise=0.0, k=5),
        _row_cell("noise", "base", "accuracy", 0.5, noise=0.8, k=5),
        _row_cell("integration", "int", "accuracy", 0.7, noise=0.0, k=5),
        _row_cell("closed-book", "base", "accuracy", 0.1),
        _row_cell("closed-book", "int", "accuracy", 0.2),
    ]
    (row,) = make_standings(cells, "robust")
    shown = {name: estimate.value for name, estimate in row.cells.items()}
    assert shown == {"noise_first": 0.9, "noise_last": 0.5, "integration": 0.7, "closed_book": 0.1}
    assert row.data == ["base", "int"]


def test_all_values_of_a_dataset_are_in_one_row() -> None:
    cells = [
        *(_row_cell("noise", data, "accuracy", value, noise=0.0, k=5) for data, value in (("en", 0.4), ("other", 0.6))),
        _row_cell("rejection", "other", "refusal_recall", 0.2, noise=1.0, k=5),
        _row_cell("integration", "int", "accuracy", 0.7, noise=0.0, k=5),
    ]
    first, second = make_standings(cells, "robust")
    assert (first.data, list(first.cells)) == (["en", "int"], ["noise_first", "noise_last", "integration"])
    assert (second.data, list(second.cells)) == (["other"], ["noise_first", "noise_last", "refuses"])


def test_ratios_without_feasible_cases_are_not_shown() -> None:
    values = {0.0: None, 0.2: 0.9, 0.6: 0.5, 0.8: None}
    cells = [_row_cell("noise", "en", "accuracy", value, noise=ratio, k=5) for ratio, value in values.items()]
    (row,) = make_standings(cells, "robust")
    assert {name: estimate.value for name, estimate in row.cells.items()} == {"noise_first": 0.9, "noise_last": 0.5}
