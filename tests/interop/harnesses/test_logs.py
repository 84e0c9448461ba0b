"""Import of logs of other harnesses: samples that do not match are reported."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval as evaluate
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from ragbed.interop.exports.frozen import read_frozen, read_part
from ragbed.interop.exports.harness_tasks import METRICS, pack
from ragbed.interop.harnesses.inspect import frozen_task
from ragbed.interop.harnesses.lm_eval import process_results
from ragbed.schema import Case
from ragbed.testbeds.prompts import prompt_hash
from tests.cli.typed import type_command
from tests.interop.harnesses.evaluation import inspect_scores, scores_of


@pytest.fixture
def testbed(tmp_path: Path) -> Path:
    folder = tmp_path / "bed"
    words = ("--testbeds", "rejection", "--limit", "5", "--to", "inspect", "-o", str(folder))
    assert type_command("export", "ragbed-mini-en_base", *words).code == 0
    return folder


def _cases(testbed: Path) -> list[Case]:
    return [case for part in read_frozen(testbed).parts for case in read_part(testbed, part)]


def _import(path: Path, form: str, testbed: Path, *words: str) -> tuple[int, dict[str, Any], str]:
    out = path.with_name("run")
    done = type_command("import", str(path), "--from", form, "-d", str(testbed), "--out", str(out), "--json", *words)
    return done.code, json.loads(done.out), done.err


def _line(case: Case, **changes: str) -> str:
    doc = {"case": case.case, "prompt": prompt_hash(case.messages)} | changes
    return json.dumps({"doc_id": 0, "doc": doc, "resps": [["x"]], "filtered_resps": ["x"]}) + "\n"


def test_samples_of_lm_eval_that_do_not_match_are_named(testbed: Path, tmp_path: Path) -> None:
    cases = _cases(testbed)
    lines = [
        _line(cases[0]),
        _line(cases[0]),
        _line(cases[1], prompt="0123"),
        _line(cases[2]).replace(cases[2].case, "other/1/noise@k=5"),
        '{"doc": {}, "resps": [["x"]]}\n',
        _line(cases[3]).replace('[["x"]]', '[["x", "y"]]'),
        _line(cases[4]),
    ]
    path = tmp_path / "samples_bed_2026.jsonl"
    path.write_text("".join(lines))
    code, told, said = _import(path, "lm-eval", testbed, "-m", "hf/x")
    assert (code, told["planned"], told["matched"], told["missing"]) == (3, 5, 2, 3)
    reasons = (
        "an earlier line already contains an answer",
        "(hash 0123) differs from the case's prompt",
        "no case named other/1/noise@k=5 exists with these settings",
        "cannot be read",
        "several",
    )
    assert [problem.split(": ")[0] for problem in told["problems"]] == [f"{path}:{line}" for line in (2, 3, 4, 5, 6)]
    for reason, problem in zip(reasons, told["problems"], strict=True):
        assert reason in problem
    assert "3 cases are missing from the files and count as errors" in said


def test_failed_samples_of_inspect_are_errors_and_later_epochs_are_named(testbed: Path, tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-en_base", "--testbeds", "rejection", "--limit", "3", "--cache", "off")
    type_command("run", "-m", "scripted/refuser", *words, "--out", str(tmp_path / "recorded"))
    type_command("export", str(tmp_path / "recorded"), "--to", "archive", "-o", str(tmp_path / "c"))
    (log,) = evaluate(
        frozen_task(testbed, "en_rejection"),
        model=f"replay/{tmp_path / 'c'}",
        log_dir=str(tmp_path / "logs"),
        log_format="json",
        epochs=2,
        fail_on_error=False,
        display="none",
        score_display=False,
        log_realtime=False,
    )
    path = Path(log.location.removeprefix("file://"))
    code, told, said = _import(path, "inspect", testbed)
    assert (code, told["matched"], told["failed"], told["missing"]) == (3, 5, 2, 0)
    assert len(told["problems"]) == 5
    assert "has several epochs; only the first epoch is imported" in told["problems"][0]
    assert "3 of 5 cases have an answer" in said
    assert "2 cases failed and count as errors" in said
    status = json.loads(type_command("status", str(path.with_name("run")), "--json").out)
    assert status["models"][0]["model"] == f"replay/{tmp_path / 'c'}"
    assert status["models"][0]["errors"] == {"harness-error": 2}


def test_other_files_are_refused(testbed: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.eval"
    path.write_text("nothing")
    words = ("--from", "inspect", "-d", str(testbed), "--out", str(tmp_path / "run"))
    done = type_command("import", str(path), *words)
    assert done.code == 1
    assert f"{path} is not a valid Inspect log" in done.err
    done = type_command("import", str(path), "-m", "mine", *words)
    assert (done.code, f"{path} is not a valid Inspect log" in done.err) == (1, True)
    assert "is a directory, not a regular file" in type_command("import", str(tmp_path), *words).err
    assert "no such file" in type_command("import", str(tmp_path / "none.eval"), *words).err
    assert not (tmp_path / "run" / "run.sqlite").exists()


def test_a_log_that_is_damaged_after_its_header_is_refused(testbed: Path, tmp_path: Path) -> None:
    path = _answer(testbed, tmp_path, "x", log_format="eval")
    damaged = tmp_path / "damaged.eval"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"{" if name.startswith("samples/") else old.read(name))
    done = type_command("import", str(damaged), "--from", "inspect", "-d", str(testbed), "--out", str(tmp_path / "run"))
    assert (done.code, f"{damaged} is not a valid Inspect log" in done.err) == (1, True), done.err


def _answer(testbed: Path, tmp_path: Path, reply: str, stop: str = "stop", log_format: str = "json") -> Path:
    """Give one response to all cases in Inspect, and return the path of the log."""
    output = ModelOutput.from_content("mock", reply, stop_reason=stop)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # otherwise it downloads a tokeniser
    (log,) = evaluate(
        frozen_task(testbed, "en_rejection"),
        model=get_model("mockllm/model", custom_outputs=[output] * len(_cases(testbed))),
        log_dir=str(tmp_path / "logs"),
        log_format=log_format,
        display="none",
        score_display=False,
        log_realtime=False,
    )
    return Path(log.location.removeprefix("file://"))


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("<think>The answer may be {gold}.</think>I don't know.", "stop"),
        ("<think>The answer may be {gold}.", "stop"),
        ("The answer is {gold}.", "max_tokens"),
    ],
    ids=["thought", "unfinished thought", "truncated"],
)
def test_harnesses_score_thoughts_and_truncated_responses_like_a_run(
    text: str, stop: str, testbed: Path, tmp_path: Path
) -> None:
    cases = _cases(testbed)
    reply = text.format(gold=cases[0].answer[0][0])
    log = _answer(testbed, tmp_path, reply, stop)
    found = inspect_scores(log)
    words = ("--from", "inspect", "-d", str(testbed), "--out", str(tmp_path / "run"))
    assert type_command("import", str(log), *words).code in (0, 3)  # 3 if responses are truncated
    for name, scores in scores_of(tmp_path / "run").items():
        assert {metric: found[name][metric] for metric in METRICS if metric in found[name]} == {
            metric: scores[metric] for metric in METRICS if scores.get(metric) is not None
        }
    if stop == "stop":  # lm-evaluation-harness does not report why a response ended
        wanted = scores_of(tmp_path / "run")[cases[0].case]
        numbers = process_results({"record": pack(cases[0])}, [reply])
        assert numbers == {metric: float(wanted[metric]) for metric in numbers}
