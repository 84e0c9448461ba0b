"""Scorers and prompting strategies in files of the user, without a package."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import ragbed
from tests.cli.typed import Done, type_command

DATA = ("-d", "ragbed-mini-en_base", "--testbeds", "noise,rejection", "--noise", "0,1", "--limit", "8")
METRICS = """
def words(case, reply):
    return len(reply.split())

def brief(case, reply):
    return len(reply.split()) <= 15

def several(case, reply):
    return {"correct": brief(case, reply), "debt": -len(reply), "polite": None}

def text(case, reply):
    return "yes"

def late(case, reply):
    return len(reply) / 0

def accuracy(case, reply):
    return 1
"""
STRATEGIES = """
def two_steps(given):
    facts = yield f"List the facts about {given.question}"
    assert facts
    return (yield given.plain)

def fails(given):
    yield "Think."
    raise KeyError("lost")

def silent(given):
    yield "Think."

def no_generator(given):
    return "Think."
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name, code in {"my_metrics": METRICS, "my_strategies": STRATEGIES}.items():
        monkeypatch.delitem(sys.modules, name, raising=False)
        Path(f"{name}.py").write_text(code, encoding="utf-8")


def _run(*words: str, model: str = "scripted/first-doc") -> Done:
    return type_command("run", "-m", model, *DATA, "--cache", "off", "-o", "run", *words)


def test_numbers_and_verdicts_of_a_function_are_shown_gated_reported_and_exported() -> None:
    scorers = "python/my_metrics:words,python/my_metrics:brief"
    gates = ("noise.words=20", "noise.brief=0.9", "rejection.words=9000")
    done = _run("--scorer", scorers, *(f"--fail-under={gate}" for gate in gates))
    assert done.code == 4
    assert "words" in done.out.splitlines()[1]
    assert "brief %" in done.out.splitlines()[1]
    assert "gate passed: noise.words of scripted/first-doc" in done.err
    assert "gate failed: noise.brief of scripted/first-doc" in done.err
    assert "gate failed: rejection.words" in done.err
    trials = [json.loads(one) for one in type_command("export", "run", "--to", "jsonl", "--scorer",
              "python/my_metrics:words", "-o", "-").out.splitlines()]  # fmt: skip
    noise = [trial for trial in trials if trial["testbed"] == "noise"]
    counts = [trial["scores"]["python/my_metrics:words.words"] for trial in noise]
    assert counts == [len(trial["reply"].split()) for trial in noise]
    cells = json.loads(type_command("report", "run", "-f", "json", "--scorer", "python/my_metrics:words").out)
    (cell,) = [one for one in cells if (one["table"], one["metric"]) == ("noise", "words")]
    assert cell["value"] == pytest.approx(sum(counts) / 8)
    assert 20 < cell["low"] < cell["value"] < cell["high"]
    assert ",words,0" not in type_command("report", "run", "-f", "csv", "--scorer", "python/my_metrics:words").out
    table = ragbed.open_run("run").table("scores", "python/my_metrics:words")
    assert [round(row["words"], 6) for row in table][:1] == [round(cell["value"], 6)]
    assert "python/my_metrics:words.words" in ragbed.open_run("run").records("python/my_metrics:words")[0].__str__()
    shown = type_command("report", "run", "--scorer", "python/my_metrics:brief").out
    assert "Noise robustness" in shown
    assert "Scores of your own scorer" in shown
    assert type_command("compare", "run", "run", "--scorer", "python/my_metrics:brief").code == 0
    refused = type_command("compare", "run", "run", "--scorer", "python/my_metrics:words")
    assert (refused.code, "does not say which responses are correct" in refused.err) == (2, True)
    assert type_command("report", "run", "-f", "html", "--scorer", "python/my_metrics:words").code == 0


def test_a_dictionary_has_a_metric_for_each_key_and_negative_numbers_an_interval() -> None:
    done = _run("--scorer", "python/my_metrics:several", "--json")
    own = json.loads(done.out.splitlines()[-1])["cells"][0]["own"]
    assert set(own) == {"several", "debt"}
    assert own["debt"]["low"] < own["debt"]["value"] < own["debt"]["high"] < 0
    assert own["several"]["n"] == 8


def test_a_failed_call_has_no_number_and_is_not_correct() -> None:
    code = "import time\ndef ask(question, documents):\n    if len(question) % 2:\n        return question\n"
    Path("broken.py").write_text(f"{code}    time.sleep(0.5)  # after the others\n    raise", encoding="utf-8")
    done = _run("--scorer", "python/my_metrics:words,python/my_metrics:brief", "--json", model="python/broken:ask")
    own = json.loads(done.out.splitlines()[-1])["cells"][0]["own"]
    assert 0 < own["words"]["n"] < own["brief"]["n"] == 8
    assert own["brief"]["value"] <= own["words"]["n"] / 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scorer", "python/my_metrics:text"), "a score must be True, False, a number or None, or a dictionary"),
        (("--scorer", "python/my_metrics:late"), "failed on case ragbed-mini-en_base/en-base-0/noise@"),
        (("--scorer", "python/my_metrics:accuracy"), "named accuracy, which is a metric of ragbed. Choose another"),
        (("--scorer", "python/my_metrics:none"), "my_metrics has no function 'none'. Use python/<module>:<function>."),
        (("--scorer", "python/no_metrics:x"), "no_metrics cannot be imported from this folder"),
        (("--scorer", "papr"), "unknown scorer 'papr'. Did you mean 'paper'?"),
        (("--scorer", "python/my_metrics:words", "--fail-under", "noise.wrods=1"), "The metrics of its cases are acc"),
        (("--fail-under", "noise.words=1"), "unknown metric 'words'"),
        (("--strategies", "python/my_strategies:no_generator"), "makes no calls. A strategy yields each prompt"),
        (("--strategies", "qoute"), "unknown prompting strategy 'qoute'. Did you mean 'quote'?"),
        (("--strategies", "empty"), "the folder contains no instructions"),
        (("--strategies", "odd"), "unknown instruction file 'en/sytem.md'"),
        (("--strategies", "quote,other/quote"), "two strategies are named 'quote'"),
    ],
)
def test_what_cannot_work_is_refused_before_any_call(words: tuple[str, ...], said: str) -> None:
    for name in ("empty/en", "odd/en", "other/quote/en"):
        Path(name).mkdir(parents=True)
    Path("odd/en/sytem.md").write_text("Think.", encoding="utf-8")
    Path("other/quote/en/system.md").write_text("Think.", encoding="utf-8")
    done = _run(*words)
    assert done.code in (1, 2)
    assert said in done.err
    assert not Path("run/run.sqlite").exists()


def test_folders_and_functions_are_strategies_whose_errors_are_those_of_a_case() -> None:
    folder = Path("terse/en")
    folder.mkdir(parents=True)
    (folder / "system.md").write_text("Answer in one word. {SYSTEM}\n")
    (folder / "user.md").write_text("{QUERY}\n---\n{DOCS}\n")
    names = ("two_steps", "fails", "silent")
    words = ("--strategies", ",".join(["terse", *(f"python/my_strategies:{name}" for name in names)]))
    done = _run(*words)
    assert done.code == 3
    assert "exception: KeyError: 'lost'" in done.err
    lines = [json.loads(one) for one in type_command("export", "run", "--to", "jsonl", "-o", "-").out.splitlines()]
    found = {line["profile"].partition("+")[2]: line for line in lines if line["testbed"] == "noise"}
    assert [message["content"][:19] for message in found["terse"]["messages"]] == [
        "Answer in one word.",
        found["terse"]["question"][:19],
    ]
    assert [len(found[f"python/my_strategies:{name}"].get("steps", ())) for name in names] == [2, 1, 1]
    assert found["python/my_strategies:two_steps"]["reply"] == found[""]["reply"]
    assert "must return the answer as a string, not None" in found["python/my_strategies:silent"]["error"]
    assert "robust+terse" in type_command("report", "run").out
    (folder / "system.md").write_text("Answer in two words.\n")
    again = _run(*words)
    assert (again.code, "was created with --strategies terse " in again.err) == (2, True)
