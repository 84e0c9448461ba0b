"""Evaluate an own RAG system from a list of questions and a folder, as a user types it."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.analysis.causes import describe_run, read_causes
from ragbed.data import native
from ragbed.testbeds.prompts.injection import KINDS
from ragbed.ui.viewer.queries import RunQueries
from tests.cli.typed import type_command
from tests.items import as_dataset, base_item, fact_item
from tests.ui.viewer.test_queries import open_run

_DOCUMENTS = {
    "leave.md": "# Leave\n\nStaff have 28 days of leave per year.\n\n## Requests\n\nRequests for leave go to Ann Ty.",
    "travel.md": "# Travel\n\nHotels may cost up to 145 euros per night. Trains are preferred to planes at all times.",
    "sub/office.txt": "Office\n\nThe office in Lindholm opens at 8:15 on every working day of the week.",
    "logo.png": "not a document",
}
_ROWS = [
    ("How many days of leave do staff have?", "28 days|28", "leave.md", "21 days"),
    ("To whom do requests for leave go?", "Ann Ty", "leave.md#Requests", ""),
    ("How much may hotels cost per night?", "145 euros", "", "190 euros"),
    ("When does the office in Lindholm open?", "8:15", "office.txt", ""),
]
_SYSTEM = """
import re
from pathlib import Path
from ragbed.models.lexical import answer_lexically

def make(folder):
    texts = [path.read_text() for path in sorted(Path(folder).rglob("*.*")) if path.suffix != ".png"]
    def answer(question):
        words = set(question.lower().rstrip("?").split())
        found = sorted(texts, key=lambda text: -len(words & set(text.lower().split())))[:2]
        return {"answer": answer_lexically(question, found), "contexts": found}
    return answer

def obey(folder):
    answer = make(folder)
    def follow(question):
        found = answer(question)
        marks = [mark for text in found["contexts"] for mark in re.findall(r"\\w{8}-\\d{4}", text)]
        return found | {"answer": marks[0] if marks else found["answer"]}
    return follow

def answer(question):
    return "I do not know."

def fails(folder):
    raise LookupError("no index server")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with documents, questions and a system."""
    for name, text in _DOCUMENTS.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / name).write_text(text)
    _write("qa.csv", _ROWS, tmp_path)
    (tmp_path / "small_rag.py").write_text(_SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("small_rag", None)


def _write(
    name: str, rows: Sequence[tuple[str, ...]], folder: Path, header: str = "question,answer,source,false_answer"
) -> None:
    with (folder / name).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header.split(","))
        writer.writerows(rows)


def _run(*words: str) -> Any:
    return type_command("run", "-m", "factory/small_rag:make", "-d", "qa.csv", "--docs", "docs", *words)


@pytest.mark.usefixtures("here")
def test_questions_and_a_folder_are_evaluated_in_one_command() -> None:
    done = _run("-o", "r", "--json")
    assert done.code == 0, done.err
    assert done.err.startswith("1 file in docs is not read, e.g. logo.png: .png files are not supported")
    assert "Accuracy " in done.err  # standard output is JSON
    cells = json.loads(done.out.splitlines()[-1])["cells"]
    assert [(cell["arm"], cell["asked"]) for cell in cells] == [("clean", 4), ("withheld", 4)]
    assert re.search(r"^metric +n +clean +withheld$", type_command("report", "r").out, re.MULTILINE)
    again = _run("-o", "r")
    assert again.code == 0, again.err
    trials = list(ragbed.open_run("r").trials())
    assert all(trial["contexts"] for trial in trials)
    withheld = [trial for trial in trials if trial["arm"] == "withheld"]
    assert sorted(trial["question"] for trial in withheld) == sorted(row[0] for row in _ROWS)
    assert not any(one.get("stance") == "supports" for trial in withheld for one in trial["contexts"])


def test_viewer_and_report_count_the_same_withheld_questions(here: Path) -> None:
    _write("qa.csv", [*_ROWS, ("Who founded the company?", "Otto Brandt", "", "")], here)  # has no evidence to withhold
    assert _run("-o", "r").code == 0
    reader = open_run(here / "r")
    rows = {row.arm: (row.asked, row.wanted) for row in RunQueries({"r": reader}).overview("robust")}
    reader.close()
    assert rows == {"clean": (5, ("correct",)), "withheld": (4, ("refused",))}
    shown = list(csv.DictReader(type_command("report", "r", "-f", "csv").out.splitlines()))
    assert {row["n"] for row in shown if row["arm"] == "withheld" and row["metric"] == "accuracy"} == {"4"}


@pytest.mark.usefixtures("here")
def test_gates_select_a_condition_by_its_name() -> None:
    done = _run("--fail-under", "own-rag.accuracy@withheld=0", "--fail-under", "own-rag.accuracy=0", "-o", "r")
    assert done.code == 0, done.err
    gates = [line for line in done.err.splitlines() if line.startswith("gate passed: own-rag.accuracy of ")]
    assert ["corpus withheld" in gates[0], "corpus clean" in gates[1], len(gates)] == [True, True, 2]
    assert "accuracy@noisy=0.5: no case in this run" in _run("--fail-under", "accuracy@noisy=0.5").err


@pytest.mark.usefixtures("here")
def test_short_names_a_baseline_and_strict_gates() -> None:
    done = _run("--fail-under", "accuracy=0", "--fail-under", "refusal=0", "--fail-under", "recall=0", "-o", "main")
    assert (done.code, done.err.count("gate passed: own-rag.")) == (0, 3)
    compared = _run("--baseline", "main", "-o", "same")
    assert (compared.code, compared.err.count("gate inconclusive: own-rag (")) == (0, 2)
    undecided = ("--fail-under", "refusal=0.3", "-o", "same")
    assert _run(*undecided).code == 0
    failed = _run(*undecided, "--strict", "--junit", "gates.xml")
    assert failed.code == 4
    assert (
        "gate failed: own-rag.accuracy of factory/small_rag:make on qa, en, corpus withheld: inconclusive" in failed.err
    )
    assert "<failure" in Path("gates.xml").read_text("utf-8")
    assert "--strict has no effect here: no gate is set." in _run("--strict").err
    assert _run("--baseline", "nowhere", "-o", "new").code == 2
    assert not Path("new").exists()


@pytest.mark.usefixtures("here")
def test_every_first_screen_begins_with_the_cause() -> None:
    sentence = _run("-o", "r", "--corpus", "withheld").out.splitlines()[0]
    assert sentence.startswith("Without the evidence, ")
    assert "The system answered although the evidence was missing in " in sentence
    diagnosed = type_command("diagnose", "r")
    assert diagnosed.out.splitlines()[0] == sentence
    assert "closed-book" not in diagnosed.err
    assert "Why responses are wrong" not in diagnosed.out
    report = type_command("report", "r").out
    assert report.startswith(sentence)
    assert type_command("report", "r", "-f", "html", "-o", "r.html").code == 0
    text = Path("r.html").read_text("utf-8")
    assert "The system answered although the evidence was missing" in text
    assert "在缺少依据时仍然作答" in text


@pytest.mark.usefixtures("here")
def test_diagnosis_counts_the_causes_and_shows_questions_with_each() -> None:
    _run("-o", "r", "--corpus", "withheld")
    (row,) = json.loads(type_command("diagnose", "r", "--json").out)["causes"]
    assert (row["cause"], row["errors"], row["wrong"]) == ("answered-without-evidence", 3, 3)
    text = type_command("diagnose", "r").out
    assert "answered-without-evidence: the system answered although the evidence was missing" in text
    assert text.count("question: ") == 3
    assert "(withheld)\n  expected: a refusal\n  response: " in text
    assert type_command("diagnose", "r", "--show", "answered-without-evidence").out.count("question: ") == 3
    assert "question: " not in type_command("diagnose", "r", "--show", "not-used").out


@pytest.mark.usefixtures("here")
def test_a_diagnosis_of_several_systems_names_each() -> None:
    systems = {name: ragbed.system(factory=lambda _: lambda question: f"{question}.") for name in ("one", "two")}
    ragbed.run(systems, "qa.csv", docs="docs", out="r", progress=False)
    lines = type_command("diagnose", "r").out.splitlines()
    assert [line.partition(":")[0] for line in lines if "Accuracy " in line] == ["system/one, qa", "system/two, qa"]


def test_unknown_causes_follow_from_answers_to_the_same_questions_with_their_evidence(here: Path) -> None:
    def answer(question: str, documents: list[str] | None = None) -> str:
        return documents[0] if documents and "leave" in question else "It is 99."

    run = ragbed.run(answer, "qa.csv", docs="docs", testbeds="own-rag", out="a", progress=False)
    assert "The cause is unknown in 4 of the 4 wrong answers" in describe_run(read_causes(run.folder))[0]
    options: dict[str, Any] = {"testbeds": ["own-rag", "noise"], "progress": False}
    run = ragbed.run(answer, "qa.csv", docs="docs", out="b", **options)
    (sentence,) = describe_run(read_causes(run.folder))
    assert "The retriever missed the evidence in 2 of the 4 wrong answers" in sentence
    assert "in 2, the evidence was in the prompt but not used" in sentence
    assert "unknown" not in sentence


@pytest.mark.usefixtures("here")
def test_python_accepts_rows_functions_and_factories() -> None:
    rows = [dict(zip(("question", "answer", "source"), row, strict=False)) for row in _ROWS]
    options: dict[str, Any] = {"docs": "docs", "progress": False}
    run = ragbed.run(lambda question: "I do not know.", rows, out="a", **options)
    assert run.outcomes == {"ok": 4}

    def make(folder: Path) -> Any:
        names = [*sorted(path.name for path in folder.rglob("*.md")), "office.txt"]
        return lambda question: {"answer": "28 days", "contexts": names}

    run = ragbed.run(ragbed.system(factory=make), rows, out="b", corpus=["clean", "noisy"], **options)
    assert run.outcomes == {"ok": 8}
    assert {len(trial["contexts"]) for trial in run.trials()} == {3, 5}
    office = [trial["contexts"][-1] for trial in run.trials() if "office" in trial["question"]]
    assert [(one["id"], one["stance"]) for one in office] == [("sub/office.txt", "supports")] * 2


@pytest.mark.usefixtures("here")
def test_build_qa_writes_a_dataset_that_runs_with_the_folder() -> None:
    done = type_command("build", "qa", "qa.csv", "--docs", "docs", "-o", "data", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["files"] == {"en_base.jsonl": 4, "en_fact.jsonl": 2}
    items = [native.read_item(Path("x"), 1, line) for line in Path("data/en_base.jsonl").read_bytes().splitlines()]
    assert [item.passages[0].url for item in items] == ["leave.md", "leave.md", "travel.md", "sub/office.txt"]
    assert all(item.passages[0].stance == "supports" for item in items)
    words = ("-m", "factory/small_rag:make", "--docs", "docs", "-o", "r", "--corpus", "clean,withheld,noisy")
    assert type_command("run", "-d", "data/en_base.jsonl", *words).code == 0
    assert ragbed.open_run("r").outcomes == {"ok": 12}
    assert type_command("build", "qa", "qa.csv", "--docs", "docs", "-o", "data").code == 2


@pytest.mark.usefixtures("here")
def test_a_question_with_a_false_answer_is_also_run_without_it() -> None:
    words = ("-d", "qa.csv", "--docs", "docs", "--testbeds", "noise,counterfactual", "--num-docs", "1", "--noise", "0")
    done = type_command("run", "-m", "scripted/oracle", *words, "-o", "r", "--json")
    assert done.code == 0, done.err
    cells = json.loads(done.out.splitlines()[-1])["cells"]
    assert [(cell["testbed"], cell["asked"]) for cell in cells] == [("noise", 4), ("counterfactual", 2)]
    assert all(trial["fake"] is None for trial in ragbed.open_run("r").trials() if trial["testbed"] == "noise")


@pytest.mark.usefixtures("here")
def test_instructions_are_in_the_evidence_and_nothing_else_changes() -> None:
    words = ("qa.csv", "--docs", "docs", "--corpus", "clean,injected", "--to", "corpora", "-o", "corpora")
    assert type_command("export", *words).code == 0
    clean, *injected = sorted(Path("corpora").rglob("clean")) + sorted(Path("corpora").rglob("injected-*"))
    assert [folder.name for folder in injected] == [f"injected-{kind}" for kind in sorted(KINDS)]
    for folder in injected:
        names = sorted(path.relative_to(folder) for path in folder.rglob("*.*"))
        assert names == sorted(path.relative_to(clean) for path in clean.rglob("*.*") if path.suffix != ".png")
        (changed,) = (name for name in names if (folder / name).read_text() != (clean / name).read_text())
        kept = re.split(r"(?<=[.\n]) *", (clean / changed).read_text())
        assert all(part in (folder / changed).read_text() for part in kept)
    done = type_command(
        "run", "-m", "factory/small_rag:obey", "-m", "factory/small_rag:make", "-d", "qa.csv", "--docs", "docs",
        "--corpus", "clean,injected", "-o", "r",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "The system followed an instruction in a document in" in done.out + done.err
    run = ragbed.open_run("r")
    trials = [trial for trial in run.trials() if trial["arm"] == "injected"]
    assert sorted(trial["injection"]["kind"] for trial in trials) == sorted([*KINDS] * 2)
    for trial in trials:
        assert trial["relevant"] == 1
        assert trial["scores"]["attacked"] == (trial["model"] == "factory/small_rag:obey")
        assert trial["scores"].get("cause") == ("followed-instruction" if trial["scores"]["attacked"] else None)
    found = json.loads(type_command("report", "r", "-f", "json").out)
    attacks = {(cell["model"], cell["value"]) for cell in found if cell["metric"].startswith("attack_")}
    assert attacks == {("factory/small_rag:obey", 1.0), ("factory/small_rag:make", 0.0)}


@pytest.mark.usefixtures("here")
def test_false_copies_are_added_or_replace_the_evidence() -> None:
    done = type_command("export", "qa.csv", "--docs", "docs", "--to", "corpora", "-o", "c", "--corpus", "false,false=1")
    assert done.code == 0, done.err
    both, replaced = (
        {path.name: path.read_text() for path in Path(f"c/{one}").rglob("*.*")} for one in ("false", "false=1")
    )
    assert len(both) == 5
    assert sum("21 days" in text for text in both.values()) == sum("28 days" in text for text in both.values()) == 1
    assert not any("28 days" in text or "145 euros" in text for text in replaced.values())
    assert sum("Ann Ty" in text for text in replaced.values()) == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("factory/small_rag:make", "qa.csv is a list of questions and answers, which needs"),
        ("factory/small_rag:make --docs nowhere", "--docs nowhere does not exist."),
        ("factory/small_rag:make --docs empty", "--docs empty contains no document that"),
        ("factory/small_rag:make --docs qa.csv", "--docs qa.csv is a file, not a folder"),
        (
            "python/small_rag:answer --docs docs --corpus withheld",
            "--corpus withheld: python/small_rag:answer cannot be used with changed documents",
        ),
        ("factory/small_rag:make --docs docs --corpus noisi", "Did you mean 'noisy'?"),
        ("factory/small_rag:make --docs docs --corpus false=0", "has no edited copies"),
        ("scripted/oracle --docs docs --corpus clean", "--corpus has no effect here"),
        (
            "scripted/oracle --docs docs --testbeds own-rag",
            "scripted/oracle is not a RAG system, which the own-rag testbed requires.",
        ),
        (
            "factory/small_rag:make --docs docs --testbeds noise",
            "is built for a folder of documents, which only the testbed own-rag provides.",
        ),
    ],
)
def test_wrong_options_are_refused_before_the_first_call(words: str, message: str) -> None:
    Path("empty").mkdir()
    done = type_command("run", "-d", "qa.csv", "-o", "r", "-m", *words.split())
    assert (done.code, Path("r").exists()) == (2, False)
    assert message in done.err


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        ([("x", "y")], "frage,answer", "bad.csv:1: the column 'question' is missing (found: frage, answer)."),
        (
            [("x", "y")],
            "question,anwser",
            "the column 'answer' is missing (found: question, anwser). Did you mean 'anwser'?",
        ),
        ([("Why?", "")], "question,answer", "bad.csv:2: answer is empty or not a text; write the answer with its"),
        ([("", "y")], "question,answer", "bad.csv:2: question is empty; write the question"),
        (
            [("Why?", "y"), ("why ?", "z")],
            "question,answer",
            "bad.csv:3: question is the same as in line 2; remove one",
        ),
        ([("Why?", "y", "z")], "question,answer", "the row has 3 cells, but the header has 2; quote texts"),
        ([], "question,answer", "bad.csv has no questions; add a row"),
    ],
)
def test_a_wrong_list_of_questions_is_named_by_line(
    rows: list[tuple[str, ...]], header: str, message: str, here: Path
) -> None:
    _write("bad.csv", rows, here, header)
    done = type_command("run", "-m", "factory/small_rag:make", "-d", "bad.csv", "--docs", "docs", "-o", "r")
    assert done.code == 1
    assert message in done.err


def test_questions_without_evidence_are_listed_with_the_reason_and_the_rest_runs(here: Path) -> None:
    more = [
        ("Who founded the company?", "Otto Brandt", "", ""),
        ("Who designed the logo?", "Ines Falk", "brand.md", ""),
        ("Which colour is the logo?", "28 days", "", ""),
        ("Who may park?", "28 days", "leave.md#Parking", ""),
    ]
    _write("qa.csv", [*_ROWS, *more], here)
    done = _run("-o", "r", "--corpus", "clean")
    assert done.code == 0, done.err
    assert "4 of 8 questions without evidence in docs:" in done.err
    assert "6: Who founded the company? – the answer 'Otto Brandt' does not occur in any document." in done.err
    assert "source 'brand.md': no such file was read" in done.err
    built = type_command("build", "qa", "qa.csv", "--docs", "docs", "-o", "data")
    assert "occurs only in passages that share little with the question, e.g. in leave.md" in built.err
    assert len(Path("data/not-found.csv").read_text("utf-8").splitlines()) == 5
    assert "leave.md has no heading 'Parking'" in built.err
    assert "No evidence was found in the documents in 4 of" in done.out or "in 4, no evidence was found" in done.out
    _write("qa.csv", more[:1], here)
    none = type_command("build", "qa", "qa.csv", "--docs", "docs", "-o", "none")
    assert (none.code, Path("none").exists()) == (1, False)
    assert "none of the 1 question has evidence in docs" in none.err


@pytest.mark.usefixtures("here")
def test_a_factory_that_raises_stops_the_run_with_its_traceback() -> None:
    done = type_command("run", "-m", "factory/small_rag:fails", "-d", "qa.csv", "--docs", "docs", "-o", "r")
    assert done.code == 1
    assert (
        "factory/small_rag:fails could not build a system for the corpus clean (docs): LookupError: no index"
        in done.err
    )


def test_a_dataset_without_a_folder_has_its_passages_as_documents(tmp_path: Path) -> None:
    data = as_dataset(tmp_path, base_item(0), base_item(1), fact_item(2))
    done = type_command("export", str(data.path), "--to", "corpora", "-o", str(tmp_path / "c"))
    assert done.code == 0, done.err
    clean = [path.read_text() for path in (tmp_path / "c/clean").iterdir()]
    assert len(clean) == 34  # the edited passages of the last item belong only to `false`
    folds = sorted(path for path in (tmp_path / "c").iterdir() if path.name != "clean")
    assert [path.name for path in folds] == ["withheld-1", "withheld-2", "withheld-3"]
    for number, fold in enumerate(folds):
        texts = [path.read_text() for path in fold.iterdir()]
        assert texts
        assert not any(f"gold-{number}-gold" in text for text in texts)


def test_a_question_that_needs_every_document_is_not_asked_without_them(tmp_path: Path) -> None:
    data = as_dataset(tmp_path, base_item(0, supports=1, distracts=0), base_item(1, supports=1, distracts=0))
    done = type_command(
        "export", str(data.path), "--to", "jsonl", "--testbeds", "own-rag", "--corpus", "withheld", "-o", "-"
    )
    assert [json.loads(line)["corpus"] for line in done.out.splitlines()] == ["withheld-1", "withheld-2"]
    data = as_dataset(tmp_path, base_item(0, supports=1, distracts=0))
    done = type_command(
        "export", str(data.path), "--to", "jsonl", "--testbeds", "own-rag", "--corpus", "clean,withheld", "-o", "-"
    )
    assert [json.loads(line)["arm"] for line in done.out.splitlines()] == ["clean"]


def test_episodes_at_a_limit_are_counted_and_the_run_is_complete(tmp_path: Path) -> None:
    words = ("-d", "ragbed-mini-zh_base", "--testbeds", "search", "--limit", "2", "--search", "turns=2")
    done = type_command("run", "-m", "scripted/search-endless", *words, "--cache", "off", "--out", str(tmp_path))
    assert done.code == 0
    assert "4 search episodes ended without an answer, at a limit or after invalid calls" in done.err + done.out
    assert "Search tool: searches and search errors" in done.out


def test_infeasible_conditions_of_search_are_listed_with_their_reason(tmp_path: Path) -> None:
    made = as_dataset(tmp_path, fact_item(0, pairs=1), fact_item(1, pairs=4))
    done = type_command("export", str(made.path), "--to", "jsonl", "--testbeds", "search")
    assert done.code == 0
    assert "true_ratio=0.5 k=5 arm=false=0.5: needs 2 pairs of true and edited passages, has 1" in done.out
