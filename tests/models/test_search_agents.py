"""The scripted agents have known scores in both protocols, also replayed and as Python systems."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ragbed
from ragbed.errors import UsageError
from ragbed.models.scripted import AGENTS
from ragbed.testbeds.search.corpora import Index, SearchCorpus
from tests.runs.harness import canonical

_DATA = ("ragbed-mini-en_base", "ragbed-mini-zh_base", "ragbed-mini-en_int", "ragbed-mini-en_fact")
_OPTIONS: dict[str, Any] = {"testbeds": "search", "limit": 2, "cache": "off", "progress": False}


@cache
def _metrics(folder: Path) -> ragbed.Table:
    return ragbed.open_run(folder).metrics()


def _rates(run: ragbed.Run, metric: str) -> dict[str, float]:
    cells = [cell for cell in _metrics(run.folder) if cell["table"] == "search" and cell["metric"] == metric]
    return {cell["arm"]: cell["value"] for cell in cells if cell["data"] != _DATA[1]}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ragbed.Run]:
    folder = tmp_path_factory.mktemp("agents")
    return {name: ragbed.run(f"scripted/{name}", _DATA, out=folder / name, **_OPTIONS) for name in AGENTS}


def test_an_agent_that_searches_once_is_right_where_the_search_finds_the_answer(runs: dict[str, ragbed.Run]) -> None:
    run = runs["search-once"]
    assert _rates(run, "accuracy")["complete"] == _rates(run, "search_recall")["complete"]
    assert set(_rates(run, "searches").values()) == {1}
    assert _rates(run, "refusal")["withheld"] == _rates(run, "fair_refusal")["withheld"] == 1
    recall = _rates(run, "search_recall")
    assert _rates(run, "search_recall_1") == _rates(run, "search_recall_3") == recall
    assert _rates(run, "stopped_early")["complete"] == pytest.approx(1 - recall["complete"])


def test_the_labels_of_a_dataset_are_its_own_if_another_has_the_same_passages(tmp_path: Path) -> None:
    texts = ("The Ost Bridge opened in 1931.", "The Lund Tower opened in 1954.", "The ferry stopped in 1970.")

    def make_item(question: str, answer: str, right: int) -> dict[str, object]:
        passages = [
            {"text": text, "stance": "supports" if number == right else "distracts"}
            for number, text in enumerate(texts)
        ]
        return {"id": answer, "lang": "en", "question": question, "answer": [[answer]], "passages": passages}

    items = {
        "A": [make_item("When did the Ost Bridge open?", "1931", 0)],
        "B": [make_item("When did the Lund Tower open?", "1954", 1)],
    }

    @ragbed.system
    def retriever(case: ragbed.SystemCase) -> dict[str, object]:
        return {"answer": "1931", "retrieved": list(texts)}

    for model, testbed, metric in (
        ("scripted/search-once", "search", "search_recall"),
        (retriever, "own-rag", "retrieval_recall"),
    ):
        for names in (("A", "B"), ("B", "A")):
            options = _OPTIONS | {"testbeds": testbed, "out": tmp_path / f"{testbed}-{names[0]}"}
            run = ragbed.run(model, {name: items[name] for name in names}, **options)
            rates = {cell["data"]: cell["value"] for cell in run.metrics() if cell["metric"] == metric}
            assert rates == {"A": 1, "B": 1}


def test_each_condition_is_paired_with_given_documents_on_the_same_questions(tmp_path: Path) -> None:
    options = _OPTIONS | {"testbeds": "noise,rejection,integration,counterfactual,search", "noise": "0,1"}
    data = ("ragbed-mini-en_base", "ragbed-mini-en_int", "ragbed-mini-en_fact")
    run = ragbed.run("scripted/search-once", data, out=tmp_path, true_ratio=[0, 1], **options)
    given, gap = _rates(run, "given_rate"), _rates(run, "search_gap")
    assert given == {"complete": 1, "withheld": 1, "spread": 1, "false=0": 1, "false=1": 0}
    rates = _rates(run, "accuracy") | _rates(run, "refusal")
    assert gap == pytest.approx({arm: rates[arm] - rate for arm, rate in given.items()})


def test_an_endless_agent_ends_at_the_limit_and_repeats_its_query(runs: dict[str, ragbed.Run]) -> None:
    run = runs["search-endless"]
    assert set(run.outcomes) == {"truncated"}
    assert {trial["finish"] for trial in run.trials()} == {"turn-limit"}
    assert set(_rates(run, "searches").values()) == {8}
    assert set(_rates(run, "search_repeated").values()) == {7 / 8}
    assert set(_rates(run, "search_limit").values()) == {1}
    assert set(_rates(run, "accuracy").values()) == {0}


def test_malformed_calls_end_with_their_own_outcome(runs: dict[str, ragbed.Run]) -> None:
    run = runs["search-malformed"]
    assert {(trial["outcome"], trial["finish"]) for trial in run.trials()} == {("truncated", "invalid-calls")}
    assert set(_rates(run, "search_invalid").values()) == {1}
    found = {search["problem"] for trial in run.trials() for step in trial["steps"] for search in step["searches"]}
    assert found == {"bad-json", "unknown-tool", "bad-k"}


def test_a_gullible_agent_believes_false_passages(runs: dict[str, ragbed.Run]) -> None:
    run = runs["search-gullible"]
    misled = _rates(run, "misled_at_all")
    assert (misled["false=0"], misled["false=0.5"], misled["false=1"]) == (0, 1, 1)
    assert _rates(run, "accuracy")["false=1"] == 0


@pytest.mark.parametrize("agent", ["search-once", "search-malformed", "search-gullible"])
def test_the_text_protocol_gives_the_same_scores(agent: str, runs: dict[str, ragbed.Run], tmp_path: Path) -> None:
    text = ragbed.run(f"scripted/{agent}", _DATA, out=tmp_path, search="protocol=text", **_OPTIONS)
    assert text.outcomes == runs[agent].outcomes
    for metric in ("accuracy", "search_recall", "searches"):
        assert _rates(text, metric) == _rates(runs[agent], metric)


@pytest.mark.parametrize("protocol", ["tools", "text"])
def test_episodes_are_replayed(protocol: str, tmp_path: Path) -> None:
    options = _OPTIONS | {"search": f"turns=3,protocol={protocol}"}
    first = ragbed.run("scripted/search-endless", _DATA, out=tmp_path / "first", **options)
    ragbed.export(first, "archive", tmp_path / "it.zip", progress=False)
    name = f"replay/{tmp_path / 'it.zip'}"
    assert ragbed.run(name, _DATA, out=tmp_path / "again", **options).outcomes == first.outcomes
    renamed = canonical(tmp_path / "again").replace(name.encode(), b"scripted/search-endless")
    assert renamed == canonical(tmp_path / "first")


def test_a_system_receives_the_tool_and_is_measured_by_its_searches(tmp_path: Path) -> None:
    @ragbed.system
    def agent(case: ragbed.SystemCase) -> str:
        assert case.search is not None
        with pytest.raises(ValueError, match="whole number from 1 to 20"):
            case.search("news", k=0)
        return case.search(case.question, k=1)[0]["text"]

    run = ragbed.run(agent, _DATA[0], out=tmp_path, **_OPTIONS)
    assert run.outcomes == {"ok": 4}
    assert _rates(run, "searches") == {"complete": 1, "withheld": 1}
    assert _rates(run, "search_invalid") == {"complete": 0.5, "withheld": 0.5}
    (step,) = next(iter(run.trials()))["steps"]
    assert step["protocol"] == "function"


def test_a_system_that_searches_without_end_is_stopped_at_the_limit(tmp_path: Path) -> None:
    @ragbed.system
    def agent(case: ragbed.SystemCase) -> str:
        while True:
            case.search("news")  # type: ignore[misc]

    run = ragbed.run(agent, _DATA[0], out=tmp_path, search="calls=3", **_OPTIONS)
    assert {(trial["outcome"], trial["finish"]) for trial in run.trials()} == {("truncated", "call-limit")}
    assert _rates(run, "searches") == {"complete": 3, "withheld": 3}


def test_building_the_index_does_not_count_towards_the_time_limit_of_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @ragbed.system
    def agent(case: ragbed.SystemCase) -> str:
        assert index_built.is_set()
        return case.search(case.question)[0]["text"]  # type: ignore[misc]

    index_built, build = threading.Event(), SearchCorpus.prepare

    def prepare(corpus: SearchCorpus) -> Index:
        assert threading.current_thread() is not threading.main_thread()  # the event loop is not blocked
        index_built.set()
        return build(corpus)

    monkeypatch.setattr(SearchCorpus, "prepare", prepare)
    assert ragbed.run(agent, _DATA[0], out=tmp_path, **_OPTIONS).outcomes == {"ok": 4}


def test_a_function_in_a_module_receives_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sea_agent.py").write_text(
        "def answer(question, search, lang):\n    return search(question)[0]['text']\n"
        "def other(question, documents, lang):\n    return ''\n"
    )
    monkeypatch.chdir(tmp_path)
    run = ragbed.run("python/sea_agent:answer", _DATA[0], out=tmp_path / "run", **_OPTIONS)
    assert (run.outcomes, _rates(run, "never_searched")["complete"]) == ({"ok": 4}, 0)
    told = r"in the testbed search\. .* A correct one: def answer\(question, search\): …"
    with pytest.raises(UsageError, match=told):
        ragbed.run("python/sea_agent:other", _DATA[0], out=tmp_path / "other", **_OPTIONS)
    told = r"in testbeds that provide documents.* A correct one: def answer\(question, documents\): "
    with pytest.raises(UsageError, match=told):
        ragbed.run(
            "python/sea_agent:answer", _DATA[0], out=tmp_path / "both", **_OPTIONS | {"testbeds": "noise,search"}
        )


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("scripted/oracle", {}, "cannot call the search tool"),
        ("http/localhost:1", {}, "cannot call the search tool"),
        ("scripted/search-once", {"testbeds": "noise", "search": "turns=3"}, "Add testbeds=search"),
        ("scripted/search-once", {"search": "turns=x"}, "turns=x"),
        ("scripted/search-once", {"batch": True}, "batch"),
        (lambda prompt: prompt, {"search": "protocol=tools"}, "does not support tool calls"),
    ],
)
def test_what_cannot_be_run_is_a_usage_error(model: Any, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        ragbed.run(model, _DATA[0], out=tmp_path / "run", **(_OPTIONS | options))
