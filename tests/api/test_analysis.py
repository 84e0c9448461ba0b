"""Runs compared, scored, judged and diagnosed from Python."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import RagbedError
from ragbed.runs.store import open_store
from tests.servers.function_model import ModelRequest, function_model

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
    assert (first["won"], first["lost"], result.unpaired) == (0, 8, 0)
    assert len(result.flips) == 8
    assert not result.passed
    assert "failure" in junit.read_text("utf-8")
    assert ragbed.compare(runs["oracle"], runs["oracle"], fail_if_worse=0.1).passed
    assert len(result.to_pandas()) == len(result.records()) == 2
    assert "<table>" in result._repr_html_()
    assert "-1" in repr(result)


@pytest.mark.parametrize("share", ["10%", "0.1", " 10 % ", 0.1])
def test_a_margin_is_a_number_or_a_percentage(share: str | float, runs: dict[str, ragbed.Run]) -> None:
    assert not ragbed.compare(runs["oracle"], runs["refuser"], fail_if_worse=share).passed
    assert ragbed.compare(runs["oracle"], runs["refuser"], min_drop=share).records()


@pytest.mark.parametrize("share", ["lots", "5", 1.5, "-1%", "nan"])
def test_a_margin_that_is_not_a_share_is_refused(share: str | float, runs: dict[str, ragbed.Run]) -> None:
    message = rf"fail_if_worse={share!r} is not a fraction between 0 and 1\. Use a value such as 0\.03 or '3%'\."
    with pytest.raises(ragbed.UsageError, match=message):
        ragbed.compare(runs["oracle"], runs["refuser"], fail_if_worse=share)


def test_scores_have_the_share_of_true_documents_and_the_accuracy(tmp_path: Path) -> None:
    data, out = "ragbed-mini-en_fact", tmp_path / "run"
    run = ragbed.run("scripted/refuser", data, testbeds="counterfactual", true_ratio="0,0.4", limit=3, out=out)
    found = [(row["true_ratio"], row["correct"]) for row in ragbed.score(run, progress=False).records()]
    assert found == [(0.0, 0.0), (0.4, 0.0)]


def test_scores_are_rates_by_condition_and_aggregates_are_a_file(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    scored = ragbed.score(list(runs.values()), disagreements="code")
    rates = {(row["model"], row["testbed"]): row["correct"] for row in scored.records()}
    assert rates[("scripted/oracle", "noise")] == 1.0
    assert rates[("scripted/refuser", "noise")] == 0.0
    noise = scored.records()[0]
    assert 0 < noise["correct_low"] < noise["correct"] == noise["correct_high"] == 1.0
    assert not any(isinstance(value, dict | list) for row in scored.records() for value in row.values())
    assert scored.disagreements == []
    written = ragbed.score(runs["oracle"], aggregates=tmp_path / "aggregates.jsonl").aggregates
    assert written is not None
    assert (written.trials, Path(written.place).is_file()) == (16, True)
    assert ragbed.report(tmp_path / "aggregates.jsonl", format="csv").has_cases is False


def test_a_judge_that_cannot_judge_is_counted_as_unparsed(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    result = ragbed.judge(runs["oracle"], "scripted/echo", criteria=["correct"], sample=4, out=labels, progress=False)
    rows = result.records()
    assert {row["judge"] for row in rows} == {"scripted/echo"}
    assert sum(row["asked"] for row in rows) == 16
    assert sum(row["unparsed"] for row in rows) == 16
    assert [row["corrected"] for row in rows] == [None, None]
    assert (result.failed, result.sample) == (0, len(labels.read_text("utf-8").splitlines()))
    assert result.criteria.keys() == {"correct"}


def test_a_function_can_judge_and_a_rag_system_cannot(runs: dict[str, ragbed.Run]) -> None:
    def says_yes(prompt: str) -> str:
        return "VERDICT: yes"

    rows = ragbed.judge(runs["refuser"], says_yes, criteria="correct", testbeds="noise").records()
    assert [(row["judge"], row["yes"], row["rate"]) for row in rows] == [("function/says_yes", 8, 1.0)]
    with pytest.raises(ragbed.UsageError, match="is a RAG system and does not accept prompts"):
        ragbed.judge(runs["refuser"], ragbed.system(lambda case: "?", name="mine"))


def test_the_first_error_of_a_judge_is_told(runs: dict[str, ragbed.Run], caplog: pytest.LogCaptureFixture) -> None:
    def fails(prompt: str) -> str:
        raise ValueError("no key")

    result = ragbed.judge(runs["refuser"], fails, criteria="correct", testbeds="noise", progress=False)
    assert result.failed == 8
    (message,) = caplog.messages
    assert message.startswith("First error of function/fails: exception: ValueError: no key\nTraceback")


def test_labels_of_people_validate_a_judge(runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    drawn, labelled = tmp_path / "drawn.jsonl", tmp_path / "labelled.jsonl"
    ragbed.judge(runs["oracle"], "scripted/echo", criteria="correct", sample=6, out=drawn)
    lines = [json.loads(line) | {"label": True, "rater": "ada"} for line in drawn.read_text("utf-8").splitlines()]
    labelled.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = ragbed.judge(runs["oracle"], ["scripted/echo", "scripted/refuser"], criteria="correct", labels=labelled)
    assert result.labels == {"used": len(lines), "left_out": {}}
    assert result.validations is not None
    assert len(result.judge_pairs) == 1


def test_a_diagnosis_has_types_sources_and_evidence(runs: dict[str, ragbed.Run]) -> None:
    result = ragbed.diagnose(runs["refuser"])
    (row,) = [row for row in result.records() if row["type"] == "E10"]
    assert (row["errors"], row["wrong"], row["share"], row["meaning"]) == (8, 8, 1.0, "false refusal")
    assert row["confirmed"] is None
    assert [row["source"] for row in result.sources()] == ["no answer"]
    assert len(result.of_type("E10")) == 8
    assert result.of_type("unclassified") == []
    with pytest.raises(ragbed.UsageError, match="Did you mean 'E11'"):
        result.of_type("E101")
    assert result.path.read_text("utf-8").count("\n") == len(result.diagnoses)
    assert result.counts.asked == 8


def test_interventions_call_the_models_again(runs: dict[str, ragbed.Run]) -> None:
    messages: list[str] = []

    class Messages(ragbed.Progress):
        def message(self, text: str) -> None:
            messages.append(text)

    result = ragbed.diagnose(runs["refuser"], intervene=True, knock_out=True, progress=Messages())
    assert [message.partition(":")[0] for message in messages] == ["intervene", "knock-out"]
    assert result.failed == 0


def test_the_budget_of_a_diagnosis_includes_earlier_calls_of_all_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbed.runs.prices.find_price", lambda *_: lambda _: Decimal(1))
    run = ragbed.run("scripted/echo", DATA, testbeds="noise", noise=0.8, limit=2, out=tmp_path / "run")
    ragbed.diagnose(run, knock_out=True, no_cache=True)
    with pytest.raises(ragbed.RagbedError, match=r"budget of \$1 has been used up"):
        ragbed.diagnose(run, intervene=True, knock_out=True, no_cache=True, budget=1)
    (folder,) = (tmp_path / "run" / "diagnose" / "intervene").iterdir()
    with open_store(folder, create=False) as store:
        assert store.result_count() == 0


def test_the_first_error_of_a_rerun_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    module = tmp_path / "system_that_fails_later.py"
    module.write_text(
        "import os\n\n"
        "def answer(question, documents, lang):\n"
        "    if 'ITS_KEY' not in os.environ:\n"
        "        raise ValueError('no key')\n"
        "    return 'Ann'\n",
        "utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        patch.setenv("ITS_KEY", "1")
        name = "python/system_that_fails_later:answer"
        run = ragbed.run(name, DATA, testbeds="noise", noise=0, limit=2, out=tmp_path / "run", progress=False)
        patch.delenv("ITS_KEY")
        assert ragbed.diagnose(run, knock_out=True, progress=False).failed > 0
    assert any(text.startswith(f"First error of {name}: ") and "no key" in text for text in caplog.messages)


@pytest.mark.parametrize(("name", "default"), [("temperature", 0.0), ("top_p", 1.0)])
def test_a_diagnosis_keeps_the_sampling_parameters_that_the_run_has_set(
    name: str, default: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[float | None] = []
    is_accepted = True

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        received.append(request.body.get(name))
        if is_accepted or received[-1] is None:
            return "Ann"
        return 400, {"error": {"message": "Unsupported", "param": name, "code": "unsupported_parameter"}}

    with function_model(respond) as url:
        monkeypatch.setenv("T_BASE_URL", url)
        chosen: dict[str, Any] = {"testbeds": "noise", "noise": 0, "limit": 3, "no_cache": True, "progress": False}
        run, usual = (
            ragbed.run("openai-api/t/m", DATA, out=tmp_path / str(value), **(chosen | {name: value}))
            for value in (0.5, default)
        )
        received.clear()
        is_accepted = False
        with pytest.raises(RagbedError, match="Unsupported"):
            ragbed.diagnose(run, knock_out=True, no_cache=True, progress=False)
        assert set(received) == {0.5}
        assert ragbed.diagnose(usual, knock_out=True, no_cache=True, progress=False).failed == 0


def test_a_function_cannot_be_called_again_by_a_diagnosis(tmp_path: Path) -> None:
    run = ragbed.run({"mine": lambda prompt: "Ann"}, DATA, testbeds="noise", noise=0, limit=2, out=tmp_path / "run")
    with pytest.raises(ragbed.UsageError, match="function/mine is a Python function, which is not stored with the run"):
        ragbed.diagnose(run, knock_out=True)


def test_power_and_the_papers_tables_are_records() -> None:
    needed = ragbed.power(drop=0.05, discordance="12%", base=[0.9])
    assert [row["design"] for row in needed] == ["paired", "unpaired, each group"]
    assert ragbed.power(items=300, drop="5%")[0]["power"] > 0.3
    tables = ragbed.paper_tables()
    assert {row["table"] for row in tables.records()} == {"noise", "rejection", "integration", "counterfactual"}
    assert tables.findings.corrections
