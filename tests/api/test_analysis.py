"""Runs compared, scored, judged and diagnosed from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ragbed

DATA = "ragbed-mini-en_base"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ragbed.Run]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        model: ragbed.run(f"scripted/{model}", DATA, testbeds="noise,closed-book", noise=0, limit=8, out=folder / model)
        for model in ("oracle", "refuser")
    }


def test_a_comparison_has_numbers_by_condition(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    junit = tmp_path / "gates.xml"
    result = ragbed.compare(runs["oracle"], str(runs["refuser"].folder), fail_if_worse=0.1, junit=junit)
    first = result.records()[0]
    assert (first["testbed"], first["n"], first["a"], first["b"]) == ("noise", 8, 1.0, 0.0)
    assert first["low"] <= first["difference"] == -1.0 <= first["high"]
    assert (first["won"], first["lost"], result["unpaired"]) == (0, 8, 0)
    assert len(result["flips"]) == 8
    assert result.exit_code == 4
    assert "failure" in junit.read_text("utf-8")
    assert ragbed.compare(runs["oracle"], runs["oracle"], fail_if_worse=0.1).exit_code == 0
    assert len(result.to_pandas()) == len(result.records()) == 2
    assert "<table>" in result._repr_html_()
    assert "−100.0" in repr(result)


@pytest.mark.parametrize("share", ["10%", "0.1", " 10 % ", 0.1])
def test_a_margin_is_a_number_or_a_percentage(share: str | float, runs: dict[str, ragbed.Run]) -> None:
    assert ragbed.compare(runs["oracle"], runs["refuser"], fail_if_worse=share).exit_code == 4


def test_a_judge_that_cannot_judge_is_counted_as_unparsed(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    result = ragbed.judge(runs["oracle"], "scripted/echo", criteria=["correct"], sample=4, out=labels, progress=False)
    rows = result.records()
    assert {row["judge"] for row in rows} == {"scripted/echo"}
    assert sum(row["asked"] for row in rows) == 16
    assert sum(row["unparsed"] for row in rows) == 16
    assert "corrected" not in result.values
    drawn = len(labels.read_text("utf-8").splitlines())
    assert (result["failed"], result.notes[0].split()[0]) == (0, str(drawn))


def test_a_function_can_judge_and_a_rag_system_cannot(runs: dict[str, ragbed.Run]) -> None:
    def says_yes(prompt: str) -> str:
        return "VERDICT: yes"

    rows = ragbed.judge(runs["refuser"], says_yes, criteria="correct", testbeds="noise").records()
    assert [(row["judge"], row["yes"], row["rate"]) for row in rows] == [("function/says_yes", 8, 1.0)]
    with pytest.raises(ragbed.UsageError, match="is a RAG system, which builds its own prompts"):
        ragbed.judge(runs["refuser"], ragbed.system(lambda case: "?", name="mine"))


def test_the_first_error_of_a_judge_is_told(runs: dict[str, ragbed.Run], caplog: pytest.LogCaptureFixture) -> None:
    def fails(prompt: str) -> str:
        raise ValueError("no key")

    result = ragbed.judge(runs["refuser"], fails, criteria="correct", testbeds="noise", progress=False)
    assert result["failed"] == 8
    (message,) = caplog.messages
    assert message.startswith("First error of function/fails: exception: ValueError: no key\nTraceback")


def test_labels_of_people_validate_a_judge(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    drawn, labelled = tmp_path / "drawn.jsonl", tmp_path / "labelled.jsonl"
    ragbed.judge(runs["oracle"], "scripted/echo", criteria="correct", sample=6, out=drawn)
    lines = [json.loads(line) | {"label": True, "rater": "ada"} for line in drawn.read_text("utf-8").splitlines()]
    labelled.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = ragbed.judge(runs["oracle"], ["scripted/echo", "scripted/refuser"], criteria="correct", labels=labelled)
    assert result["labels"] == {"used": len(lines), "left_out": {}}
    with pytest.raises(ragbed.UsageError, match="no value 'label'"):
        result["label"]


def test_a_diagnosis_has_types_sources_and_evidence(runs: dict[str, ragbed.Run]) -> None:
    result = ragbed.diagnose(runs["refuser"], show="E9")
    (row,) = [row for row in result["types"] if row["type"] == "E9"]
    assert (row["errors"], row["wrong"], row["share"], row["meaning"]) == (8, 8, 1.0, "false refusal")
    assert [row["source"] for row in result["sources"]] == ["no answer"]
    assert len(result["errors"]) == 8
    assert ragbed.diagnose(runs["refuser"], show="unclassified")["errors"] == []
    with pytest.raises(ragbed.UsageError, match="Did you mean 'E11'"):
        ragbed.diagnose(runs["refuser"], show="E101")
    assert Path(result["file"]).read_text("utf-8").count("\n") == 8
    assert result["trials"].asked == 8


@pytest.mark.parametrize(("drop", "discordance", "items"), [("3%", "8%", 736), (0.05, 0.1, 337), ("10%", "3/10", 249)])
def test_a_drop_and_a_discordance_give_the_number_of_questions(
    drop: float | str, discordance: float | str, items: int
) -> None:
    (needed,) = ragbed.power(drop=drop, discordance=discordance)
    assert needed["items"] == items


def test_items_give_the_smallest_detectable_drop_and_both_give_the_power() -> None:
    assert ragbed.power(items=300)[0]["drop"] == pytest.approx(0.0561, abs=1e-4)
    assert ragbed.power(items=312, drop="5%", discordance="10%")[0]["power"] == pytest.approx(0.7638, abs=1e-4)
