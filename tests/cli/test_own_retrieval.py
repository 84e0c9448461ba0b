"""Own retrieval from the corpus to the report, as a user types it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.typed import type_command
from tests.items import as_dataset, base_item, fact_item

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = "ragbed-mini-en_base"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the example and its corpora, which is the current one."""
    for name in ("plain_rag.py", "own_retrieval.py"):
        (tmp_path / name).write_text((EXAMPLES / name).read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("plain_rag", "own_retrieval", "strange"):
        sys.modules.pop(name, None)


def _cells(run: str) -> dict[str, dict[str, Any]]:
    """The robust cells of the table, by metric; those by noise are left out."""
    return {
        cell["metric"]: cell
        for cell in json.loads(type_command("report", run, "-f", "json").out)
        if cell["table"] == "own-retrieval" and cell["scorer"] == "robust" and cell["noise"] is None
    }


@pytest.mark.usefixtures("here")
def test_rejection_without_base_items_names_the_kind_of_items_that_is_missing() -> None:
    words = ("run", "-m", "python/own_retrieval:answer", "-d", "ragbed-mini-en_fact", "--testbeds", "own-rejection")
    done = type_command(*words)
    assert done.code == 2
    assert "ragbed-mini-en_fact has no base item in en or zh. Found: 20 counterfactual items" in done.err
    assert "use another dataset, e.g. ragbed-mini-en_base." in done.err


@pytest.mark.usefixtures("here")
def test_the_example_finds_answers_and_declines_and_the_report_tells_the_gap() -> None:
    for edition, name in (("corpus", "corpus.jsonl"), ("withheld-corpus", "corpus-withheld.jsonl")):
        told = json.loads(type_command("export", DATA, "--to", edition, "-o", name, "--json").out)
        assert told["passages"] == len(Path(name).read_text("utf-8").splitlines())
    words = ("run", "-m", "python/own_retrieval:answer", "-d", DATA, "--noise", "0", "--out", "r", "--json")
    done = type_command(*words, "--testbeds", "noise,own-retrieval,own-rejection")
    assert done.code == 0, done.err
    cells = _cells("r")
    assert cells["retrieval_recall"]["value"] > 0.9
    assert 0 < cells["retrieved_distracts"]["value"] < 1
    assert cells["retrieved_unknown"]["value"] == 0
    assert cells["retrieval_told"]["n"] == cells["accuracy"]["n"] == 60
    assert cells["retrieval_gap"]["high"] < 0
    assert cells["refusal_withheld"]["n"] == 60
    told = type_command("report", "r").out
    assert "End-to-end RAG: retrieval quality, and accuracy with retrieved versus provided documents" in told
    assert "End-to-end RAG: accuracy by the share of noise" in told


@pytest.mark.usefixtures("here")
def test_gates_on_what_a_system_finds_are_taken_and_those_on_another_language_refused_at_once() -> None:
    for edition, name in (("corpus", "corpus.jsonl"), ("withheld-corpus", "corpus-withheld.jsonl")):
        type_command("export", DATA, "--to", edition, "-o", name)
    words = ("run", "-m", "python/own_retrieval:answer", "-d", DATA, "--limit", "5", "--testbeds", "own-retrieval")
    refused = type_command(*words, "--out", "zh", "--fail-under", "own-retrieval.accuracy:zh=0.5")
    assert refused.code == 2
    assert "No model was called." in refused.err
    taken = type_command(*words, "--out", "r", "--fail-under", "own-retrieval.retrieval_recall=0.1")
    assert taken.code == 0, taken.err
    assert "gate passed: own-retrieval.retrieval_recall" in taken.err


def test_a_system_that_names_passages_of_its_own_is_counted_and_named(here: Path) -> None:
    as_dataset(here, base_item(0), base_item(1), fact_item(2))
    (here / "strange.py").write_text(
        "def answer(question, corpus, k, lang):\n"
        "    if 'question 1' in question:\n        raise OSError('index is gone')\n"
        "    return {'answer': 'gold-0-gold', 'retrieved': ['Q0 S0: it is gold-0-gold.', 'page 4']}\n"
    )
    words = ("run", "-m", "python/strange:answer", "-d", "made.jsonl", "--testbeds", "own-retrieval", "--out", "r")
    done = type_command(*words)
    assert done.code == 3
    assert "server: OSError: index is gone" in done.err
    cells = _cells("r")
    assert (cells["accuracy"]["asked"], cells["accuracy"]["errors"]) == (3, 1)
    assert cells["retrieval_recall"]["n"] == cells["retrieved_unknown"]["n"] == 2
    assert cells["retrieval_recall"]["value"] == cells["retrieved_unknown"]["value"] == 0.5
    assert "retrieval_gap" not in cells
    type_command("export", "r", "--to", "jsonl", "-o", "r.jsonl")
    lines = [json.loads(line) for line in (here / "r.jsonl").read_text("utf-8").splitlines()]
    (first,) = (line for line in lines if line["item"] == "0")
    assert first["retrieved"][1] == {"id": "page 4"}
    assert first["scores"]["retrieved_unknown"] == 0.5


@pytest.mark.usefixtures("here")
def test_a_model_which_searches_nothing_is_refused_before_it_is_asked() -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "own-retrieval", "--out", "r")
    assert done.code == 2
    assert (
        "scripted/oracle is not a RAG system. The own-retrieval and own-rejection testbeds require one: use a "
        "python/… or http/… system, or ragbed.system." in done.err
    )


@pytest.mark.usefixtures("here")
def test_a_corpus_goes_to_a_file_of_its_own_and_has_no_canonical_form() -> None:
    assert (
        "--canonical has no effect here"
        in type_command("export", DATA, "--to", "corpus", "-o", "c.jsonl", "--canonical").err
    )
    assert type_command("export", DATA, "--to", "korpus", "-o", "c.jsonl").code == 2


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


def test_an_empty_corpus_is_an_error(tmp_path: Path) -> None:
    """The export wrote an empty file, and own-rejection and search:withheld then scored 100 % for any system."""
    data = str(as_dataset(tmp_path, base_item(0, distracts=0), base_item(1, distracts=0)).path)
    message = (
        "ragbed: the withheld-corpus of made is empty, because each of its passages supports or contradicts an answer. "
        "Use a dataset with distractors.\n"
    )
    for words in (
        ("export", data, "--to", "withheld-corpus", "-o", str(tmp_path / "corpus.jsonl")),
        ("export", data, "--to", "jsonl", "--testbeds", "own-rejection"),
    ):
        done = type_command(*words)
        assert (done.code, done.err) == (2, message)
    assert not (tmp_path / "corpus.jsonl").exists()
    done = type_command("export", data, "--to", "jsonl", "--testbeds", "search")
    assert "arm=withheld: the corpus contains no passage (×2)" in done.out
