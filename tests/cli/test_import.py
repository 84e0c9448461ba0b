"""`ragbed import`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import ragbed
from ragbed.analysis.overview import tabulate_run
from ragbed.data import Dataset
from ragbed.data.rgb import to_line
from ragbed.interop.exports.frozen import read_frozen, read_part
from ragbed.runs import execution
from ragbed.runs.status import read_status
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from ragbed.scoring.code import label
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.cli.typed import Done, type_command
from tests.items import base_item
from tests.runs.harness import TalkingModel, ask_nobody, replies

_NAME = "prediction_en_refine_gpt_4_temp0.2_noise0.6_passage5_correct0.0.json"
_ITEMS = 6


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "en_refine.json"
    path.write_bytes(b"".join(to_line(base_item(number)) for number in range(_ITEMS)))
    return path


def _predict(data: Path, name: str = _NAME, profile: str = "code-2024") -> tuple[Path, list[dict[str, object]]]:
    """A result file as the original code writes it: everything answered rightly."""
    cases: list[Case] = []
    for case in TESTBEDS["noise"].cases(Dataset(data.stem, data), Settings(profile=profile)):
        cases += [case] if case.noise == 0.6 else []
    lines: list[dict[str, object]] = [
        {
            "id": int(case.item),
            "query": case.question,
            "ans": [list(case.answer[0])],
            "label": [1],
            "prediction": f"It is {case.answer[0][0]}.",
            "docs": [document.text for document in case.documents],
            "noise_rate": 0.6,
            "factlabel": 0,
        }
        for case in cases
    ]
    return data.with_name(name), lines


def _import(path: Path, lines: list[dict[str, object]], data: Path, *words: str) -> tuple[Done, Path]:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    out = path.with_name("run")
    return type_command("import", str(path), "-d", str(data), "--out", str(out), "--json", *words), out


def test_a_result_file_becomes_a_run_under_the_original_profile(data: Path) -> None:
    done, out = _import(*_predict(data), data, "--from", "rgb")
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["planned"], told["matched"], told["missing"], told["problems"]) == (6, 6, 0, [])
    assert (told["labels"], told["other_labels"], told["other_documents"]) == (6, 0, 0)
    with open_store(out, create=False) as store:
        results = list(store.results())
    assert {(result.model, result.case.profile, result.case.noise) for result in results} == {
        ("rgb/gpt_4", "code-2024", 0.6)
    }


def test_reasoning_in_a_prediction_is_scored_as_the_original_code_does_and_that_of_a_model_is_not(data: Path) -> None:
    """The documentation promised exact scores without naming this exception."""
    path, lines = _predict(data)
    thought = "<think>There is insufficient information.</think>"
    lines = [line | {"prediction": f"{thought}{line['prediction']}", "label": [-1]} for line in lines]
    done, _ = _import(path, lines, data, "--from", "rgb")
    told = json.loads(done.out)
    assert (told["labels"], told["other_labels"]) == (6, 0)
    replies_only = [{"item": line["id"], "noise": 0.6, "reply": line["prediction"]} for line in lines]
    answers, out = data.with_name("answers.jsonl"), data.with_name("answers")
    answers.write_text("".join(json.dumps(line) + "\n" for line in replies_only), "utf-8")
    words = ("--from", "jsonl", "--model", "m", "--noise", "0.6", "--testbeds", "noise", "--profile", "code-2024")
    done = type_command("import", str(answers), "-d", str(data), "--out", str(out), *words)
    assert done.code == 0, done.err
    with open_store(out, create=False) as store:
        assert {label(result.case, result.completion.reply or "") for result in store.results()} == {(1,)}


def test_a_ratio_that_has_no_short_decimal_is_read_from_the_file_name(data: Path) -> None:
    third = "prediction_en_refine_gpt_4_temp0.2_noise0.3333333333333333_passage3_correct0.0.json"
    path, lines = _predict(data, third)
    done, out = _import(path, [line | {"docs": None} for line in lines], data, "--from", "rgb")
    assert (done.code, json.loads(done.out)["matched"]) == (0, 6), done.err
    with open_store(out, create=False) as store:
        (mix,) = {tuple(str(document.stance) for document in case.documents) for case in store.cases()}
        assert {case.noise for case in store.cases()} == {1 / 3}
    assert sorted(mix) == ["distracts", "supports", "supports"]
    assert type_command("export", str(out), "--to", "rgb", "-o", str(data.parent / "back")).code == 0
    assert (data.parent / "back" / third).is_file()


def test_what_the_file_leaves_out_stays_in_the_denominator(data: Path) -> None:
    path, lines = _predict(data)
    done, out = _import(path, lines[:4], data, "--from", "rgb")
    assert done.code == 3
    assert "2 cases are missing from the files and count as errors (missing-result)" in done.err
    assert list(replies(out).values()).count(None) == 2
    status = json.loads(type_command("status", str(out), "--json").out)
    assert status["models"][0]["errors"] == {"missing-result": 2}


def test_every_line_that_cannot_be_matched_is_named(data: Path) -> None:
    path, lines = _predict(data)
    wrong: list[dict[str, object]] = [{"id": 99}, {"query": "Another question?"}, {"ans": ["another"]}]
    wrong += [{"prediction": None}, {}, {}]
    lines = [line | change for line, change in zip(lines, wrong, strict=True)] + lines[5:]
    done, _ = _import(path, lines, data, "--from", "rgb")
    problems = json.loads(done.out)["problems"]
    assert [problem.split(": ")[0] for problem in problems] == [f"{path}:{line}" for line in (1, 2, 3, 4, 7)]
    assert "the dataset has no item with the ID 99" in problems[0]
    assert "has the question 'Another question?'" in problems[1]
    assert "has the answer (('another',),)" in problems[2]
    assert "cannot be read" in problems[3]
    assert "an earlier line already contains an answer to" in problems[4]


def test_labels_and_documents_that_differ_are_counted(data: Path) -> None:
    path, lines = _predict(data)
    lines[0] |= {"label": [0]}
    lines[1] |= {"docs": ["something else"]}
    done, _ = _import(path, lines, data, "--from", "rgb", "--profile", "code-2023")
    told = json.loads(done.out)
    assert (done.code, told["other_labels"], told["other_documents"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("name", "words", "problem"),
    [
        (_NAME.replace("en_refine", "zh_int"), ("--from", "rgb"), "a dataset that is not one of en_refine"),
        (_NAME, ("--from", "rgb", "--profile", "robust"), "or --profile code-2023"),
    ],
)
def test_what_cannot_be_is_a_usage_error(name: str, words: tuple[str, ...], problem: str, data: Path) -> None:
    done, out = _import(*_predict(data, name), data, *words)
    assert done.code == 2
    assert problem in done.err
    assert not (out / "run.sqlite").exists()


def test_plain_lines_are_matched_by_case_or_by_item_and_noise(data: Path) -> None:
    cases = [case for case in TESTBEDS["noise"].cases(Dataset("en_refine", data), Settings()) if case.noise == 0.4]
    lines: list[dict[str, object]] = [{"case": case.case, "reply": "a"} for case in cases[:3]]
    lines += [{"item": case.item, "noise": 0.4, "reply": "b"} for case in cases[3:]]
    words = ("--from", "jsonl", "-m", "mine/rag", "--testbeds", "noise", "--noise", "0.4")
    done, out = _import(
        data.with_name("answers.jsonl"), [*lines, {"reply": "c"}, {"case": "x", "reply": ""}], data, *words
    )
    told = json.loads(done.out)
    assert (done.code, told["matched"], told["missing"], len(told["problems"])) == (3, 6, 0, 2)
    assert list(replies(out).values()) == ["a"] * 3 + ["b"] * 3


_THOUGHTS = [
    ("<think>It may be Paris.</think>\n\nLyon", ("ok", "Lyon", "It may be Paris.")),
    ("<think>It may be Paris, or", ("truncated", "", "It may be Paris, or")),
    ("Lyon", ("ok", "Lyon", None)),
]


def test_thoughts_are_separated_from_answers(tmp_path: Path) -> None:
    words = ("--testbeds", "rejection", "--limit", "3")
    bed = tmp_path / "bed"
    assert type_command("export", "ragbed-mini-en_base", *words, "--to", "lm-eval", "-o", str(bed)).code == 0
    cases = [case for part in read_frozen(bed).parts for case in read_part(bed, part)]
    lines: list[dict[str, object]] = [
        {"case": case.case, "reply": text} for case, (text, _) in zip(cases, _THOUGHTS, strict=True)
    ]
    done, out = _import(tmp_path / "answers.jsonl", lines, bed, "--from", "jsonl", "-m", "mine/thinks")
    assert done.code == 3, done.err
    assert "2 of 3 cases have an answer" in done.err
    assert "1 responses end prematurely" in done.err
    with open_store(out, create=False) as store:
        found = [(r.completion.outcome, r.completion.reply, r.completion.reasoning) for r in store.results()]
    assert found == [expected for _, expected in _THOUGHTS]


def _say(case: Case) -> Completion:
    reply = case.answer[0][0]
    return {
        0.0: Completion(outcome="ok", reply=reply, finish="stop"),
        0.2: Completion(outcome="truncated", reply=reply, finish="length"),
        0.4: Completion(outcome="truncated", reply="", reasoning=reply),
        0.6: Completion(outcome="filtered", finish="content_filter"),
        0.8: Completion(outcome="error", error="server: 500"),
    }[case.noise or 0.0]


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    """The exported trials of a run with all outcomes."""
    spec = ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", testbeds="noise", limit=3)
    job = replace(ragbed.plan_run(spec), folder=tmp_path / "run", models=[TalkingModel(_say)], cache=None)
    execution.run(job, ask_nobody)
    ragbed.export(tmp_path / "run", "jsonl", tmp_path / "trials.jsonl")
    return tmp_path / "trials.jsonl"


_TRIALS = ("--from", "jsonl", "-d", "ragbed-mini-en_base", "--testbeds", "noise", "--limit", "3")


def test_exported_trials_keep_their_outcomes(trials: Path, tmp_path: Path) -> None:
    done = type_command("import", str(trials), *_TRIALS, "-m", "test/talking", "-o", str(tmp_path / "copy"), "--json")
    told = json.loads(done.out)
    assert [told[name] for name in ("matched", "failed", "truncated", "filtered", "missing")] == [15, 3, 6, 3, 0]
    assert told["problems"] == []
    assert tabulate_run(tmp_path / "run") == tabulate_run(tmp_path / "copy")


def test_an_answer_in_a_later_file_replaces_a_failure(trials: Path, tmp_path: Path) -> None:
    retried = [line for line in map(json.loads, trials.read_text("utf-8").splitlines()) if line["outcome"] == "error"]
    lines = [json.dumps({"case": line["case"], "reply": "later"}) for line in retried]
    (tmp_path / "retried.jsonl").write_text("\n".join([*lines, lines[0]]), "utf-8")
    words = (*_TRIALS, "-m", "test/talking", "-o", str(tmp_path / "copy"), "--json")
    told = json.loads(type_command("import", str(trials), str(tmp_path / "retried.jsonl"), *words).out)
    assert (told["matched"], told["failed"], len(told["problems"])) == (15, 0, 1)
    assert "an earlier line already contains an answer" in told["problems"][0]
    assert list(replies(tmp_path / "copy").values()).count("later") == 3


def test_an_imported_run_is_complete_if_its_models_have_different_cases(data: Path) -> None:
    path, lines = _predict(data)
    text = "".join(json.dumps(line | {"docs": None}) + "\n" for line in lines)
    files = [path, path.with_name(_NAME.replace("gpt_4", "other").replace("noise0.6", "noise0.2"))]
    for file in files:
        file.write_text(text, "utf-8")
    run = path.with_name("run")
    words = ("--from", "rgb", "-d", str(data), "-o", str(run))
    assert type_command("import", *map(str, files), *words).code == 0
    assert [(model.planned, model.pending) for model in read_status(run).models] == [(6, 0), (6, 0)]
    assert "Incomplete" not in type_command("status", str(run)).out
    assert "Incomplete" not in type_command("report", str(run)).out
