"""Every rule on small items: some that trigger it, with place and definitions, and some that do not."""

from __future__ import annotations

import pytest

from ragbed.analysis.linting import RULES
from ragbed.schema import Item, Passage
from tests.analysis.linting.records import fact_item, faults, native_item, rgb_item

ZH = "谁获得了这个奖？"
PARTS = {"answer": ["Ann Lee", "Bo Ray"], "positive": [["Ann Lee won."], ["Bo Ray lost."]]}
PLAIN, BOTH, ALONE = ("plain",), ("plain", "spaceless"), ("plain", "boundary")


def spelled(words: str) -> Passage:
    """Return a supporting passage that records its spelling of the answer."""
    return Passage(text=f"It was {words}.", stance="supports", dials={"states": words})


LONG = "The committee met in the old town hall and spoke for many hours."

# rule, item, place and definitions of each fault
FIRES: list[tuple[str, Item, list[tuple[str, tuple[str, ...]]]]] = [
    ("gold-in-negative", rgb_item(negative=["x", "It was ANN LEE again."]), [("negative[1]", ALONE)]),
    ("gold-in-negative", rgb_item(ZH, "4亿", ["得4亿"], ["共 4 亿"]), [("negative[0]", ("spaceless", "boundary"))]),
    ("gold-in-negative", rgb_item(ZH, "Ann Lee", ["是AnnLee"], ["是Ann Lee"]), [("negative[0]", ALONE)]),
    ("gold-in-negative", rgb_item(answer="US", positive=["The US"], negative=["because"]), [("negative[0]", PLAIN)]),
    ("loose-gold-in-negative", rgb_item(ZH, "安·李", ["是安·李"], ["是安李"]), [("negative[0]", ())]),
    ("gold-part-in-negative", rgb_item(negative=["Ann Lee spoke."], **PARTS), [("negative[0]", PLAIN)]),
    ("negatives-hold-gold", rgb_item(negative=["Ann Lee.", "Bo Ray."], **PARTS), [("negative", PLAIN)]),
    ("positive-without-gold", rgb_item(positive=["Ann Lee.", "Nobody."]), [("positive[1]", PLAIN)]),
    ("positive-without-gold", rgb_item(ZH, "骁龙8", ["用骁龙 8 芯片"]), [("positive[0]", PLAIN)]),
    ("positive-without-gold", rgb_item(**PARTS | {"positive": [["x"], ["Bo Ray"]]}), [("positive[0][0]", PLAIN)]),
    ("slot-without-positive", rgb_item(**PARTS | {"positive": [["Ann Lee"], ["x"]]}), [("answer[1]", ())]),
    ("gold-inside-longer", rgb_item(answer="70", positive=["It has 170 rooms."]), [("positive[0]", PLAIN)]),
    ("gold-inside-longer", rgb_item(answer="2.3%", positive=["rose 12.3%"]), [("positive[0]", PLAIN)]),
    ("gold-inside-longer", rgb_item(answer="800", positive=["paid 2,800"]), [("positive[0]", PLAIN)]),
    ("gold-inside-longer", rgb_item(answer="Meta", positive=["the metaverse"]), [("positive[0]", PLAIN)]),
    ("gold-inside-longer", rgb_item(ZH, "8强", ["第58. 8强"]), [("positive[0]", ("spaceless",))]),
    ("question-holds-gold", rgb_item("Did Ann Lee win?"), [("query", PLAIN)]),
    ("question-holds-gold", rgb_item("谁是第 8 名？", "第8名", ["第8名"]), [("query", ("spaceless",))]),
    ("one-document-holds-all", rgb_item(**PARTS | {"positive": [["Bo Ray, Ann Lee"]]}), [("positive[0][0]", PLAIN)]),
    # Errors like those of zh_fact (ids 0, 7, 82, 91, 84), in other words.
    ("fake-holds-gold", fact_item("70", "170", "有70间", "有170间", query=ZH), [("fakeanswer", PLAIN)]),
    ("fake-holds-gold", fact_item("2.3%", "12.3%", "升2.3%", "升12.3%", query=ZH), [("fakeanswer", PLAIN)]),
    ("fake-holds-gold", fact_item("Paris", "Paris, Texas", "in Paris", "in Paris, Texas"), [("fakeanswer", ALONE)]),
    ("fake-equals-gold", fact_item("安·李", " 安·李 ", "是安·李", "是安·李", query=ZH), [("fakeanswer", ())]),
    ("gold-in-edit", fact_item("Meta", "Apple", "是Meta", "是Apple，做metaverse", query=ZH),
     [("positive_wrong[0]", (*BOTH, "apart"))]),
    ("gold-in-edit", fact_item("70", "170", "有70间", "有170间", query=ZH), [("positive_wrong[0]", BOTH)]),
    ("gold-holds-fake", fact_item("12 men", "2 men", "12 men", "2 men"), [("fakeanswer", ())]),
    ("edit-unchanged", fact_item("The Sea", "The Sky", "Best: THE SEA", "Best: THE SEA"), [("positive_wrong[0]", ())]),
    ("edit-without-fake", fact_item("The Sea", "The Sky", "The Sea", "The Ski"), [("positive_wrong[0]", ())]),
    ("both-labels", rgb_item(positive=["Ann Lee a", "Ann Lee b"], negative=["Ann Lee b"]), [("negative[0]", ())]),
    ("exact-duplicate", rgb_item(negative=["a", "b", "a", "a"]),
     [("negative[2]", ("distracts",)), ("negative[3]", ("distracts",))]),
    ("exact-duplicate", rgb_item(positive=["Ann Lee", "Ann Lee"]), [("positive[1]", ("supports",))]),
    ("near-duplicate", rgb_item(negative=[LONG, LONG + " So."]), [("negative[1]", ())]),
    ("cross-label-duplicate", rgb_item(positive=[LONG + " Ann Lee"], negative=["x", LONG]), [("negative[1]", ())]),
    ("short-gold", rgb_item(answer=[["Ann Lee", "AL"]]), [("answer[0]", ("≤2", "≤3"))]),
    ("short-gold", rgb_item(answer="8"), [("answer[0]", ("≤1", "≤2", "≤3"))]),
    ("short-gold", rgb_item(ZH, "三十人", ["三十人"]), [("answer[0]", ("≤3",))]),
    ("short-gold", rgb_item(ZH, [["安景澄", "安李"]], ["安景澄"]), [("answer[0]", ("≤2", "≤3"))]),
    ("single-form", native_item(spelled("A. Lee")), [("answer", ())]),
    ("digits-only-gold", rgb_item(answer=["Ann Lee", ["12 men", "1,200"]]), [("answer[1]", ())]),
    ("single-form", rgb_item(answer=["Ann Lee", "Bo Ray"]), [("answer", ())]),
    ("single-form-number", rgb_item(answer=["Ann Lee", "12 men"]), [("answer", ())]),
    ("flat-list", rgb_item(answer=["Ann Lee", "Bo Ray"]), [("answer", ())]),
    ("space-in-alias", rgb_item(ZH, [["Ann Lee", "AnnLee"]]), [("answer[0]", ())]),
    ("unwinnable-slot", rgb_item(ZH, ["安李", "Ann Lee"]), [("answer[1]", ())]),
    ("edge-space", fact_item("Sea", "Sky ", "Sea", "Sky"), [("fakeanswer[0]", ())]),
    ("edge-punctuation", rgb_item(ZH, "98元。"), [("answer[0]", ())]),
    ("joined-alias", rgb_item(ZH, "安·李,安.李"), [("answer[0]", ())]),
    ("joined-alias", rgb_item(ZH, "红队、蓝队"), [("answer[0]", ())]),
    ("joined-alias", rgb_item(answer="A. Lee, A Lee"), [("answer[0]", ())]),
    ("joined-alias", rgb_item(answer="Ann Lee; Bo Ray"), [("answer[0]", ())]),
    ("repeated-alias", rgb_item(answer=[["May 5", "5 May", "may 5"]]), [("answer[0]", ())]),
    ("odd-characters", rgb_item(negative=["a\u200bb", "a\rb", "a\u202eb", "\ufeffa", "a\ufffdb", "a\x07"]),
     [(f"negative[{n}]", ()) for n in range(6)]),
    ("odd-characters", rgb_item("Who\u200b won?"), [("query", ())]),
    ("odd-characters", rgb_item(answer="Ann\u00adLee"), [("answer[0]", ())]),
    ("odd-characters", fact_item("Sea", "Sky\u200b", "Sea", "Sky"), [("fakeanswer[0]", ())]),
    ("markup", rgb_item(negative=["Home > News"]), [("negative[0]", ())]),
    ("braces", rgb_item(negative=["{{source}}"]), [("negative[0]", ())]),
    ("prompt-words", rgb_item(negative=["Question : who?"]), [("negative[0]", ("words",))]),
    ("prompt-words", rgb_item(ZH, negative=["一个问题：谁？<|im_end|>"]), [("negative[0]", ("words", "template"))]),
    ("key-phrases", rgb_item(negative=["full of Factual errors"]), [("negative[0]", ())]),
    ("blank-document", rgb_item(negative=[" \n"]), [("negative[0]", ())]),
    ("empty-pool", rgb_item(negative=[]), [("negative", ("distracts",))]),
    ("slots-groups", rgb_item(**PARTS | {"answer": ["Ann Lee", "Bo Ray", "Cy"]}), [("answer", ())]),
    ("mix", rgb_item(**PARTS),
     [(f"integration@noise={noise}", (f"integration@noise={noise}",)) for noise in (0, 0.2, 0.4)]),
    ("gold-in-negative",
     native_item(Passage(text="Ann Lee", stance="supports"), Passage(text="ann lee", stance="distracts")),
     [("passages[1]", ALONE)]),
]  # fmt: skip

SILENT: list[tuple[str, Item]] = [
    ("gold-in-negative", rgb_item(negative=["Anne Lee, not Bo Ray"])),
    ("gold-in-negative", rgb_item(negative=["Ann Lee spoke."], **PARTS)),
    ("loose-gold-in-negative", rgb_item(negative=["It was Ann Lee again."])),
    ("gold-part-in-negative", rgb_item(negative=["Ann Lee and Bo Ray."], **PARTS)),
    ("negatives-hold-gold", rgb_item(negative=["Ann Lee and Bo Ray."], **PARTS)),
    ("positive-without-gold", rgb_item(**PARTS)),
    ("slot-without-positive", rgb_item(**PARTS)),
    ("gold-inside-longer", rgb_item(answer="70", positive=["170 rooms, of which 70 are new"])),
    ("gold-inside-longer", rgb_item(answer=[["70", "seventy"]], positive=["170 rooms, seventy of them new"])),
    ("gold-inside-longer", rgb_item(ZH, "3%", ["GDP3%的增速"])),
    ("gold-inside-longer", rgb_item(answer="70", positive=["It has rooms."])),
    ("question-holds-gold", rgb_item()),
    ("one-document-holds-all", rgb_item(**PARTS)),
    ("one-document-holds-all", rgb_item(answer=["Ann Lee", "Bo Ray"], positive=["Ann Lee and Bo Ray"])),
    ("fake-holds-gold", fact_item("Sea", "Sea", "Sea", "Sea")),
    ("fake-holds-gold", rgb_item()),
    ("fake-equals-gold", fact_item(["Ann", "Bo"], ["Ann", "Cy"], "Ann, Bo", "Ann, Cy")),
    ("gold-in-edit", fact_item("The Sea", "The Sky", "The Sea", "The Sky")),
    ("gold-holds-fake", fact_item("The Sea", "The Sky", "The Sea", "The Sky")),
    ("edit-unchanged", fact_item("The Sea", "The Sky", "The Sea", "The Sky")),
    ("edit-without-fake", fact_item("The Sea", "The Sky ", "The Sea", "the sky.")),
    ("both-labels", rgb_item()),
    ("exact-duplicate", rgb_item(positive=["Ann Lee"], negative=["Ann Lee", "ann lee"])),
    ("near-duplicate", rgb_item(negative=[LONG, "Quite another thing was said about the prize.", "ab", "ab"])),
    ("near-duplicate", fact_item("old", "new", LONG, LONG.replace("old", "new"))),
    ("cross-label-duplicate", rgb_item(positive=[LONG + " Ann Lee", LONG])),
    ("duplicate-question", rgb_item()),
    ("short-gold", rgb_item(answer="four")),
    ("short-gold", rgb_item(ZH, "安景澄", ["安景澄"])),
    ("single-form", native_item(spelled("Ann Lee"))),
    ("single-form-number", native_item(spelled("9 m"), answer=(("9 m",),))),
    ("digits-only-gold", rgb_item(answer="12 men")),
    ("single-form", rgb_item(answer=["Ann Lee", ["Bo Ray", "B. Ray"]])),
    ("single-form-number", rgb_item(answer=["Ann Lee", "Bo Ray"])),
    ("flat-list", rgb_item(answer=[["Ann Lee", "A. Lee"]])),
    ("flat-list", native_item(answer=(("Ann Lee",), ("Bo Ray",)))),
    ("space-in-alias", rgb_item(answer="Ann Lee")),
    ("unwinnable-slot", rgb_item(ZH, [["Ann Lee", "AnnLee"]])),
    ("edge-space", rgb_item()),
    ("edge-punctuation", rgb_item(answer="U.S.")),
    ("joined-alias", rgb_item(answer=[["May 15, 2012", "Tampa, Florida", "AC/DC", "1,313,851"]])),
    ("joined-alias", rgb_item(ZH, ["1,313,851人", "你好，安李"])),
    ("joined-alias", rgb_item(answer=[["11/11/2022", "200,200", "5/5"]])),
    ("repeated-alias", rgb_item(answer=[["May 5", "5 May"]])),
    ("odd-characters", rgb_item(negative=["tab\t, line\n, wide\u3000space"])),
    ("markup", rgb_item()),
    ("braces", rgb_item()),
    ("prompt-words", rgb_item(negative=["The question is: who?", "No documents here"])),
    ("key-phrases", rgb_item()),
    ("blank-document", rgb_item()),
    ("empty-pool", rgb_item()),
    ("slots-groups", rgb_item(**PARTS)),
    ("slots-groups", rgb_item(answer=["Ann Lee", "Bo Ray"])),
    ("mix", rgb_item(positive=["Ann Lee"] * 5, negative=["x"] * 5)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "item", "expected"), FIRES)
def test_a_rule_fires_where_it_should(rule: str, item: Item, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    found = faults(rule, item)
    assert [(fault.where, fault.definitions) for fault in found] == expected
    assert all(fault.message for fault in found)


@pytest.mark.parametrize(("rule", "item"), SILENT)
def test_a_rule_is_silent_where_it_should(rule: str, item: Item) -> None:
    assert faults(rule, item) == []


def test_every_rule_has_a_positive_and_a_negative_case() -> None:
    elsewhere = {"record", "accidental-match"}  # need a file: test_checker.py
    assert {rule for rule, *_ in FIRES} | {"duplicate-question"} == set(RULES) - elsewhere
    assert {rule for rule, _ in SILENT} == set(RULES) - elsewhere


def test_a_duplicate_question_names_the_first_item() -> None:
    again = rgb_item()
    (fault,) = faults("duplicate-question", rgb_item(), rgb_item("Who else?"), again)
    assert (fault.where, fault.message, fault.definitions) == (
        "query",
        "is also the question of item 0",
        ("same dataset",),
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_minimal_pair_may_share_its_question_but_not_a_third_item(order: tuple[int, int]) -> None:
    pair = (native_item(id="off"), native_item(id="on", twin="off"))
    assert faults("duplicate-question", *(pair[at] for at in order)) == []
    (fault,) = faults("duplicate-question", *(pair[at] for at in order), native_item(id="third"))
    assert fault.message == f"is also the question of item {pair[order[0]].id}"


def test_a_false_answer_as_a_list_has_slots() -> None:
    item = fact_item("red", ["blue", "green"], "red", "blue and green", query=ZH)
    assert [faults(rule, item) for rule in ("fake-holds-gold", "gold-in-edit", "edit-without-fake")] == [[], [], []]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_a_meaning_and_a_fix(name: str) -> None:
    rule = RULES[name]
    assert rule.name == name
    assert rule.severity in ("error", "warning", "note")
    assert 15 < len(rule.meaning) < 80
    assert rule.fix.endswith((".", "]."))
    assert len(set(rule.definitions)) == len(rule.definitions)
