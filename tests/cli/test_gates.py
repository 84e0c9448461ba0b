"""Gates as CI has them: exit code 4, a sentence each, a file for the dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.typed import Done, type_command
from tests.servers.function_model import ModelRequest, function_model

_RUN = ("run", "-d", "ragbed-mini-en_base", "--testbeds", "noise", "--noise", "0,0.8", "--limit", "40")
_EVERYTHING = (
    *("run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "-d", "ragbed-mini-en_int"),
    *("-d", "ragbed-mini-en_fact", "--noise", "0,0.4,1", "--num-docs", "3", "--limit", "5"),
)


def test_a_run_below_its_floor_ends_with_4_and_says_where(tmp_path: Path) -> None:
    words = (*_RUN, "-m", "scripted/refuser", "--out", str(tmp_path / "run"), "--junit", str(tmp_path / "gates.xml"))
    done = type_command(*words, "--fail-under", "noise.accuracy@0.8=0.5", "--fail-under", "noise.accuracy@0=0")
    assert done.code == 4
    assert (
        "gate failed: noise.accuracy of scripted/refuser on ragbed-mini-en_base, en, noise 0.8, k 5: 0.0%" in done.err
    )
    assert "gate passed: noise.accuracy of scripted/refuser on ragbed-mini-en_base, en, noise 0, k 5" in done.err
    assert done.err.rstrip().endswith("ragbed: 1 of 2 gates failed.")
    assert b'failures="1"' in (tmp_path / "gates.xml").read_bytes()


@pytest.mark.parametrize(
    ("floor", "add"),
    [
        ("noise.accuracy@0.4", "Change --noise, --data, --lang or --limit."),
        ("integration.accuracy@0.8", "Change --noise, --data, --lang or --limit."),
        ("own-rag.accuracy", "It has no cases for this testbed."),
        ("noise.auc", "The metrics of its cases are "),
        ("noise.noise_effect", "The metrics of its cases are accuracy, gain_by_documents,"),
        ("rejection.accuracy", "The metrics of its cases are refusal_recall, correct_without_evidence,"),
    ],
)
def test_a_gate_that_no_case_tells_of_says_what_to_add_before_anything_is_asked(
    tmp_path: Path, floor: str, add: str
) -> None:
    done = type_command(*_EVERYTHING, "--out", str(tmp_path / "run"), "--fail-under", f"{floor}=0.5")
    assert done.code == 2
    assert f"--fail-under {floor}=0.5: no case in this run contributes to this metric. {add}" in done.err
    assert done.err.rstrip().endswith("No model was called.")
    assert not (tmp_path / "run").exists()


def test_a_gate_on_a_shard_without_a_question_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    one = ("run", "-d", "ragbed-mini-en_base", "-m", "scripted/oracle", "--testbeds", "noise", "--limit", "1")
    codes = {
        type_command(*one, "--shard", shard, "--out", str(tmp_path / shard[0]), "--fail-under", "noise.auc=0").code
        for shard in ("1/2", "2/2")
    }
    assert codes == {0, 2}


def test_a_run_that_was_planned_is_not_laid_out_again_for_a_gate_that_comes_later(tmp_path: Path) -> None:
    words = (*_EVERYTHING, "--out", str(tmp_path / "run"), "--fail-under")
    assert type_command(*words, "noise.accuracy=0").code == 0
    later = type_command(*words, "noise.accuracy@0.8=0")
    assert later.code == 2
    assert "noise.accuracy@0.8=0: the run has no value with this name" in later.err


def test_a_dry_run_says_which_gate_cannot_be_served(tmp_path: Path) -> None:
    words = (*_EVERYTHING, "--out", str(tmp_path / "run"), "--dry-run")
    assert type_command(*words, "--fail-under", "noise.auc=0.5").code == 2
    assert type_command(*words, "--fail-under", "noise.accuracy=0.5").code == 0


def test_a_comparison_ends_with_4_where_the_second_has_lost(tmp_path: Path) -> None:
    for script in ("oracle", "refuser"):
        type_command(*_RUN, "-m", f"scripted/{script}", "--out", str(tmp_path / script))
    good, bad = str(tmp_path / "oracle"), str(tmp_path / "refuser")
    worse = type_command("compare", good, bad, "--fail-if-worse", "0.03", "--junit", str(tmp_path / "gates.xml"))
    assert worse.code == 4
    assert "gate failed: noise on ragbed-mini-en_base, en, noise 0.8, k 5: -100.0 [" in worse.err
    assert "points on 36 questions: a drop of more than 3, p" in worse.err  # 40 items, four of which repeat a question
    assert type_command("compare", bad, good, "--fail-if-worse", "3%").code == 0
    assert (tmp_path / "gates.xml").read_bytes().count(b"<testcase") == 2


def test_a_gate_file_of_the_environment_may_be_meant_for_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGBED_JUNIT", str(tmp_path / "gates.xml"))
    done = type_command(*_RUN, "-m", "scripted/oracle", "--limit", "2", "--out", str(tmp_path / "run"))
    assert (done.code, (tmp_path / "gates.xml").exists()) == (0, False)


_TOO_LONG = 400, {"error": {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}}


def _run_on_server(out: Path, ends: tuple[str, ...], gate: str) -> Done:
    """Run a model whose responses, all of them wrong, end in these ways in turn."""
    asked: list[ModelRequest] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        asked.append(request)
        end = ends[len(asked) % len(ends)]
        choice = {"message": {"role": "assistant", "content": "I like tea."}, "finish_reason": end}
        return _TOO_LONG if end == "error" else (200, {"choices": [choice]})

    words = ("--cache", "off", "--max-tokens", "5", "--out", str(out / "run"), "--junit", str(out / "gates.xml"))
    with function_model(respond) as url:
        gated = (*words, "--fail-under", gate)
        return type_command(*_RUN, "-m", "openai-api/test/m", *gated, env={"TEST_BASE_URL": url, "TEST_API_KEY": "x"})


@pytest.mark.parametrize(
    ("ends", "minimum", "code"),
    [
        (("stop", "length"), "0.5", 4),
        (("stop", "length"), "0", 3),
        (("stop", "content_filter"), "0.5", 4),
        (("stop", "content_filter"), "0", 0),
        (("stop", "length", "error"), "0.5", 3),
        (("stop", "length", "error"), "0", 3),
    ],
)
def test_gates_are_checked_although_cases_failed_or_were_truncated(
    tmp_path: Path, ends: tuple[str, ...], minimum: str, code: int
) -> None:
    done = _run_on_server(tmp_path, ends, f"noise.accuracy@0.8={minimum}")
    state = "passed" if minimum == "0" else "failed"
    assert f"gate {state}: noise.accuracy of openai-api/test/m on ragbed-mini-en_base, en, noise 0.8" in done.err
    assert (tmp_path / "gates.xml").is_file()
    assert (done.code, "1 of 1 gate failed." in done.err) == (code, state == "failed"), done.err
    assert ("The errors may be the cause, so the exit code is 3." in done.err) == ("error" in ends and minimum == "0.5")
    assert ("truncated at the limit of 5 tokens" in done.err) == ("length" in ends)


def test_a_gate_refuses_a_run_whose_server_changed_its_model(tmp_path: Path) -> None:
    received: list[ModelRequest] = []

    def respond(request: ModelRequest) -> tuple[int, object]:
        received.append(request)
        choice = {"message": {"content": "The documents do not contain the answer."}, "finish_reason": "stop"}
        return 200, {"model": "m-1" if len(received) <= 3 else "m-2", "choices": [choice]}

    words = ("run", "-m", "openai-api/t/m", "-d", "ragbed-mini-en_base", "--testbeds", "rejection")
    options = ("--limit", "6", "--max-connections", "1", "--cache", "off", "--out", str(tmp_path / "run"))
    with function_model(respond) as url:
        done = type_command(*words, *options, "--fail-under", "rejection.refusal_recall=0.1", env={"T_BASE_URL": url})
    assert "m (m-1, m-2) on ragbed-mini-en_base" in done.out
    assert done.code == 2, done.err
    assert "The server for openai-api/t/m served several models: m-1, m-2." in done.err


def test_a_run_that_stops_early_says_that_gates_were_not_checked(tmp_path: Path) -> None:
    with function_model(lambda _: (401, {"error": {"message": "wrong key"}})) as url:
        words = (*_RUN, "-m", "openai-api/test/m", "--cache", "off", "--out", str(tmp_path / "run"))
        gated = (*words, "--fail-under", "noise.accuracy@0.8=0.5")
        done = type_command(*gated, env={"TEST_BASE_URL": url, "TEST_API_KEY": "x"})
    assert done.code == 1, done.err
    assert "The gates were not checked, because some cases have no result." in done.err
