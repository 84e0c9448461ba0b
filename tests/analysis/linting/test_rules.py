"""Every rule on small items: some that trigger it, with the place, and some that do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ragbed.analysis.linting import RULES
from ragbed.schema import Item, Passage
from tests.analysis.linting.records import fact_item, findings, native_item, rgb_item

ZH = "谁获得了这个奖？"
PARTS = {"answer": ["Ann Lee", "Bo Ray"], "positive": [["Ann Lee won."], ["Bo Ray lost."]]}


LONG = "The committee met in the old town hall and spoke for many hours."

# rule, item and the place of each fault
FIRES: list[tuple[str, Item, list[str]]] = [
    ("gold-in-negative", rgb_item(negative=["x", "It was ANN LEE again."]), ["negative[1]"]),
    ("gold-in-negative", rgb_item(ZH, "4亿", ["得4亿"], ["共 4 亿"]), ["negative[0]"]),
    ("gold-in-negative", rgb_item(ZH, "Ann Lee", ["是AnnLee"], ["是Ann Lee"]), ["negative[0]"]),
    ("gold-in-negative", rgb_item(ZH, "安·李", ["是安·李"], ["是安李"]), ["negative[0]"]),
    ("gold-in-negative", native_item(Passage(text="ann lee", stance="distracts")), ["passages[0]"]),
    ("gold-part-in-negative", rgb_item(negative=["Ann Lee spoke."], **PARTS), ["negative[0]"]),
    ("positive-without-gold", rgb_item(positive=["Ann Lee.", "Nobody."]), ["positive[1]"]),
    ("positive-without-gold", rgb_item(**PARTS | {"positive": [["x"], ["Bo Ray"]]}), ["positive[0][0]"]),
    ("positive-without-gold", rgb_item(answer="70", positive=["It has 170 rooms."]), ["positive[0]"]),
    ("positive-without-gold", rgb_item(answer="2.3%", positive=["rose 12.3%"]), ["positive[0]"]),
    ("positive-without-gold", rgb_item(answer="800", positive=["paid 2,800"]), ["positive[0]"]),
    ("positive-without-gold", rgb_item(answer="Meta", positive=["the metaverse"]), ["positive[0]"]),
    ("gold-in-edit", fact_item("Meta", "Apple", "是Meta", "是Apple，做Meta", query=ZH), ["positive_wrong[0]"]),
    ("edit-without-fake", fact_item("The Sea", "The Sky", "The Sea", "The Ski"), ["positive_wrong[0]"]),
    ("edit-without-fake", fact_item("The Sea", "The Sky", "Best: THE SEA", "Best: THE SEA"), ["positive_wrong[0]"]),
    ("near-duplicate", rgb_item(negative=[LONG, LONG + " So."]), ["negative[1]"]),
    ("near-duplicate", rgb_item(negative=["a", "b", "a", "a"]), ["negative[2]", "negative[3]"]),
    ("cross-label-duplicate", rgb_item(positive=[LONG + " Ann Lee"], negative=["x", LONG]), ["negative[1]"]),
    ("cross-label-duplicate", rgb_item(positive=["Ann Lee a", "Ann"], negative=["Ann"]), ["negative[0]"]),
    ("short-gold", rgb_item(answer=[["Ann Lee", "AL"]]), ["answer[0]"]),
    ("short-gold", rgb_item(ZH, "三十人", ["三十人"]), ["answer[0]"]),
    ("short-gold", rgb_item(ZH, [["安景澄", "安李"]], ["安景澄"]), ["answer[0]"]),
    ("short-gold", rgb_item(answer=["Ann Lee", ["12 men", "1,200"]]), ["answer[1]"]),
    ("space-in-alias", rgb_item(ZH, [["Ann Lee", "AnnLee"]]), ["answer[0]"]),
    ("edge-mark", fact_item("Sea", "Sky ", "Sea", "Sky"), ["fakeanswer[0]"]),
    ("edge-mark", rgb_item(ZH, "98元。"), ["answer[0]"]),
    ("odd-characters", rgb_item(negative=["a\u200bb", "a\rb", "a\u202eb", "\ufeffa", "a\ufffdb", "a\x07"]),
     [f"negative[{n}]" for n in range(6)]),
    ("odd-characters", rgb_item("Who\u200b won?"), ["query"]),
    ("odd-characters", rgb_item(answer="Ann\u00adLee"), ["answer[0]"]),
    ("odd-characters", fact_item("Sea", "Sky\u200b", "Sea", "Sky"), ["fakeanswer[0]"]),
    ("prompt-words", rgb_item(negative=["Question : who?"]), ["negative[0]"]),
    ("prompt-words", rgb_item(ZH, negative=["一个问题：谁？"]), ["negative[0]"]),
    ("key-phrases", rgb_item(negative=["full of Factual errors"]), ["negative[0]"]),
    ("slots-groups", rgb_item(**PARTS | {"answer": ["Ann Lee", "Bo Ray", "Cy"]}), ["answer"]),
]  # fmt: skip

SILENT: list[tuple[str, Item]] = [
    ("gold-in-negative", rgb_item(negative=["Anne Lee, not Bo Ray"])),
    ("gold-in-negative", rgb_item(negative=["Ann Lee spoke."], **PARTS)),
    ("gold-part-in-negative", rgb_item(negative=["Ann Lee and Bo Ray."], **PARTS)),
    ("positive-without-gold", rgb_item(**PARTS)),
    ("positive-without-gold", rgb_item(ZH, "骁龙8", ["用骁龙 8 芯片"])),
    ("positive-without-gold", rgb_item(answer="70", positive=["170 rooms, of which 70 are new"])),
    ("positive-without-gold", rgb_item(answer=[["70", "seventy"]], positive=["170 rooms, seventy of them new"])),
    ("positive-without-gold", rgb_item(ZH, "3%", ["GDP3%的增速"])),
    ("gold-in-edit", fact_item("The Sea", "The Sky", "The Sea", "The Sky")),
    ("gold-in-edit", fact_item("70", "170", "有70间", "有170间", query=ZH)),
    ("gold-in-edit", fact_item("Paris", "Paris, Texas", "in Paris", "in Paris, Texas")),
    ("edit-without-fake", fact_item("The Sea", "The Sky ", "The Sea", "the sky.")),
    ("near-duplicate", rgb_item(negative=[LONG, "Quite another thing was said about the prize.", "ab"])),
    ("near-duplicate", fact_item("old", "new", LONG, LONG.replace("old", "new"))),
    ("cross-label-duplicate", rgb_item(positive=[LONG + " Ann Lee", LONG])),
    ("duplicate-question", rgb_item()),
    ("short-gold", rgb_item(answer=["four", "12 men"])),
    ("short-gold", rgb_item(ZH, "安景澄", ["安景澄"])),
    ("space-in-alias", rgb_item(answer="Ann Lee")),
    ("edge-mark", rgb_item(answer="U.S.")),
    ("odd-characters", rgb_item(negative=["tab\t, line\n, wide\u3000space"])),
    ("prompt-words", rgb_item(negative=["The question is: who?", "No documents here"])),
    ("key-phrases", rgb_item()),
    ("slots-groups", rgb_item(**PARTS)),
    ("slots-groups", rgb_item(answer=["Ann Lee", "Bo Ray"])),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "item", "expected"), FIRES)
def test_a_rule_fires_where_it_should(rule: str, item: Item, expected: list[str]) -> None:
    found = findings(rule, item)
    assert [finding.where for finding in found] == expected
    assert all(finding.message for finding in found)


@pytest.mark.parametrize(("rule", "item"), SILENT)
def test_a_rule_is_silent_where_it_should(rule: str, item: Item) -> None:
    assert findings(rule, item) == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("6 months", "a term of 36 months"),
        ("2", "since 2019"),
        ("2", "2.5 goals and 3,200 fans"),
        ("US", "because"),
        ("Ann", "Annette"),
    ],
)
def test_an_answer_inside_a_longer_number_or_word_is_not_in_a_distractor(answer: str, text: str) -> None:
    """`gold-in-negative` found "6 months" in "36 months" and "2" in "2019": 12 of 12 findings were false."""
    assert findings("gold-in-negative", rgb_item(answer=answer, negative=[text])) == []
    (finding,) = findings("positive-without-gold", rgb_item(answer=answer, positive=[text]))
    assert f"{answer} appears only in" in finding.message


def test_every_rule_has_a_positive_and_a_negative_case() -> None:
    assert {rule for rule, *_ in FIRES} | {"duplicate-question", "record"} == set(RULES)
    assert {rule for rule, _ in SILENT} | {"record"} == set(RULES)


def test_a_duplicate_question_names_the_first_item() -> None:
    again = rgb_item()
    (finding,) = findings("duplicate-question", rgb_item(), rgb_item("Who else?"), again)
    assert (finding.where, finding.message) == ("query", "is also the question of item 0")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_minimal_pair_may_share_its_question_but_not_a_third_item(order: tuple[int, int]) -> None:
    pair = (native_item(id="off"), native_item(id="on", twin="off"))
    assert findings("duplicate-question", *(pair[at] for at in order)) == []
    (finding,) = findings("duplicate-question", *(pair[at] for at in order), native_item(id="third"))
    assert finding.message == f"is also the question of item {pair[order[0]].id}"


def test_a_false_answer_as_a_list_has_slots() -> None:
    item = fact_item("red", ["blue", "green"], "red", "blue and green", query=ZH)
    assert [findings(rule, item) for rule in ("gold-in-edit", "edit-without-fake")] == [[], []]


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lint-rules.md"


def _rows(cells: int) -> list[list[str]]:
    """Return the rows of tables with this number of columns whose first cell is a rule."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    trimmed = [[cell.strip() for cell in row] for row in rows]
    return [[row[0].strip("`"), *row[1:]] for row in trimmed if len(row) == cells and row[0].startswith("`")]


def test_every_rule_is_described_with_its_severity() -> None:
    described = {row[0]: row[1] for row in _rows(4) if row[1] in ("error", "warning")}
    assert described == {rule.name: rule.severity for rule in RULES.values()}
