"""Remedies as a user types them: one command, one table, every promise of a run."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command
from tests.runs.harness import serve

WORDS = ("run", "-m", "openai-api/test/m", "-d", "ragbed-mini-en_base", "--noise", "0,1", "--limit", "3")


def test_one_command_asks_every_remedy_and_the_report_sets_them_beside_the_plain_prompt(tmp_path: Path) -> None:
    run, log = str(tmp_path / "run"), tmp_path / "calls.txt"
    with serve(log) as endpoint:
        env = {"TEST_BASE_URL": endpoint.url, "RAGBED_CACHE_DIR": str(tmp_path / "cache")}
        one_by_one = (*WORDS, "--strategies", "all", "--max-connections", "1", "--cache", "reuse", "--json")
        done = type_command(*one_by_one, "--out", run, env=env)
        assert done.code == 0, done.err
        calls = len(endpoint.calls())
        again = type_command(*one_by_one, "--out", str(tmp_path / "again"), env=env)
        assert len(endpoint.calls()) == calls
    cells = json.loads(done.out)["cells"]
    assert cells == json.loads(again.out)["cells"]
    profiles = {cell["profile"] for cell in cells}
    remedies = ("quote", "numbered", "unwarned", "cite", "warned", "decompose", "isolate")
    assert profiles == {"robust", *(f"robust+{name}" for name in remedies)}
    # Three questions, two testbeds; closed book is plain only. Decompose asks how to split a question once, and since
    # the endpoint writes one line nothing is split: the plain prompt it then sends was answered before.
    assert calls == 3 + 6 * (1 + 1 + 1 + 1 + 1 + 1 + 6) + 3
    told = json.loads(type_command("report", run, "-f", "json").out)
    costs = {
        cell["profile"]: cell["value"] for cell in told if cell["metric"] == "calls" and cell["scorer"] == "robust"
    }
    assert costs == {"robust": 1.0} | {f"robust+{name}": 1.0 for name in remedies[:5]} | {
        "robust+decompose": 2.0,
        "robust+isolate": 6.0,
    }
    assert "Prompting strategies compared with the plain prompt" in type_command("report", run).out


def test_every_call_of_a_case_can_be_read_in_its_line(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    with serve(tmp_path / "calls.txt") as endpoint:
        env = {"TEST_BASE_URL": endpoint.url}
        done = type_command(*WORDS, "--strategies", "isolate", "--cache", "off", "--out", run, env=env)
    assert done.code == 0, done.err
    lines = []
    for options in ((), ("--canonical",)):
        type_command("export", run, "--to", "jsonl", "-o", str(tmp_path / "run.jsonl"), *options)
        lines.append([json.loads(line) for line in (tmp_path / "run.jsonl").read_text("utf-8").splitlines()])
    isolated = [line for line in lines[0] if line["profile"] == "robust+isolate"]
    assert {len(line["steps"]) for line in isolated} == {6}
    assert {line["usage"]["in"] for line in isolated} == {6 * 700}
    assert all(line["reply"] == line["steps"][-1]["reply"] for line in isolated)
    assert not any("latency_s" in step for line in lines[1] for step in line.get("steps", ()))


def test_a_system_gets_no_strategy(tmp_path: Path) -> None:
    words = ("run", "-m", "http/127.0.0.1:9/ask", "-d", "ragbed-mini-en_base", "--strategies", "quote")
    done = type_command(*words, "--out", str(tmp_path / "run"))
    assert (done.code, (tmp_path / "run").exists()) == (2, False)
    assert "works only with language models. Remove --strategies, or choose a language model." in done.err


def test_a_run_is_resumed_with_the_same_remedies_only(tmp_path: Path) -> None:
    data = ("-d", "ragbed-mini-en_base", "--limit", "2")
    words = ("run", "-m", "scripted/oracle", *data, "--out", str(tmp_path / "run"))
    for _ in range(2):
        assert type_command(*words, "--strategies", "quote").code == 0
    done = type_command(*words)
    assert done.code == 2
    assert "was created with --strategies quote, but this command uses no --strategies" in done.err


def test_compare_and_diagnose_keep_remedies_and_the_plain_prompt_apart(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    words = ("run", "-m", "scripted/first-doc", "-d", "ragbed-mini-en_base", "--limit", "4", "--noise", "0.4,1")
    assert type_command(*words, "--strategies", "quote,isolate", "--out", run).code == 0
    rows = json.loads(type_command("compare", run, run, "--json").out)["rows"]
    noise = [(row["remedy"], row["n"]) for row in rows if row["testbed"] == "noise"]
    assert noise == [("", 4), ("quote", 4), ("isolate", 4)]
    assert "noise (quote)" in type_command("compare", run, run).out
    diagnosed = type_command("diagnose", run)
    assert "8 trials with documents" in diagnosed.err
    assert "Not diagnosed: 20 trials without documents, gold answers or verdicts, or with strategies." in diagnosed.err
