"""Exports for RAGAS, RAGChecker and MLflow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragbed.runs.execution import run
from ragbed.schema import Case, Completion, Served
from tests.cli.typed import Done, type_command
from tests.interop.exports.runs import make_own_retrieval_run, make_run
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job

_LOST = f"test/talking on {make_case(1).case}: timeout"


def _export(source: Path | str, to: str, output: Path, *words: str) -> Done:
    return type_command("export", str(source), "--to", to, "-o", str(output), *words)


def test_ragas_gets_responses_but_no_failed_trials(tmp_path: Path) -> None:
    done = _export(make_run(tmp_path / "run"), "ragas", tmp_path / "out", "--json")
    assert (done.code, json.loads(done.out)["failed"]) == (3, [_LOST])
    assert f"Trials without a response: 1. They were not exported:\n  {_LOST}\n" in done.err
    rows = [json.loads(line) for line in (tmp_path / "out").read_text("utf-8").splitlines()]
    assert rows[0] == {
        "case": make_case(0).case,
        "user_input": "Question 0?",
        "retrieved_contexts": ["It is gold-0."],
        "reference_contexts": ["It is gold-0."],
        "reference": "gold-0",
        "response": "It is gold-0.",
    }
    assert [row["response"] for row in rows] == ["It is gold-0.", "It is gold-2."]


def test_ragchecker_gets_one_object_with_all_results(tmp_path: Path) -> None:
    done = _export(make_run(tmp_path / "run"), "ragchecker", tmp_path / "out")
    assert done.code == 3
    results = json.loads((tmp_path / "out").read_text("utf-8"))["results"]
    assert results[1] == {
        "query_id": make_case(2).case,
        "query": "Question 2?",
        "gt_answer": "gold-2",
        "response": "It is gold-2.",
        "retrieved_context": [{"doc_id": "2/0", "text": "It is gold-2."}],
    }
    assert len(results) == 2


def test_the_contexts_of_a_rag_system_are_its_retrieved_passages(tmp_path: Path) -> None:
    run = make_own_retrieval_run(tmp_path / "run")
    for to in ("ragas", "ragchecker"):
        done = _export(run, to, tmp_path / to)
        assert done.code == 0
        assert "Trials whose system does not report the retrieved passages: 1. They have no contexts.\n" in done.err
        assert "Retrieved passages that are not in the corpus: 2. They were omitted.\n" in done.err
    rows = [json.loads(line) for line in (tmp_path / "ragas").read_text("utf-8").splitlines()]
    found = ["It is gold-0.", "It rained."]
    assert [row["retrieved_contexts"] for row in rows] == [found, [], ["It is gold-2.", "It rained."]]
    assert {row["reference_contexts"] for row in rows} == {None}
    results = json.loads((tmp_path / "ragchecker").read_text("utf-8"))["results"]
    told = [{"doc_id": name, "text": text} for name, text in zip(("a0", "b1"), found, strict=True)]
    assert [results[0]["retrieved_context"], results[1]["retrieved_context"]] == [told, []]


@pytest.mark.parametrize("to", ["ragas", "ragchecker"])
def test_a_format_for_one_model_requires_its_name(to: str, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", "test/a", "test/b")
    done = _export(run, to, tmp_path / "out")
    assert done.code == 2
    assert "this run has several models. Choose one with --model: test/a, test/b." in done.err
    assert "unknown model 'test/c'" in _export(run, to, tmp_path / "out", "-m", "test/c").err
    assert not (tmp_path / "out").exists()
    done = _export(run, to, tmp_path / "out", "-m", "test/b")
    assert f"2 trials from {run} written" in done.err


def test_a_testbed_has_no_responses(tmp_path: Path) -> None:
    done = _export("ragbed-mini-zh_base", "ragchecker", tmp_path / "out", "--testbeds", "rejection", "--limit", "2")
    assert done.code == 0
    results = json.loads((tmp_path / "out").read_text("utf-8"))["results"]
    assert [result["response"] for result in results] == [None, None]
    assert results[0]["gt_answer"] == "文档信息不足，因此我无法基于提供的文档回答该问题。"
    _export("ragbed-mini-zh_base", "ragas", tmp_path / "rows", "--testbeds", "rejection", "--limit", "2")
    rows = [json.loads(line) for line in (tmp_path / "rows").read_text("utf-8").splitlines()]
    assert [("response" in row, row["reference_contexts"]) for row in rows] == [(False, [])] * 2


def test_mlflow_gets_every_number_with_its_counts(tmp_path: Path) -> None:
    done = _export(make_run(tmp_path / "run", "test/a", "test/b"), "mlflow", tmp_path / "out")
    assert done.code == 0
    runs = json.loads((tmp_path / "out").read_text("utf-8"))["runs"]
    assert [one["run_name"] for one in runs] == ["test/a", "test/b"]
    metrics, name = runs[1]["metrics"], "noise/accuracy/en/made/robust/noise-0.0/k-1"
    assert metrics[name] == pytest.approx(2 / 3)
    counts = [metrics[f"{name}.{which}"] for which in ("n", "asked", "errors")]
    assert counts == [3, 3, 1]
    assert runs[1]["params"]["repeats"] == "1"
    assert runs[1]["tags"]["track"] == "robust"
    # MLflow's own rule for names.
    assert all(re.fullmatch(r"[\w.\- /:]{1,250}", key) for one in runs for key in {**one["metrics"], **one["params"]})


def test_mlflow_gets_the_numbers_of_each_model_that_the_server_served(tmp_path: Path) -> None:
    def say(case: Case) -> Completion:
        return Completion(
            outcome="ok", reply=f"It is gold-{case.item}.", served=Served(model=f"m-{int(case.item) % 2}")
        )

    run(make_job(tmp_path / "run", 4, TalkingModel(say)), ask_nobody)
    assert _export(tmp_path / "run", "mlflow", tmp_path / "out").code == 0
    runs = json.loads((tmp_path / "out").read_text("utf-8"))["runs"]
    assert [one["run_name"] for one in runs] == ["test/talking (m-0)", "test/talking (m-1)"]
    name = "noise/accuracy/en/made/robust/noise-0.0/k-1"
    assert [one["metrics"][f"{name}.n"] for one in runs] == [2, 2]


def test_mlflow_separates_prompting_strategies_from_the_plain_prompt(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0.4", "--limit", "4", "--no-cache")
    run = ("run", "-m", "scripted/first-doc", *words, "--strategies", "quote,isolate", "--out", str(tmp_path / "run"))
    assert type_command(*run).code == 0
    cells = json.loads(type_command("report", str(tmp_path / "run"), "-f", "json").out)
    told = [one for one in cells if (one["track"], one["scope"]) == ("robust", "all") and one["value"] is not None]
    assert _export(tmp_path / "run", "mlflow", tmp_path / "out").code == 0
    metrics = json.loads((tmp_path / "out").read_text("utf-8"))["runs"][0]["metrics"]
    values = {name: value for name, value in metrics.items() if f"{name}.n" in metrics}
    assert len(values) == len(told)
    profiles = {name.split("/")[4] for name in values if name.startswith("noise/accuracy/")}
    assert profiles == {"robust", "robust_quote", "robust_isolate"}


def test_infeasible_settings_are_reported(tmp_path: Path) -> None:
    done = _export("figure1", "inspect", tmp_path / "out", "--testbeds", "noise", "--num-docs", "9")
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert "No case can be built" in done.err
    words = ("--testbeds", "noise", "--num-docs", "8", "--noise", "0,0.5", "--limit", "4", "--json")
    done = _export("ragbed-mini-en_base", "ragas", tmp_path / "rows", *words)
    told = json.loads(done.out)
    assert (done.code, told["cases"], told["infeasible"]) == (
        0,
        4,
        {"the case requires 8 supporting documents, but the item has only 6": 4},
    )
    assert "4 infeasible cases were not exported" in done.err


@pytest.mark.parametrize("to", ["inspect", "lm-eval", "hf", "ragas", "ragchecker"])
@pytest.mark.parametrize("testbed", ["own-retrieval", "own-rejection"])
def test_a_testbed_without_documents_is_not_frozen(to: str, testbed: str, tmp_path: Path) -> None:
    done = _export("ragbed-mini-en_base", to, tmp_path / "out", "--testbeds", f"noise,{testbed}", "--limit", "2")
    assert (done.code, (tmp_path / "out").exists()) == (2, False)
    assert f"{testbed} cannot be exported to {to}: its cases have no documents" in done.err


def test_cases_of_a_testbed_without_documents_are_lines(tmp_path: Path) -> None:
    words = ("--testbeds", "own-retrieval", "--limit", "2")
    assert _export("ragbed-mini-en_base", "jsonl", tmp_path / "out", *words).code == 0
    assert all(json.loads(line)["corpus"] for line in (tmp_path / "out").read_text("utf-8").splitlines())


def test_targets_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    done = _export("figure1", "inspect", tmp_path / "there", "--num-docs", "2")
    assert (done.code, done.err) == (2, f"ragbed: {tmp_path / 'there'} already exists. Choose a new folder.\n")
    done = _export("figure1", "lm-eval", tmp_path / "there" / "file" / "out", "--num-docs", "2")
    assert done.code == 1
    assert "cannot be written: Not a directory" in done.err
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    done = _export("figure1", "native", tmp_path / "out", "--noise", "0")
    assert (done.code, done.err) == (
        2,
        "ragbed: --noise has no effect here: --to native exports complete items, not test cases.\n",
    )
    done = type_command("export", "figure1", "ragbed-mini-en_base", "--to", "rgb", "-o", str(tmp_path / "out"))
    assert "rgb exports one dataset at a time, but 2 datasets were given" in done.err


@pytest.mark.parametrize(
    ("to", "hint"),
    [
        ("inspect", "inspect eval 'my exports/one/tasks.py@en_noise' --model"),
        ("lm-eval", "--include_path 'my exports/one' --tasks one_en_noise "),
    ],
)
def test_the_hint_contains_the_folder_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    layout = ("--testbeds", "noise", "--noise", "0.5", "--num-docs", "2")
    assert hint in _export("figure1", to, Path("my exports/one"), *layout).err
