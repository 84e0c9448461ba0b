"""Every count that the design gives for the published files we have, as one table: rule, sense, counts, source.

"reliability" and "requirements" are design files; § and identifiers (DP12, Table A …) are theirs. Where the design
gives no figure for a file, the row says "measured": it is ours, kept so that a change is seen. Two figures of the
design are not what they say; the tests at the end prove it. What the original code puts into prompts is in
test_published_layouts.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.data import Dataset
from ragbed.linting import RULES, DatasetCheck, LintFinding
from ragbed.linting.rules import View
from ragbed.linting.statistics import Statistics

Checked = dict[str, tuple[list[LintFinding], DatasetCheck]]
PINS = {
    "en_fact": "92f4b2330ee407f74fbd923197028ef5140cfbc1f4b4092efec2d4d10ae6c9e5",
    "zh_int": "e2ddb0461e2130f4b006996a574a89d5898989ff8b15f51d900c17162c7d1b17",
    "zh_refine": "7a5c7547dcfa1b83429b53a41644453508f820f502d3817312cbf8051afb4563",
}
FILES = tuple(PINS)
RISK = "reliability, Gold-answer risk counts"
FAULTS = "requirements §13, Data faults"
QUALITY = "requirements §15.2"

# rule, sense, what is counted, (en_fact, zh_int, zh_refine), source; None: the design does not say
COUNTS: list[tuple[str, str | None, str, tuple[int | None, int | None, int | None], str]] = [
    ("record", None, "items", (0, 0, 0), "requirements §13"),
    ("gold-in-negative", "plain", "documents", (0, 0, 2), f"{FAULTS}; {QUALITY}, Negative purity"),
    ("gold-in-negative", "plain", "items", (0, 0, 1), f"{FAULTS}; {QUALITY}, Negative purity"),
    ("gold-in-negative", "spaceless", "documents", (0, 0, 4), f"{RISK}; {FAULTS}"),
    ("gold-in-negative", "spaceless", "items", (0, 0, 3), f"{RISK}; {FAULTS}"),
    ("loose-gold-in-negative", None, "documents", (None, None, 5), f"{QUALITY}, Negative purity"),
    ("loose-gold-in-negative", None, "items", (None, None, 5), f"{QUALITY}, Negative purity"),
    ("gold-part-in-negative", "spaceless", "documents", (0, 16, None), RISK),
    ("gold-part-in-negative", "spaceless", "items", (0, 9, None), RISK),
    ("negatives-hold-gold", "spaceless", "items", (0, 3, None), RISK),
    ("positive-without-gold", "plain", "documents", (0, 0, 5), FAULTS),
    ("positive-without-gold", "spaceless", "documents", (0, 0, 4), f"{RISK}; {FAULTS}"),
    ("positive-without-gold", "spaceless", "items", (0, 0, 4), RISK),
    ("slot-without-positive", None, "items", (None, 0, None), "measured (named for en_int 13 in requirements §13)"),
    ("gold-inside-longer", "spaceless", "documents", (None, 29, 6), "reliability, DS7 (flagged)"),
    ("gold-inside-longer", "spaceless", "items", (None, 10, 4), "reliability, DS7 (flagged)"),
    ("gold-inside-longer", "plain", "documents", (None, 25, None), "reliability, DS7 (there 'on reading')"),
    ("gold-inside-longer", "plain", "items", (None, 7, None), "reliability, DS7 (there 'on reading')"),
    ("question-holds-gold", "plain", "items", (0, 0, 0), f"{RISK}; requirements §15.1"),
    ("question-holds-gold", "spaceless", "items", (0, 0, 0), RISK),
    ("one-document-holds-all", None, "documents", (0, 0, 0), f"{QUALITY}, II shortcut (0/1,578)"),
    ("fake-equals-gold", None, "items", (0, 0, 0), "reliability, DS7; requirements P19"),
    ("fake-holds-gold", None, "items", (0, 0, 0), "reliability, DS7; requirements P19"),
    ("gold-in-edit", "plain", "documents", (2, 0, 0), RISK),
    ("gold-in-edit", "apart", "documents", (2, 0, 0), f"{QUALITY}, CF integrity (residual)"),
    ("gold-in-edit", None, "items", (2, 0, 0), RISK),
    ("edit-unchanged", None, "documents", (2, 0, 0), f"{QUALITY}, CF integrity; requirements P19"),
    ("exact-duplicate", "supports", "documents", (None, 30, 77), FAULTS),
    ("exact-duplicate", "supports", "items", (None, 17, 56), f"{FAULTS}; reliability, DP13"),
    ("exact-duplicate", "distracts", "documents", (None, 376, 121), FAULTS),
    ("exact-duplicate", "distracts", "items", (None, 66, 51), f"{FAULTS}; reliability, DP13"),
    ("exact-duplicate", None, "documents", (None, 406, 198), f"{QUALITY}, Duplicate rate (exact)"),
    ("near-duplicate", None, "documents", (5, 941, 1070), f"{QUALITY}, Duplicate rate"),
    ("near-duplicate", None, "items", (None, 92, 272), f"{QUALITY}, Duplicate rate"),
    ("cross-label-duplicate", None, "documents", (None, 61, 95), f"{QUALITY}, Cross-label duplicates"),
    ("both-labels", None, "documents", (0, 0, 0), "measured"),
    ("duplicate-question", "same dataset", "items", (0, 0, 0), "requirements §13"),
    ("duplicate-question", "other dataset", "items", (0, 0, 15), "requirements §13, §14.4 (zh_int shares 15 with zh)"),
    ("short-gold", "≤1", "items", (0, 1, 1), RISK),
    ("short-gold", "≤2", "items", (0, 33, 86), f"{RISK}; {FAULTS}; requirements §14.2"),
    ("short-gold", "≤3", "items", (0, 37, 101), "measured; the design's ≤3 counts names too: see STATISTICS"),
    ("digits-only-gold", None, "items", (0, 6, 17), RISK),
    ("single-form", None, "items", (72, 91, 283), "reliability, DS10"),
    ("single-form-number", None, "items", (5, 42, 131), "reliability, DS10"),
    ("flat-list", None, "items", (None, 91, 43), "reliability, DS12"),
    ("space-in-alias", None, "items", (0, 1, 2), "reliability, DS11; requirements P1"),
    ("unwinnable-slot", None, "items", (0, 0, 0), "reliability, DS11"),
    ("edge-space", None, "items", (1, 0, 0), "requirements §13 (id 73 'Moonlight ')"),
    ("odd-characters", None, "documents", (1, 171, 220), "reliability, Odd characters"),
    ("markup", None, "documents", (0, 28, 38), "reliability, Odd characters (< or >)"),
    ("braces", None, "documents", (0, 1, 3), "reliability, Odd characters (braces)"),
    ("prompt-words", "words", "documents", (None, 1, 3), "reliability, DP12"),
    ("prompt-words", "template", "documents", (0, 0, 0), "measured"),
    ("key-phrases", None, "documents", (None, 1, 1), "reliability, DP12"),
    ("empty-pool", None, "items", (0, 0, 0), "requirements §13 (pools of at least one)"),
    ("slots-groups", None, "items", (0, 12, 0), "reliability, Dataset errors; requirements §13"),
    ("accidental-match", None, "items", (None, None, 24), "reliability, DS9 (over 1 %)"),
    ("edge-punctuation", None, "items", (0, 0, 1), "measured (zh_refine 141, '98元。')"),
    ("joined-alias", None, "items", (0, 0, 0), "measured (named for zh_fact 84 in requirements P19)"),
    ("repeated-alias", None, "items", (2, 0, 0), "measured"),
    ("gold-holds-fake", None, "items", (0, 0, 0), "measured"),
    ("edit-without-fake", None, "documents", (2, 0, 0), "measured (the two unchanged ones)"),
    ("blank-document", None, "documents", (0, 0, 0), "measured"),
]

# file, rule, sense, items, source
NAMED: list[tuple[str, str, str | None, set[int], str]] = [
    ("zh_refine", "gold-in-negative", "plain", {238}, FAULTS),
    ("zh_refine", "gold-in-negative", "spaceless", {184, 238, 265}, RISK),
    ("zh_refine", "positive-without-gold", "plain", {92, 104, 111, 177, 211}, FAULTS),
    ("zh_refine", "positive-without-gold", "spaceless", {92, 111, 177, 211}, RISK),
    ("zh_refine", "space-in-alias", None, {46, 88}, "reliability, DS11"),
    ("zh_int", "space-in-alias", None, {52}, "reliability, DS11"),
    ("zh_int", "gold-inside-longer", "plain", {13, 30, 40, 59, 61, 71, 82}, "reliability, DS7"),
    ("en_fact", "edit-unchanged", None, {43, 73}, "requirements P19"),
    ("en_fact", "gold-in-edit", None, {43, 73}, RISK),
    ("en_fact", "edge-space", None, {73}, "requirements §13"),
]

SPREAD = "requirements §13, min/median/max"
# file, path into the statistics, value, source
STATISTICS: list[tuple[str, str, object, str]] = [
    ("en_fact", "records", 100, "requirements §13"),
    ("zh_int", "records", 100, "requirements §13"),
    ("zh_refine", "records", 300, "requirements §13"),
    ("en_fact", "kinds", {"counterfactual": 100}, "requirements §13"),
    ("zh_int", "kinds", {"integration": 100}, "requirements §13"),
    ("zh_refine", "kinds", {"base": 300}, "requirements §13"),
    ("en_fact", "shapes_answer", {"string": 72, "list of lists": 28}, "requirements §13"),
    ("en_fact", "shapes_fakeanswer", {"string": 100}, "requirements §13"),
    ("zh_int", "shapes_answer", {"list of strings": 91, "list of lists": 2, "mixed": 7}, "requirements §13"),
    ("zh_int", "shapes_asnwer1", {"list of strings": 96, "list of lists": 3, "mixed": 1}, "requirements §13"),
    ("zh_int", "shapes_answer2", {"list of strings": 77, "list of lists": 7, "empty list": 16}, "requirements §13"),
    ("zh_refine", "shapes_answer", {"list of strings": 283, "list of lists": 17}, "requirements §13"),
    ("zh_int", "answer_parts", {"2": 76, "3": 12, "4": 7, "5": 3, "7": 2}, "requirements §13, §14.5"),
    ("zh_int", "groups", {"2": 88, "3": 7, "4": 2, "5": 1, "7": 2}, "requirements §13"),
    ("zh_int", "documents.group", (1, 5, 30), SPREAD),
    ("en_fact", "documents.supports", (1, 3.5, 9), f"{SPREAD} (reliability rounds the median to 4)"),
    ("en_fact", "documents.contradicts", (1, 3.5, 9), SPREAD),
    ("en_fact", "documents.distracts", (1, 6, 9), SPREAD),
    ("zh_int", "documents.supports", (4, 14.5, 41), f"{SPREAD} (reliability rounds the median to 15)"),
    ("zh_int", "documents.distracts", (5, 43, 74), SPREAD),
    ("zh_refine", "documents.supports", (5, 7, 29), SPREAD),
    ("zh_refine", "documents.distracts", (5, 16, 36), SPREAD),
    ("en_fact", "documents.supports.total", 395, "requirements §13"),
    ("en_fact", "documents.distracts.total", 594, "requirements §13"),
    ("zh_int", "documents.supports.total", 1578, QUALITY),
    ("zh_int", "documents.supports+distracts.total", 5762, "reliability, Odd characters"),
    ("zh_refine", "documents.supports.total", 2571, "requirements §13"),
    ("zh_refine", "documents.distracts.total", 5144, "requirements §13"),
    ("zh_refine", "documents.supports+distracts.total", 7715, "reliability, Odd characters"),
    ("en_fact", "characters.supports", (67, 158, 168), SPREAD),
    ("en_fact", "characters.distracts", (12, 158, 236), SPREAD),
    ("zh_int", "characters.supports", (22, 205, 590), SPREAD),
    ("zh_int", "characters.distracts", (6, 219, 1526), SPREAD),
    ("zh_refine", "characters.supports", (22, 201, 590), SPREAD),
    ("zh_refine", "characters.distracts", (6, 210, 1745), SPREAD),
    ("zh_refine", "characters.supports+distracts", (6, 208, 1745), f"{QUALITY}, Doc length"),
    ("zh_refine", "characters.supports+distracts.p90", 276, f"{QUALITY}, Doc length"),
    ("zh_int", "characters.supports+distracts.median", 215, f"{QUALITY}, Doc length"),
    ("en_fact", "words.supports+distracts.median", 28, f"{QUALITY}, Doc length; P10"),
    ("en_fact", "words.supports+distracts.max", 42, "requirements P10"),
    ("en_fact", "documents.supports+distracts", (6, 10, 10), f"{QUALITY}, Pool size 6–10"),
    ("zh_int", "documents.supports+distracts", (18, 60, 80), f"{QUALITY}, Pool size 18–80"),
    ("zh_refine", "documents.supports+distracts", (10, 26, 42), f"{QUALITY}, Pool size 10–42"),
    ("en_fact", "items_with_5_supports", 38, f"{QUALITY}; Table A: 62 cannot"),
    ("en_fact", "items_with_5_distracts", 72, f"{QUALITY}; Table A: 28 cannot"),
    ("zh_int", "items_with_5_supports", 96, "reliability, Table A: 4 cannot"),
    ("zh_int", "items_with_5_distracts", 100, "reliability, Table A"),
    ("zh_refine", "items_with_5_of_both", 300, f"{QUALITY} 100 %; P16"),
    ("zh_refine", "items_with_exactly_5_supports", 118, "requirements P16"),
    ("zh_refine", "items_with_several_parts", 43, f"{QUALITY}, Answer types"),
    ("zh_refine", "items_with_aliases", 17, f"{QUALITY}, Answer types"),
    ("en_fact", "items_with_gold_of_3_characters_or_fewer", 0, RISK),
    ("zh_int", "items_with_gold_of_3_characters_or_fewer", 57, RISK),
    ("zh_refine", "items_with_gold_of_1_characters_or_fewer", 1, RISK),
    ("zh_refine", "items_with_gold_of_2_characters_or_fewer", 86, RISK),
    ("zh_refine", "items_with_gold_of_3_characters_or_fewer", 144, RISK),
    ("en_fact", "items_with_digit_in_gold", 33, RISK),
    ("zh_int", "items_with_digit_in_gold", 49, RISK),
    ("zh_refine", "items_with_digit_in_gold", 143, RISK),
    ("zh_refine", "answer_types_character", {"entity": 158, "number": 90, "date": 52}, f"{QUALITY}, Answer types"),
    ("zh_refine", "label_fidelity.plain.supports_agree", 2566, f"{QUALITY}, Label fidelity"),
    ("zh_refine", "label_fidelity.plain.supports_all", 2571, f"{QUALITY}, Label fidelity"),
    ("zh_refine", "label_fidelity.plain.distracts_agree", 5142, f"{QUALITY}, Label fidelity"),
    ("zh_refine", "label_fidelity.plain.distracts_all", 5144, f"{QUALITY}, Label fidelity"),
    ("zh_refine", "label_fidelity.spaceless.distracts_agree", 5140, "requirements §13, Definitions"),
    ("en_fact", "label_fidelity.plain.supports_agree", 395, f"{QUALITY}, Label fidelity"),
    ("en_fact", "label_fidelity.plain.distracts_agree", 594, f"{QUALITY}, Label fidelity"),
    ("en_fact", "duplicates.near-duplicate.of", 989, f"{QUALITY}, Duplicate rate"),
    ("zh_refine", "numeric_hits.plain.hits", 1291, "requirements §14.2"),
    ("zh_refine", "accidental_match.mean", "0.60%", "reliability, DS9: 0.60 %"),
    ("zh_int", "accidental_match.mean", "0.30%", "reliability, DS9: 0.30 %"),
    ("en_fact", "accidental_match.mean", "0.16%", "reliability, DS9: 0.16 %"),
    ("zh_refine", "accidental_match.items_above_0", 202, "reliability, DS9"),
    ("zh_refine", "accidental_match.items_above_5_percent", 6, "reliability, DS9"),
    ("zh_refine", "accidental_match.worst", "27.7%", "reliability, DS9: 中国 27.7 %"),
    ("zh_int", "accidental_match.worst", "24.9%", 'reliability, DS9: ["8","9"] 24.9 %'),
]


# On an excerpt of en.json: rule, sense, number of items, those that are named; all from requirements §13, "Indirect"
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
def test_the_files_are_those_the_design_was_measured_on(file: str, rgb_dir: Path) -> None:
    assert Dataset(file, rgb_dir / f"{file}.json").sha256() == PINS[file]


@pytest.mark.parametrize(
    ("file", "rule", "definition", "what", "count", "source"),
    [
        (file, rule, definition, what, count, source)
        for rule, definition, what, counts, source in COUNTS
        for file, count in zip(FILES, counts, strict=True)
        if count is not None
    ],
)
def test_a_count(
    file: str, rule: str, definition: str | None, what: str, count: int, source: str, checked: Checked
) -> None:
    _, check = checked[file]
    assert getattr(check.tally.count(rule, definition), what) == count, source


@pytest.mark.parametrize(("file", "rule", "definition", "items", "source"), NAMED)
def test_a_count_is_of_these_items(
    file: str, rule: str, definition: str | None, items: set[int], source: str, checked: Checked
) -> None:
    assert {int(found.item or -1) for found in _found(checked, file, rule, definition)} == items, source


@pytest.mark.parametrize(("file", "path", "value", "source"), STATISTICS)
def test_a_statistic(file: str, path: str, value: object, source: str, checked: Checked) -> None:
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
    assert found == value, source


@pytest.mark.parametrize(("rule", "definition", "count", "named"), INDIRECT)
def test_what_is_known_of_en_indirectly_is_found_in_its_excerpt(
    rule: str, definition: str | None, count: int, named: set[int], en_top4: Path
) -> None:
    check = DatasetCheck(Dataset("en_top4", en_top4), [RULES[rule]])
    found = [found for found in check.findings() if definition is None or definition in found.definitions]
    items = {int(finding.item or -1) for finding in found}
    assert len(items) == count
    assert named <= items


def test_a_leak_stands_among_the_first_five_in_one_item_only(checked: Checked) -> None:
    found = _found(checked, "zh_refine", "gold-in-negative", "spaceless")  # reliability, Gold-answer risk counts
    assert {finding.item for finding in found if finding.where in [f"negative[{n}]" for n in range(5)]} == {"184"}


def test_positives_without_gold_are_used_at_noise_0_only(checked: Checked) -> None:
    found = _found(checked, "zh_refine", "positive-without-gold", None)  # reliability, Gold-answer risk counts
    assert {finding.where for finding in found} == {"positive[4]"}


def test_every_rule_but_mix_has_a_row() -> None:
    assert {rule for rule, *_ in COUNTS} == set(RULES) - {"mix"}  # which is in test_published_layouts.py


def test_52_dates_in_zh_refine_are_51(rgb_dir: Path) -> None:
    """requirements §15.2 counts the title of a series, 觉醒年代, as a date because it has 年 in it."""
    wrong = []
    for item in Dataset("zh_refine", rgb_dir / "zh_refine.json").items():
        statistics = Statistics()
        statistics.add(View("zh_refine", 1, item))
        summary = statistics.summary()
        if summary["answer_types_character"] != summary["answer_types_dated"]:
            wrong.append((item.id, item.answer))
    assert wrong == [("167", (("觉醒年代",),))]


def test_15_numbers_inside_longer_ones_are_14(checked: Checked) -> None:
    """requirements §14.2; 15 needs `1月7日-2月15日` to be one number, 16 the spaces of `14:37 3月10日` to be none."""
    _, check = checked["zh_refine"]
    statistics = check.statistics()
    assert statistics is not None
    assert statistics["numeric_hits"] == {
        "plain": {"hits": 1291, "inside": 14},
        "spaceless": {"hits": 1291, "inside": 16},
    }
