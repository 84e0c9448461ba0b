"""Files of partial sums by command line: their report equals that of the runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ragbed.analysis.locale import read_words
from ragbed.analysis.partial_sum_files import read_sums, sum_run
from ragbed.reporting.tables import make_report
from ragbed.runs import execution
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Served
from tests.cli.typed import Done, type_command
from tests.io.test_locations import in_memory
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job

_DATA = ("-d", "ragbed-mini-en_base", "-d", "ragbed-mini-en_fact", "--noise", "0,0.8,1")
_NAMES = ("value", "low", "high", "n", "questions", "asked", "errors", "infeasible")


def _run(folder: Path, *words: str) -> Path:
    asked = ("-m", "scripted/gullible", "-m", "baseline/lexical", *_DATA, "--limit", "9", "--no-cache")
    assert type_command("run", *asked, *words, "--out", str(folder)).code == 0
    return folder


def _sum(run: Path, place: object) -> Done:
    done = type_command("score", str(run), "--aggregates", str(place))
    assert done.code == 0, done.err
    return done


def _cells(*sources: object) -> dict[str, list[float | None]]:
    done = type_command("report", *map(str, sources), "-f", "json")
    assert done.code == 0, done.err
    return {
        json.dumps({name: cell[name] for name in cell if name not in _NAMES}): [cell[name] for name in _NAMES]
        for cell in json.loads(done.out)
    }


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("parts")
    return [_run(folder / str(index), "--shard", f"{index}/3") for index in (1, 2, 3)]


def test_the_json_names_the_file_by_its_option(tmp_path: Path, parts: list[Path]) -> None:
    place = str(tmp_path / "1.jsonl")
    done = type_command("score", str(parts[0]), "--aggregates", place, "--json")
    written = json.loads(done.out)
    assert (list(written), written["aggregates"]) == (["trials", "questions", "aggregates"], place)


def test_sums_of_shards_give_the_report_of_the_complete_run(tmp_path: Path, parts: list[Path]) -> None:
    files = [in_memory() / "aggregates.jsonl", tmp_path / "2.jsonl", f"file://{tmp_path}/3.jsonl"]
    for part, file in zip(parts, files, strict=True):
        _sum(part, str(getattr(file, "text", file)))
    done = type_command("merge", *(str(getattr(file, "text", file)) for file in files), "-o", str(tmp_path / "all"))
    assert (done.code, "distinct questions from 3 files written to" in done.err) == (0, True)
    whole = _run(tmp_path / "whole")
    wanted, found = _cells(whole), _cells(tmp_path / "all")
    missing = [json.loads(name) for name in wanted.keys() - found.keys()]
    assert {cell["scope"] for cell in missing} <= {"common"}
    for name, numbers in found.items():
        for one, other in zip(numbers, wanted[name], strict=True):
            assert (one is None) == (other is None), name
            assert one is None or other is None or math.isclose(one, other, abs_tol=1e-9), name
    _sum(whole, tmp_path / "whole.jsonl")
    ours, theirs = ((tmp_path / name).read_bytes().partition(b"\n")[2] for name in ("all", "whole.jsonl"))
    assert ours == theirs


def test_missing_and_repeated_shards_are_refused(tmp_path: Path, parts: list[Path]) -> None:
    files = [tmp_path / f"{index}.jsonl" for index in (1, 2)]
    for part, file in zip(parts, files, strict=False):
        _sum(part, file)
    done = type_command("report", *map(str, files))
    assert (done.code, done.err.splitlines()[-1]) == (2, "ragbed: shard 3/3 is missing. Pass all 3 shards.")
    assert type_command("merge", *map(str, files), "-o", str(tmp_path / "both")).code == 0
    done = type_command("report", str(files[0]), str(tmp_path / "both"))
    assert (
        done.code,
        "these aggregate files contain results for baseline/lexical (shard 1/3) with the same settings" in done.err,
    ) == (
        2,
        True,
    )
    done = type_command("report", str(files[0]), str(parts[0]))
    assert (done.code, "is an aggregate file, but" in done.err) == (2, True)
    done = type_command("report", str(files[0]), "-f", "html")
    assert (
        done.code,
        "HTML reports show individual cases, which aggregate files do not contain" in done.err,
    ) == (
        2,
        True,
    )
    done = type_command("score", str(parts[0]), "--aggregates", str(tmp_path / "x"), "--disagreements", "code")
    assert done.code == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((), ("--shard", "1/2")),
        (("--shard", "1/2"), ("--shard", "1/3")),
        ((), ("--max-tokens", "99")),
        ((), ("--seed", "2")),
        (("--testbeds", "noise"), ("--testbeds", "closed-book")),
    ],
    ids=["whole and shard", "other division", "other sampling", "other seed", "other testbed"],
)
def test_runs_of_a_model_that_share_questions_do_not_add_up(
    tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    files = [_small(tmp_path / "one", *first), _small(tmp_path / "other", *second)]
    for words in (("report",), ("merge", "-o", str(tmp_path / "both"))):
        done = type_command(*words, *map(str, files))
        message = "several of these aggregate files cover scripted/oracle on ragbed-mini-en_base"
        assert (done.code, message in done.err) == (2, True), done.err


def test_runs_of_other_models_or_other_data_add_up(tmp_path: Path) -> None:
    other_model = _small(tmp_path / "model", model="scripted/gullible")
    other_data = _small(tmp_path / "data", data="ragbed-mini-zh_base")
    done = type_command("report", *map(str, (_small(tmp_path / "one"), other_model, other_data)))
    assert done.code == 0, done.err


def test_sums_of_several_profiles_give_the_report_of_their_runs(tmp_path: Path) -> None:
    shards = [("--shard", f"{index}/2") for index in (1, 2)]
    files = [
        _small(tmp_path / f"{profile}-{shard[1][0]}", "--profile", profile, *shard)
        for shard in shards
        for profile in ("robust", "paper")
    ]
    assert type_command("merge", *map(str, files), "-o", str(tmp_path / "all")).code == 0
    runs = [tmp_path / profile for profile in ("robust", "paper")]
    for run in runs:
        _small(run, "--profile", run.name)
    wanted, found = _cells(*runs), _cells(tmp_path / "all")
    assert {json.loads(name)["profile"] for name in found} == {"robust", "paper"}
    assert found == {name: wanted[name] for name in found}
    done = type_command("report", str(tmp_path / "all"), str(_small(tmp_path / "seed", "--seed", "2")))
    assert (done.code, "several of these aggregate files cover" in done.err) == (2, True), done.err


def _small(folder: Path, *words: str, model: str = "scripted/oracle", data: str = "ragbed-mini-en_base") -> Path:
    """Return the sums of a run with six questions."""
    asked = ("-m", model, "-d", data, "--limit", "6", "--no-cache", "--out", str(folder))
    assert type_command("run", *asked, *words).code == 0
    _sum(folder, folder.with_suffix(".jsonl"))
    return folder.with_suffix(".jsonl")


def test_secrets_in_a_url_are_not_printed(tmp_path: Path) -> None:
    _small(tmp_path / "run")
    place = in_memory().text + "/aggregates.jsonl?token=s3cret"
    done = _sum(tmp_path / "run", place)
    assert ("/aggregates.jsonl?…" in done.err, "s3cret" in done.err) == (True, False)
    for form in ("md", "latex", "json", "csv"):
        done = type_command("report", place, "-f", form)
        assert (done.code, "s3cret" in done.out + done.err) == (0, False), done.err
    done = type_command("report", place, place + "&missing")
    assert (done.code, "s3cret" in done.out + done.err) == (2, False)


def test_an_invalid_file_is_reported_with_its_line(tmp_path: Path) -> None:
    run = '{"settings":"s","model":"m","shard":null,"data":[],"profiles":["robust"],"trials":1}'
    head = f'{{"is":"sums","ragbed":"1","runs":[{run}]}}\n'
    sheet = '{"is":"sheet","of":["m","d","en","robust"],"kinds":[]}\n'
    for content, message in (
        ("{}\n", ":1: the line is not valid in an aggregate file ("),
        ("", "contains no aggregates"),
        (
            sheet + head,
            ":1: the line is not valid in an aggregate file (the header must appear on the first line and "
            "nowhere else)",
        ),
        (
            head + head,
            ":2: the line is not valid in an aggregate file (the header must appear on the first line and "
            "nowhere else)",
        ),
        (head + sheet + sheet, ":3: the line is not valid in an aggregate file (m on d appears twice)"),
        (
            head + '{"is":"questions","n":1,"trials":[[0]]}\n',
            ":2: the line is not valid in an aggregate file (a trial refers to a pattern that is not defined "
            "on an earlier line",
        ),
        (head + '{"is":"questions","n":0,"trials":[[0]]}\n', ":2: the line is not valid in an aggregate file ("),
        (
            head + sheet + '{"is":"end","lines":7}\n',
            ":3: the line is not valid in an aggregate file (expected 7 lines before this one, but found 2",
        ),
    ):
        (tmp_path / "x.jsonl").write_text(content, "utf-8")
        done = type_command("report", str(tmp_path / "x.jsonl"))
        assert (done.code, message in done.err) == (1, True), done.err


def test_truncated_and_concatenated_files_are_refused(tmp_path: Path, parts: list[Path]) -> None:
    _sum(parts[0], tmp_path / "1.jsonl")
    lines = (tmp_path / "1.jsonl").read_bytes().splitlines(keepends=True)
    for kept in (1, 2, len(lines) // 2, len(lines) - 1):
        (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:kept]))
        done = type_command("report", str(tmp_path / "cut.jsonl"))
        assert (done.code, "cut.jsonl is truncated (its last line is missing)" in done.err) == (1, True)
    _sum(parts[1], tmp_path / "2.jsonl")
    (tmp_path / "cat.jsonl").write_bytes(b"".join(lines) + (tmp_path / "2.jsonl").read_bytes())
    done = type_command("report", str(tmp_path / "cat.jsonl"))
    reason = "the file continues after its end marker; if several files were concatenated, pass them separately"
    message = f"cat.jsonl:{len(lines) + 1}: the line is not valid in an aggregate file ({reason})"
    assert (done.code, message in done.err) == (1, True), done.err


def test_sums_of_several_versions_do_not_add_up(tmp_path: Path, parts: list[Path]) -> None:
    files = [tmp_path / f"{index}.jsonl" for index in (1, 2, 3)]
    for part, file in zip(parts, files, strict=True):
        _sum(part, file)
    for file in files[:2]:
        head, rest = file.read_text("utf-8").split("\n", 1)
        file.write_text(json.dumps(json.loads(head) | {"ragbed": "0.0.1"}) + "\n" + rest, "utf-8")
    done = type_command("report", *map(str, files))
    assert (done.code, "these aggregate files were written by ragbed 0.0.1 (scorer " in done.err) == (2, True)
    assert type_command("merge", *map(str, files[:2]), "-o", str(tmp_path / "old")).code == 0
    assert json.loads((tmp_path / "old").read_text("utf-8").split("\n", 1)[0])["ragbed"] == "0.0.1"


@pytest.mark.parametrize("scorer", ["", "0123456789abcdef"])
def test_sums_of_another_scorer_are_named_and_do_not_add_up(scorer: str, tmp_path: Path, parts: list[Path]) -> None:
    files = [tmp_path / f"{index}.jsonl" for index in (1, 2)]
    for part, file in zip(parts, files, strict=False):
        _sum(part, file)
    head, rest = files[0].read_text("utf-8").split("\n", 1)
    files[0].write_text(json.dumps(json.loads(head) | {"scorer": scorer}) + "\n" + rest, "utf-8")
    done = type_command("report", *map(str, files))
    assert (done.code, f"(scorer {scorer or 'unknown'}) and ragbed" in done.err) == (2, True), done.err
    sums, text = read_sums([files[0]]), read_words("en")
    assert make_report(["a"], (), "robust").notes(text) == []
    (note,) = replace(make_report(["a"], (), "robust"), scorer=sums.scorer).notes(text)
    assert note.startswith("These aggregates were computed with another version of the scorer")


def test_different_data_under_one_name_are_not_added(tmp_path: Path) -> None:
    for name, number in (("a", "3"), ("b", "4")):
        made = type_command("synth", "--seed", number, "--items", "4", "-o", str(tmp_path / name))
        assert made.code == 0, made.err
        (data, *_) = sorted((tmp_path / name).glob("*base*.jsonl"))
        words = ("run", "-m", "scripted/oracle", "-d", f"same={data}", "--testbeds", "closed-book", "--no-cache")
        assert type_command(*words, "--out", str(tmp_path / f"run-{name}")).code == 0
        _sum(tmp_path / f"run-{name}", tmp_path / f"{name}.jsonl")
    done = type_command("report", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert (done.code, "different datasets that are both named 'same'" in done.err) == (2, True)


def test_several_processes_give_the_same_sums(parts: list[Path]) -> None:
    alone, together = LocalEngine(1), LocalEngine(2, alone_s=0)
    try:
        one, other = sum_run(parts[0], alone), sum_run(parts[0], together)
    finally:
        together.close()
    assert one.runs == other.runs
    assert {key: equal.questions.total() for key, equal in one.groups.items()} == {
        key: equal.questions.total() for key, equal in other.groups.items()
    }


def _serve(folder: Path, served: Callable[[int], str], *, items: range = range(10)) -> Path:
    """Run a model whose server reports a model that depends on the question, and return the run's sums."""

    def say(case: Case) -> Completion:
        if int(case.item) % 5 == 4:
            return Completion(outcome="error", error="http-500: no")
        reply = f"It is gold-{case.item}." if int(case.item) < 6 else "No idea."
        return Completion(outcome="ok", reply=reply, served=Served(model=served(int(case.item))))

    cases = [make_case(item) for item in items]
    execution.run(make_job(folder, len(items), TalkingModel(say), cases=lambda: cases), ask_nobody)
    _sum(folder, folder.with_suffix(".jsonl"))
    return folder.with_suffix(".jsonl")


def test_models_that_a_server_changed_are_told_apart_as_in_the_report_of_the_run(tmp_path: Path) -> None:
    file = _serve(tmp_path / "run", lambda item: "m-1" if item < 6 else "m-2")
    found, wanted = _cells(file), _cells(tmp_path / "run")
    assert {json.loads(name)["model"] for name in found} >= {"test/talking (m-1)", "test/talking (m-2)"}
    assert found == {name: wanted[name] for name in found}
    assert {json.loads(name)["scope"] for name in wanted.keys() - found.keys()} <= {"common"}


def test_aggregates_keep_the_display_names_of_models(tmp_path: Path) -> None:
    file = _small(tmp_path / "run", model="mine=scripted/oracle")
    assert type_command("merge", str(file), "-o", str(tmp_path / "merged.jsonl")).code == 0
    for source in (tmp_path / "run", file, tmp_path / "merged.jsonl"):
        done = type_command("report", str(source))
        assert ("mine" in done.out, "scripted/oracle" in done.out) == (True, False), done.out
    changed = _serve(tmp_path / "changed", lambda item: "m-1" if item < 6 else "m-2")
    lines = changed.read_text("utf-8").replace('"served":', '"name":"mine","served":', 1)
    changed.write_text(lines, "utf-8")
    assert "mine (m-2)" in type_command("report", str(changed)).out


def test_files_of_models_that_a_server_changed_between_runs_do_not_add_up(tmp_path: Path) -> None:
    files = [
        _serve(tmp_path / name, lambda _, name=name: name, items=items)  # type: ignore[misc]
        for name, items in (("m-1", range(6)), ("m-2", range(6, 10)))
    ]
    heads = [file.read_text("utf-8").split("\n", 1) for file in files]
    for index, (file, (head, rest)) in enumerate(zip(files, heads, strict=True), start=1):
        fields = json.loads(head)
        fields["runs"][0] |= {"shard": f"{index}/2", "settings": "s"}
        file.write_text(json.dumps(fields) + "\n" + rest, "utf-8")
    done = type_command("report", *map(str, files))
    message = "the server for test/talking served several models (m-1, m-2)"
    assert (done.code, message in done.err) == (2, True), done.err
    models = {json.loads(name)["model"] for name in _cells(tmp_path / "m-1", tmp_path / "m-2")}
    assert models == {"test/talking (m-1)", "test/talking (m-2)"}  # a failed call belongs to the model of its run


def test_the_report_says_that_a_run_was_incomplete(tmp_path: Path) -> None:
    cases = [make_case(number) for number in range(4)]
    job = make_job(tmp_path / "run", 4, TalkingModel(lambda _: Completion(outcome="ok", reply="a")))
    execution.run(structs.replace(job, cases=lambda: cases[:3]), ask_nobody)
    with open_store(tmp_path / "run", create=True) as store, store.transaction():
        store.add_cases(cases[3:])
    for number in (1, 2):
        _sum(tmp_path / "run", tmp_path / f"{number}.jsonl")
        told = type_command("report", str(tmp_path / f"{number}.jsonl")).out
        assert (f"Incomplete: {tmp_path / '1.jsonl'} has 3 of 4 results." in " ".join(told.split())) is (number == 1)
        execution.run(job, ask_nobody)


def test_the_report_says_what_aggregates_do_not_contain(tmp_path: Path, parts: list[Path]) -> None:
    _sum(parts[0], tmp_path / "1.jsonl")
    lines = (tmp_path / "1.jsonl").read_text("utf-8").replace('"shard":"1/3"', '"shard":null')
    (tmp_path / "1.jsonl").write_text(lines, "utf-8")
    done = type_command("report", str(tmp_path / "1.jsonl"))
    assert done.code == 0
    for word in ("costs", "confidences", "prompt lengths", "paired comparisons", "judgements", "error types"):
        assert word in " ".join(done.err.split()), done.err
