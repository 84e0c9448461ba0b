"""Counts of the published files, as one table: lint rule, definition and counts.

All counts were made on the published files, so that a change of a rule is noticed. The tests at the end explain two
counts that look wrong. What the original code puts into prompts is in test_published_layouts.py.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES, DatasetCheck, LintFinding
from ragbed.analysis.linting.counts import RuleCount
from ragbed.analysis.linting.rules import View
from ragbed.analysis.linting.statistics import Statistics
from ragbed.data import Dataset

Checked = dict[str, tuple[list[LintFinding], DatasetCheck]]
PINS = {
    "en_fact": "92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5",
    "zh_int": "e2ddb0461e2130f4b006996a574a89d5898989ff8b15f51d900c17162c7d1b17",
    "zh_refine": "7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563",
}
FILES = tuple(PINS)
DOCUMENTED = Path(__file__).parents[3] / "docs" / "project" / "data" / "lint-counts.csv"

# rule, definition, what is counted, (en_fact, zh_int, zh_refine); None: not counted
COUNTS: list[tuple[str, str | None, str, tuple[int | None, int | None, int | None]]] = [
    ("record", None, "items", (0, 0, 0)),
    ("gold-in-negative", "plain", "documents", (0, 0, 2)),
    ("gold-in-negative", "plain", "items", (0, 0, 1)),
    ("gold-in-negative", "spaceless", "documents", (0, 0, 4)),
    ("gold-in-negative", "spaceless", "items", (0, 0, 3)),
    ("loose-gold-in-negative", None, "documents", (None, None, 5)),
    ("loose-gold-in-negative", None, "items", (None, None, 5)),
    ("gold-part-in-negative", "spaceless", "documents", (0, 16, None)),
    ("gold-part-in-negative", "spaceless", "items", (0, 9, None)),
    ("negatives-hold-gold", "spaceless", "items", (0, 3, None)),
    ("positive-without-gold", "plain", "documents", (0, 0, 5)),
    ("positive-without-gold", "spaceless", "documents", (0, 0, 4)),
    ("positive-without-gold", "spaceless", "items", (0, 0, 4)),
    ("slot-without-positive", None, "items", (None, 0, None)),
    ("gold-inside-longer", "spaceless", "documents", (None, 29, 6)),
    ("gold-inside-longer", "spaceless", "items", (None, 10, 4)),
    ("gold-inside-longer", "plain", "documents", (None, 25, None)),
    ("gold-inside-longer", "plain", "items", (None, 7, None)),
    ("question-holds-gold", "plain", "items", (0, 0, 0)),
    ("question-holds-gold", "spaceless", "items", (0, 0, 0)),
    ("one-document-holds-all", None, "documents", (0, 0, 0)),
    ("fake-equals-gold", None, "items", (0, 0, 0)),
    ("fake-holds-gold", None, "items", (0, 0, 0)),
    ("gold-in-edit", "plain", "documents", (2, 0, 0)),
    ("gold-in-edit", "apart", "documents", (2, 0, 0)),
    ("gold-in-edit", None, "items", (2, 0, 0)),
    ("edit-unchanged", None, "documents", (2, 0, 0)),
    ("exact-duplicate", "supports", "documents", (None, 30, 77)),
    ("exact-duplicate", "supports", "items", (None, 17, 56)),
    ("exact-duplicate", "distracts", "documents", (None, 376, 121)),
    ("exact-duplicate", "distracts", "items", (None, 66, 51)),
    ("exact-duplicate", None, "documents", (None, 406, 198)),
    ("near-duplicate", None, "documents", (5, 941, 1070)),
    ("near-duplicate", None, "items", (None, 92, 272)),
    ("cross-label-duplicate", None, "documents", (None, 61, 95)),
    ("both-labels", None, "documents", (0, 0, 0)),
    ("duplicate-question", "same dataset", "items", (0, 0, 0)),
    ("duplicate-question", "other dataset", "items", (0, 0, 15)),
    ("short-gold", "≤1", "items", (0, 1, 1)),
    ("short-gold", "≤2", "items", (0, 33, 86)),
    ("short-gold", "≤3", "items", (0, 37, 101)),  # names are not counted here; STATISTICS counts all answers
    ("digits-only-gold", None, "items", (0, 6, 17)),
    ("single-form", None, "items", (72, 91, 283)),
    ("single-form-number", None, "items", (5, 42, 131)),
    ("flat-list", None, "items", (None, 91, 43)),
    ("space-in-alias", None, "items", (0, 1, 2)),
    ("unwinnable-slot", None, "items", (0, 0, 0)),
    ("edge-space", None, "items", (1, 0, 0)),
    ("odd-characters", None, "documents", (1, 171, 220)),
    ("markup", None, "documents", (0, 28, 38)),
    ("braces", None, "documents", (0, 1, 3)),
    ("prompt-words", "words", "documents", (None, 1, 3)),
    ("prompt-words", "template", "documents", (0, 0, 0)),
    ("key-phrases", None, "documents", (None, 1, 1)),
    ("empty-pool", None, "items", (0, 0, 0)),
    ("slots-groups", None, "items", (0, 12, 0)),
    (
        "accidental-match",
        None,
        "items",
        (None, None, 24),
    ),  # matched by more than 1 % of the documents of other questions
    ("edge-punctuation", None, "items", (0, 0, 1)),
    ("joined-alias", None, "items", (0, 0, 0)),
    ("repeated-alias", None, "items", (2, 0, 0)),
    ("gold-holds-fake", None, "items", (0, 0, 0)),
    ("edit-without-fake", None, "documents", (2, 0, 0)),  # the two unchanged passages
    ("blank-document", None, "documents", (0, 0, 0)),
]

# file, rule, definition, items
NAMED: list[tuple[str, str, str | None, set[int]]] = [
    ("zh_refine", "gold-in-negative", "plain", {238}),
    ("zh_refine", "gold-in-negative", "spaceless", {184, 238, 265}),
    ("zh_refine", "positive-without-gold", "plain", {92, 104, 111, 177, 211}),
    ("zh_refine", "positive-without-gold", "spaceless", {92, 111, 177, 211}),
    ("zh_refine", "space-in-alias", None, {46, 88}),
    ("zh_int", "space-in-alias", None, {52}),
    ("zh_int", "gold-inside-longer", "plain", {13, 30, 40, 59, 61, 71, 82}),
    ("en_fact", "edit-unchanged", None, {43, 73}),
    ("en_fact", "gold-in-edit", None, {43, 73}),
    ("en_fact", "edge-space", None, {73}),
]

# file, path into the statistics, value; a tuple is minimum, median and maximum
STATISTICS: list[tuple[str, str, object]] = [
    ("en_fact", "records", 100),
    ("zh_int", "records", 100),
    ("zh_refine", "records", 300),
    ("en_fact", "kinds", {"counterfactual": 100}),
    ("zh_int", "kinds", {"integration": 100}),
    ("zh_refine", "kinds", {"base": 300}),
    ("en_fact", "shapes_answer", {"string": 72, "list of lists": 28}),
    ("en_fact", "shapes_fakeanswer", {"string": 100}),
    ("zh_int", "shapes_answer", {"list of strings": 91, "list of lists": 2, "mixed": 7}),
    ("zh_int", "shapes_asnwer1", {"list of strings": 96, "list of lists": 3, "mixed": 1}),
    ("zh_int", "shapes_answer2", {"list of strings": 77, "list of lists": 7, "empty list": 16}),
    ("zh_refine", "shapes_answer", {"list of strings": 283, "list of lists": 17}),
    ("zh_int", "answer_parts", {"2": 76, "3": 12, "4": 7, "5": 3, "7": 2}),
    ("zh_int", "groups", {"2": 88, "3": 7, "4": 2, "5": 1, "7": 2}),
    ("zh_int", "documents.group", (1, 5, 30)),
    ("en_fact", "documents.supports", (1, 3.5, 9)),
    ("en_fact", "documents.contradicts", (1, 3.5, 9)),
    ("en_fact", "documents.distracts", (1, 6, 9)),
    ("zh_int", "documents.supports", (4, 14.5, 41)),
    ("zh_int", "documents.distracts", (5, 43, 74)),
    ("zh_refine", "documents.supports", (5, 7, 29)),
    ("zh_refine", "documents.distracts", (5, 16, 36)),
    ("en_fact", "documents.supports.total", 395),
    ("en_fact", "documents.distracts.total", 594),
    ("zh_int", "documents.supports.total", 1578),
    ("zh_int", "documents.supports+distracts.total", 5762),
    ("zh_refine", "documents.supports.total", 2571),
    ("zh_refine", "documents.distracts.total", 5144),
    ("zh_refine", "documents.supports+distracts.total", 7715),
    ("en_fact", "characters.supports", (67, 158, 168)),
    ("en_fact", "characters.distracts", (12, 158, 236)),
    ("zh_int", "characters.supports", (22, 205, 590)),
    ("zh_int", "characters.distracts", (6, 219, 1526)),
    ("zh_refine", "characters.supports", (22, 201, 590)),
    ("zh_refine", "characters.distracts", (6, 210, 1745)),
    ("zh_refine", "characters.supports+distracts", (6, 208, 1745)),
    ("zh_refine", "characters.supports+distracts.p90", 276),
    ("zh_int", "characters.supports+distracts.median", 215),
    ("en_fact", "words.supports+distracts.median", 28),
    ("en_fact", "words.supports+distracts.max", 42),
    ("en_fact", "documents.supports+distracts", (6, 10, 10)),
    ("zh_int", "documents.supports+distracts", (18, 60, 80)),
    ("zh_refine", "documents.supports+distracts", (10, 26, 42)),
    ("en_fact", "items_with_5_supports", 38),
    ("en_fact", "items_with_5_distracts", 72),
    ("zh_int", "items_with_5_supports", 96),
    ("zh_int", "items_with_5_distracts", 100),
    ("zh_refine", "items_with_5_of_both", 300),
    ("zh_refine", "items_with_exactly_5_supports", 118),
    ("zh_refine", "items_with_several_parts", 43),
    ("zh_refine", "items_with_aliases", 17),
    ("en_fact", "items_with_gold_of_3_characters_or_fewer", 0),
    ("zh_int", "items_with_gold_of_3_characters_or_fewer", 57),
    ("zh_refine", "items_with_gold_of_1_characters_or_fewer", 1),
    ("zh_refine", "items_with_gold_of_2_characters_or_fewer", 86),
    ("zh_refine", "items_with_gold_of_3_characters_or_fewer", 144),
    ("en_fact", "items_with_digit_in_gold", 33),
    ("zh_int", "items_with_digit_in_gold", 49),
    ("zh_refine", "items_with_digit_in_gold", 143),
    ("zh_refine", "answer_types_character", {"entity": 158, "number": 90, "date": 52}),
    ("zh_refine", "label_fidelity.plain.supports_agree", 2566),
    ("zh_refine", "label_fidelity.plain.supports_all", 2571),
    ("zh_refine", "label_fidelity.plain.distracts_agree", 5142),
    ("zh_refine", "label_fidelity.plain.distracts_all", 5144),
    ("zh_refine", "label_fidelity.spaceless.distracts_agree", 5140),
    ("en_fact", "label_fidelity.plain.supports_agree", 395),
    ("en_fact", "label_fidelity.plain.distracts_agree", 594),
    ("en_fact", "duplicates.near-duplicate.of", 989),
    ("zh_refine", "numeric_hits.plain.hits", 1291),
    ("zh_refine", "accidental_match.mean", "0.60%"),
    ("zh_int", "accidental_match.mean", "0.30%"),
    ("en_fact", "accidental_match.mean", "0.16%"),
    ("zh_refine", "accidental_match.items_above_0", 202),
    ("zh_refine", "accidental_match.items_above_5_percent", 6),
    ("zh_refine", "accidental_match.worst", "27.7%"),  # 中国
    ("zh_int", "accidental_match.worst", "24.9%"),
]


# On an excerpt of en.json: rule, definition, number of items, some of these items
INDIRECT: list[tuple[str, str | None, int, set[int]]] = [
    ("gold-in-negative", None, 2, {6, 53}),
    ("short-gold", "≤2", 8, set()),
    ("edge-space", None, 1, {201}),
]


def _found(checked: Checked, file: str, rule: str, definition: str | None) -> list[LintFinding]:
    findings, _ = checked[file]
    return [
        finding
        for finding in findings
        if finding.rule == rule and (definition is None or definition in finding.definitions)
    ]


@pytest.mark.parametrize("file", FILES)
def test_the_files_are_the_published_ones(file: str, rgb_dir: Path) -> None:
    assert Dataset(file, rgb_dir / f"{file}.json").sha256() == PINS[file]


@pytest.mark.parametrize(
    ("file", "rule", "definition", "what", "count"),
    [
        (file, rule, definition, what, count)
        for rule, definition, what, counts in COUNTS
        for file, count in zip(FILES, counts, strict=True)
        if count is not None
    ],
)
def test_a_count(file: str, rule: str, definition: str | None, what: str, count: int, checked: Checked) -> None:
    _, check = checked[file]
    assert getattr(check.tally.count(rule, definition), what) == count


@pytest.mark.parametrize(("file", "rule", "definition", "items"), NAMED)
def test_a_count_is_of_these_items(
    file: str, rule: str, definition: str | None, items: set[int], checked: Checked
) -> None:
    assert {int(found.item or -1) for found in _found(checked, file, rule, definition)} == items


@pytest.mark.parametrize(("file", "path", "value"), STATISTICS)
def test_a_statistic(file: str, path: str, value: object, checked: Checked) -> None:
    _, check = checked[file]
    found: object = check.statistics()
    for step in path.split("."):
        assert isinstance(found, dict)
        found = found[step]
    if isinstance(value, tuple):
        assert isinstance(found, dict)
        found = tuple(found[name] for name in ("min", "median", "max"))
    if isinstance(value, str):
        decimals = len(value.removesuffix("%").partition(".")[2])
        found = f"{found:.{decimals}%}"
    assert found == value


@pytest.mark.parametrize(("rule", "definition", "count", "named"), INDIRECT)
def test_indirectly_known_counts_of_en_are_found_in_its_excerpt(
    rule: str, definition: str | None, count: int, named: set[int], en_top4: Path
) -> None:
    check = DatasetCheck(Dataset("en_top4", en_top4), [RULES[rule]])
    found = [found for found in check.findings() if definition is None or definition in found.definitions]
    items = {int(finding.item or -1) for finding in found}
    assert len(items) == count
    assert named <= items


def test_only_one_item_has_a_leak_among_its_first_five_documents(checked: Checked) -> None:
    found = _found(checked, "zh_refine", "gold-in-negative", "spaceless")
    assert {finding.item for finding in found if finding.where in [f"negative[{n}]" for n in range(5)]} == {"184"}


def test_positives_without_gold_are_used_at_noise_0_only(checked: Checked) -> None:
    found = _found(checked, "zh_refine", "positive-without-gold", None)
    assert {finding.where for finding in found} == {"positive[4]"}


def test_every_rule_but_mix_has_a_row() -> None:
    assert {rule for rule, *_ in COUNTS} == set(RULES) - {"mix"}  # which is in test_published_layouts.py


def test_52_dates_in_zh_refine_are_51(rgb_dir: Path) -> None:
    """Counting by characters takes the title 觉醒年代 for a date, because it contains 年."""
    wrong = []
    for item in Dataset("zh_refine", rgb_dir / "zh_refine.json").items():
        statistics = Statistics()
        statistics.add(View("zh_refine", 1, item))
        summary = statistics.summary()
        if summary["answer_types_character"] != summary["answer_types_dated"]:
            wrong.append((item.id, item.answer))
    assert wrong == [("167", (("觉醒年代",),))]


def test_15_numbers_inside_longer_ones_are_14(checked: Checked) -> None:
    """Counting `1月7日-2月15日` as one number gives 15; removing the spaces of `14:37 3月10日` gives 16."""
    _, check = checked["zh_refine"]
    statistics = check.statistics()
    assert statistics is not None
    assert statistics["numeric_hits"] == {
        "plain": {"hits": 1291, "inside": 14},
        "spaceless": {"hits": 1291, "inside": 16},
    }


def test_the_documented_counts_of_published_files_are_right(checked: Checked) -> None:
    with open(DOCUMENTED, encoding="utf-8", newline="") as source:
        rows = list(csv.reader(source))[1:]
    assert {row[0] for row in rows} == set(RULES)
    for rule, sense, *cells in rows:
        counts = [check.tally.count(rule, None if sense == "–" else sense) for _, check in checked.values()]
        assert cells == [_cell(count) for count in counts], (rule, sense)


def _cell(count: RuleCount) -> str:
    return f"{count.items:,} ({count.documents:,})" if count.documents else f"{count.items:,}"
