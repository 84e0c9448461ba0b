"""The testbed `given`: documents unchanged and in order, and a score for each expectation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import ragbed
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.linting.checker import DatasetCheck, choose_rules
from ragbed.data import UNVALIDATED, Dataset
from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.runs.store import StoredResult
from ragbed.schema import Completion
from ragbed.scoring import score
from ragbed.testbeds.prompts import FLAG, REFUSAL
from tests.analysis.diagnosis.printed import diagnose_stored

_SAMPLES = Path(__file__).parent.parent / "data/readers"
_ITEM: dict[str, Any] = {
    "id": "1", "question": "Who runs the mill?", "lang": "en", "answer": [["Ann Lee"]], "expect": "answer",
    "documents": [{"text": "Ann Lee runs it.", "stance": "supports"}, {"text": "Mills grind."}],
}  # fmt: skip


def _items(**changes: Any) -> list[dict[str, Any]]:
    return [{key: value for key, value in (_ITEM | changes).items() if value is not None}]


def _case(**changes: Any) -> ragbed.Case:
    return next(iter(ragbed.cases(_items(**changes))))


def test_documents_are_shown_unchanged_and_in_their_order() -> None:
    (case,) = ragbed.cases(_items(), seed=7)
    assert [(one.text, one.stance) for one in case.documents] == [
        ("Ann Lee runs it.", "supports"),
        ("Mills grind.", None),
    ]
    prompt = case.messages[-1].content
    assert 0 < prompt.index("Ann Lee runs it.") < prompt.index("Mills grind.")
    assert (case.testbed, case.expect, case.slots, case.noise) == ("given", "answer", (0,), None)


_RESPONSES = {
    "gold": "Ann Lee", "other": "Bob Ray", "refusal": REFUSAL["en"], "flag": FLAG["en"],
    "flag and gold": f"{FLAG['en']} The correct answer is Ann Lee.", "empty": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("expect", "has_gold", "good"),
    [
        ("answer", True, {"gold", "flag and gold"}),
        ("answer", False, {"gold", "other", "flag"}),
        ("refuse", False, {"refusal"}),
        ("correct", True, {"flag and gold"}),
        ("correct", False, {"flag"}),
        ("any", True, {"gold", "flag and gold", "refusal"}),
    ],
)
def test_each_expectation_has_its_responses(expect: str, has_gold: bool, good: set[str]) -> None:
    case = _case(expect=expect, answer=_ITEM["answer"] if has_gold else None)
    # If the scorer does not know the answer, it takes a flag followed by a correction for a refusal.
    replies = {name: reply for name, reply in _RESPONSES.items() if has_gold or name != "flag and gold"}
    assert {name for name, reply in replies.items() if score(case, reply)["expected"]} == good
    assert ("code.expected" in score(case, "Ann Lee")) == has_gold


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"expect": None}, "expect is missing, but the item has documents; use answer, refuse, correct or any"),
        ({"documents": None}, "documents is missing, but the item has `expect`"),
        ({"documents": []}, "documents is missing"),
        ({"expect": "flag"}, "expect: invalid enum value 'flag'; use answer, refuse, correct or any"),
        ({"expect": "any", "answer": None}, "answer is missing; with `expect` any"),
        ({"answer": [[""]]}, "answer contains an empty alias"),
        ({"passages": [{"text": "A", "stance": "supports"}]}, "passages cannot be combined with documents"),
        ({"documents": [{"text": "A", "stance": "agrees"}]}, "documents[0].stance: invalid enum value 'agrees'"),
    ],
)
def test_a_wrong_item_is_refused_with_its_field(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError) as caught:
        list(ragbed.cases(_items(**changes)))
    assert f"item 0: {message}" in str(caught.value)


def test_other_testbeds_say_why_they_are_not_suited() -> None:
    for testbed in ("noise", "closed-book", "own-rag", "search"):
        with pytest.raises(UsageError, match=r"Found: 1 given item in en \(testbeds given\).* none can be selected"):
            list(ragbed.cases(_items(), testbeds=testbed))
    with pytest.raises(UsageError, match="has no given item"):
        list(ragbed.cases("ragbed-mini-en_base", testbeds="given"))
    with pytest.raises(UsageError, match=r"unknown format 'ramdoc'\. Did you mean 'ramdocs'"):
        ragbed.cases(str(_SAMPLES / "ramdocs.jsonl"), format="ramdoc")
    with pytest.raises(UsageError, match=r"unknown dataset 'other'\. Known: ramdocs"):
        ragbed.cases(str(_SAMPLES / "ramdocs.jsonl"), format="other=ramdocs")
    with pytest.raises(RagbedError, match="given documents, which RGB's format does not have"):
        ragbed.export(_items(), "rgb", Path("given.json"))


def test_options_that_select_documents_have_no_effect() -> None:
    messages: list[str] = []
    spec = ragbed.RunSpec(model="scripted/oracle", data=_items(), noise=0.4, num_docs=5)
    (case,) = ragbed.plan_run(spec, messages.append).cases()
    assert len(case.documents) == 2
    assert messages == ["`noise`, `num_docs`: no effect on data, whose documents are fixed."]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ragbed.Run:
    """Three models on three benchmarks."""
    names = ("ramdocs", "nomiracl_en", "nomiracl_zh", "faitheval-inconsistent")
    return ragbed.run(
        ["scripted/oracle", "scripted/refuser", "scripted/gullible"],
        [str(_SAMPLES / f"{name}.jsonl") for name in names],
        format=["ramdocs=ramdocs", "nomiracl", "faitheval-inconsistent=faitheval-inconsistent"],
        out=tmp_path_factory.mktemp("runs") / "run",
    )


def test_a_report_has_a_row_per_model_benchmark_and_language(run: ragbed.Run) -> None:
    rows = {(row["model"], row["data"].split(",")[0], row["lang"]): row for row in run.table("given")}
    assert len(rows) == 3 * 4
    shown = {data: [rows[f"scripted/{name}", data, lang]["as expected"] for name in ("oracle", "refuser", "gullible")]
             for _, data, lang in rows}  # fmt: skip
    assert shown == {
        "ramdocs": [1, 0, pytest.approx(1 / 3)], "nomiracl_en": [1, 0.5, 0], "nomiracl_zh": [1, 0.5, 0],
        "faitheval-inconsistent": [1, 0, 0],
    }  # fmt: skip
    assert rows["scripted/refuser", "nomiracl_zh", "zh"]["refused"] == 1
    assert rows["scripted/refuser", "nomiracl_zh", "zh"]["false refusal"] == 1
    assert rows["scripted/oracle", "faitheval-inconsistent", "en"]["error flagged"] == 1


def test_models_are_compared_by_expectation(run: ragbed.Run) -> None:
    rows = ragbed.compare(f"{run.folder}:scripted/oracle", f"{run.folder}:scripted/refuser").records()
    assert {(row["data"], row["arm"], row["a"], row["b"]) for row in rows if row["data"] == "nomiracl_en"} == {
        ("nomiracl_en", "answer", 1.0, 0.0), ("nomiracl_en", "refuse", 1.0, 1.0)
    }  # fmt: skip
    assert {row["arm"] for row in ragbed.rank(run).records()} == {"answer", "refuse", "correct"}


def test_gates_and_diagnoses_use_the_expectation(run: ragbed.Run, tmp_path: Path) -> None:
    data = str(_SAMPLES / "ramdocs.jsonl")
    made = ragbed.run("scripted/refuser", data, format="ramdocs", out=tmp_path / "a", fail_under=["given.expected=0.9"])
    assert made.gates
    with pytest.raises(UsageError, match=r"given.accuracy=0.5: no case in this run contributes to this metric"):
        ragbed.run(
            "scripted/refuser", str(_SAMPLES / "nomiracl_en.jsonl"), format="nomiracl", fail_under="given.accuracy=0.5"
        )
    found = ragbed.diagnose(run)
    assert {row["type"] for row in found.records() if row.get("model") == "scripted/refuser"} >= {"E9"}


def test_refusals_in_other_languages_are_left_to_a_judge(tmp_path: Path) -> None:
    path = tmp_path / "ja.jsonl"
    lines = (_SAMPLES / "nomiracl_en.jsonl").read_text().splitlines()
    path.write_text("\n".join(json.dumps(json.loads(line) | {"query": "天文台はいつできましたか？"}) for line in lines))
    with pytest.raises(DataError, match="the questions are in ja"):
        list(ragbed.cases(str(path), format="nomiracl"))
    cases = list(ragbed.cases(str(path), format="nomiracl", data_lang="en"))
    assert {case.data for case in cases} == {f"ja (ja, {UNVALIDATED})"}
    for case in cases:
        scores = score(case, REFUSAL["en"])
        assert [scores.get(name) for name in ("refused", "flagged", "expected", "unsure")] == [None, None, None, False]
        assert CRITERIA["refusal"].applies(case)
    with_gold = structs.replace(cases[0], answer=(("1788",),))
    assert (score(with_gold, "1788")["expected"], score(with_gold, REFUSAL["en"])["verdict"]) == (True, "unsure")
    undecided = structs.replace(with_gold, testbed="rejection", expect="refuse")
    assert diagnose_stored(StoredResult(undecided, "m", 0, Completion(outcome="ok", reply=REFUSAL["en"]))) is None


def test_a_judge_is_asked_about_errors_without_a_gold_answer() -> None:
    assert CRITERIA["flag"].applies(_case(expect="correct", answer=None))
    assert CRITERIA["correct"].applies(_case(expect="any"))


def test_every_rule_accepts_given_documents() -> None:
    for name in ("ramdocs", "nomiracl_en", "faitheval-inconsistent"):
        dataset = Dataset(name, _SAMPLES / f"{name}.jsonl", format=name.partition("_")[0])
        check = DatasetCheck(dataset, choose_rules())
        places = {finding.where for finding in check.findings() if finding.document}
        assert check.documents == sum(len(item.documents) for item in dataset.items())
        assert all(place.startswith("documents[") for place in places)
