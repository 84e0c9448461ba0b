"""Quality reports: RGB's published values measured again, gates, and pages that can hold any text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ragbed.builder.quality import FAMILIES, Quality, measure_quality
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, QualityGate, concentration, divergence, entropy
from ragbed.builder.quality.page import show_value, write_page
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.schema import Item
from tests.items import base_item, fact_item, integration_item

# RGB's values in docs/reference/build.md: file, measure, value as it is shown, out of
REFERENCE = [
    ("zh_refine", "label fidelity, supporting", 2566, 2571),
    ("zh_refine", "label fidelity, distracting", 5142, 5144),
    ("zh_refine", "pool size", "26", 300),
    ("zh_refine", "fills every ratio", 300, 300),
    ("zh_refine", "passage length", "208", 7715),
    ("zh_refine", "duplicate rate", 1070, 7715),
    ("zh_refine", "cross-label duplicates", "95", 7715),
    ("zh_refine", "several parts", 43, 300),
    ("zh_refine", "topic entropy", "9.98", 2033),
    ("zh_refine", "aliases", 17, 300),
    ("en_fact", "label fidelity, supporting", 395, 395),
    ("en_fact", "label fidelity, distracting", 594, 594),
    ("en_fact", "passage length", "28", 989),
    ("en_fact", "topic entropy", "7.02", 392),
    ("en_fact", "duplicate rate", 5, 989),
    ("en_fact", "unusable false answers", "0", 100),
    ("en_fact", "counterfactual items with 5 edits", 38, 100),
    ("en_fact", "unusable edits", "17", 395),
    ("zh_int", "integration shortcuts", "13", 1578),
    ("zh_int", "passage length", "215", 5762),
    ("zh_int", "duplicate rate", 941, 5762),
    ("zh_int", "cross-label duplicates", "61", 5762),
]


@cache
def _published(path: Path) -> dict[str, Measure]:
    dataset = Dataset(path.stem, path)
    if path.stem == "zh_int":
        return _measure(*dataset.items(), families=("pools", "abilities"))
    return _figures(measure_quality([dataset]))


def _figures(quality: Quality) -> dict[str, Measure]:
    return {one.name: one for family in quality.families.values() for one in family}


@pytest.mark.parametrize(
    ("file", "name", "value", "n"),
    [pytest.param(*row, marks=[pytest.mark.slow] * (row[0] == "zh_refine")) for row in REFERENCE],
)
def test_the_reference_values_are_measured_again(file: str, name: str, value: int | str, n: int, rgb_dir: Path) -> None:
    measure = _published(rgb_dir / f"{file}.json")[name]
    assert (measure.hits if isinstance(value, int) else show_value(measure)) == value
    assert measure.n == n


def _measure(*items: Item, families: Iterable[str] = FAMILIES) -> dict[str, Measure]:
    chosen = [FAMILIES[name]() for name in families]
    for item in items:
        look = ItemView(item)
        for family in chosen:
            family.add(look)
    return {one.name: one for family in chosen for one in family.results()}


@pytest.mark.parametrize(
    ("item", "name", "passed"),
    [
        (base_item(), "fills every ratio", "passed"),
        (base_item(supports=4), "fills every ratio", "failed"),
        (base_item(supports=1), "fills every ratio", "no gate"),
        (base_item(), "contamination", "not measured"),
        (replace(base_item(), date="2026-10-01"), "contamination", "not measured"),
        (replace(base_item(), date="March 5, 2024"), "contamination", "not measured"),
        (replace(base_item(), known_by=("some/model",)), "contamination", "failed"),
        (replace(fact_item(0), known_by=("some/model",)), "known counterfactual items", "passed"),
        (base_item(question="Is it gold-0-gold?"), "answers in questions", "failed"),
        (base_item(question="Is it gold-0-gold?"), "yes-or-no questions", "failed"),
        (base_item(question="《潮声》是否获奖？", lang="zh"), "yes-or-no questions", "failed"),
        (integration_item(0, (1, 1)), "parts without evidence", "failed"),  # its passages say 'part 0', not 'part-0'
        (base_item(), "hosts per item", "not measured"),
    ],
)
def test_a_gate_holds_or_does_not(item: Item, name: str, passed: str) -> None:
    assert _measure(item)[name].passed == passed


def _on_pages(item: Item, pages: list[str], text: str) -> Item:
    return replace(item, passages=tuple(replace(item.passages[0], text=text, page=page) for page in pages))


def test_boilerplate_counts_pages_and_not_the_items_that_use_them() -> None:
    sentence = "Subscribe to our weekly newsletter."
    items = [_on_pages(base_item(), ["a", "b"], sentence) for _ in range(4)]
    assert _measure(*items)["boilerplate"].hits == 0
    assert _measure(*items, _on_pages(base_item(), ["c"], sentence))["boilerplate"].passed == "failed"


def test_a_fluent_variant_repeats_no_question_but_a_second_one_does() -> None:
    fact = fact_item(0)
    fluent = replace(
        fact,
        id="fluent",
        passages=tuple(replace(one, kind="rewritten") if one.stance == "contradicts" else one for one in fact.passages),
    )
    assert _measure(fact, fluent)["repeated questions"].value == 0
    assert _measure(fact, fluent, replace(fluent, id="again"))["repeated questions"].value == 1
    assert _measure(fact, replace(fact, id="again"))["repeated questions"].value == 1


def test_every_figure_says_what_it_means_and_what_rgbs_is() -> None:
    (dataset,) = open_data(["ragbed-mini-en_fact"])
    for measure in _figures(measure_quality([dataset])).values():
        assert measure.meaning
        assert measure.reference
        assert measure.value is not None or measure.note


def test_a_dataset_without_items_is_not_measured() -> None:
    assert {one.passed for one in _measure().values()} <= {"not measured", "no gate"}


@pytest.mark.parametrize(
    ("gate", "value", "passed"),
    [
        (QualityGate("≥", 0.95), 0.95, "passed"),
        (QualityGate("≥", 0.95), 0.949, "failed"),
        (QualityGate("≤", 0.02), 0.0, "passed"),
        (QualityGate("=", 0), 1, "failed"),
        (QualityGate("=", 0), None, "not measured"),
    ],
)
def test_a_gate_judges(gate: QualityGate, value: float | None, passed: str) -> None:
    assert gate.judge(value) == passed


def test_distances_between_distributions() -> None:
    assert divergence({"a": 1, "b": 1}, {"a": 5, "b": 5}) == 0
    assert divergence({"a": 3}, {"b": 7}) == 1
    assert entropy({"a": 1, "b": 1, "c": 1, "d": 1}) == 2
    assert concentration({"a": 1, "b": 1}) == 0.5


def test_the_page_has_no_script_and_takes_text_as_text() -> None:
    attack = "<script>alert(1)</script>"
    (dataset,) = open_data(["ragbed-mini-zh_fact"])
    quality = replace(measure_quality([dataset]), data={attack: ""}, steps={attack: (3, 1)})
    page = write_page(quality)
    assert "<script" not in page
    assert "default-src 'none'" in page.replace("&#39;", "'")
    assert not re.search(r"""(?:src|href)=["']|url\(|@import""", page)
    for measure in _figures(quality).values():
        assert measure.name in page


def test_a_report_survives_a_round_trip() -> None:
    (dataset,) = open_data(["ragbed-mini-en_base"])
    quality = measure_quality([dataset])
    assert msgspec.json.decode(msgspec.json.encode(quality), type=Quality) == quality
