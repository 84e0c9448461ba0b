"""Models that cite in a known way reach the values that follow from the labels of the documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

import ragbed
from ragbed.schema import Case
from tests.items import as_dataset, integration_item

Citing = Callable[[Case], list[int]]


def _numbers(case: Case, stance: str) -> list[int]:
    return [number for number, document in enumerate(case.documents, 1) if document.stance == stance]


class CitingModel:
    """Answers every question correctly and cites as it is told."""

    concurrency, advice = 8, ""

    def __init__(self, name: str, cite: Citing) -> None:
        self.name, self._cite = f"citing/{name}", cite

    async def complete(self, case: Case, repeat: int = 0) -> ragbed.Completion:
        answer = ("、" if case.lang == "zh" else " and ").join(aliases[0] for aliases in case.answer)
        marks = "".join(f"[{number}]" for number in self._cite(case))
        stop = "。" if case.lang == "zh" else "."
        return ragbed.Completion(outcome="ok", reply=f"{answer}{marks}{stop}")

    def request(self, case: Case) -> bytes:
        return "".join(message.content for message in case.messages).encode()

    async def identity(self) -> str:
        return self.name

    async def close(self) -> None:
        pass


MODELS: dict[str, Citing] = {
    "right": lambda case: _numbers(case, "supports"),
    "wrong": lambda case: _numbers(case, "distracts"),
    "everything": lambda case: list(range(1, len(case.documents) + 1)),
    "nothing": lambda _: [],
    "fabricated": lambda case: [len(case.documents) + 1, 0],
}
# At a noise ratio of 0.4, three of five documents support the answer.
EXPECTED: dict[str, dict[str, float | None]] = {
    "right": {"citation_precision": 1, "citation_recall": 1, "citation_f1": 1, "fabricated_citations": 0},
    "wrong": {"citation_precision": 0, "citation_recall": 0, "citation_f1": 0, "fabricated_citations": 0},
    "everything": {"citation_precision": 0.6, "citation_recall": 1, "citation_f1": 0.75, "fabricated_citations": 0},
    "nothing": {"citation_precision": None, "citation_recall": 0, "citation_f1": 0, "fabricated_citations": None},
    "fabricated": {"citation_precision": 0, "citation_recall": 0, "citation_f1": 0, "fabricated_citations": 1},
}


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", MODELS)
def test_scripted_citations_reach_their_analytic_values(name: str, lang: str, tmp_path: Path) -> None:
    run = ragbed.run(
        CitingModel(name, MODELS[name]), f"ragbed-mini-{lang}_base", testbeds="noise", noise=0.4, strategies="cite",
        limit=10, out=tmp_path / "run",
    )  # fmt: skip
    cells = {
        cell["metric"]: cell["value"]
        for cell in run.metrics()
        if cell["table"] == "citations" and cell["scorer"] == "robust" and cell["noise"] == 0.4
    }
    assert {metric: cells.get(metric) for metric in EXPECTED[name]} == pytest.approx(EXPECTED[name])
    assert cells["uncited_sentences"] == (1 if name == "nothing" else 0)


def test_the_numbers_of_citations_are_not_read_as_answers(tmp_path: Path) -> None:
    run = ragbed.run(
        CitingModel("right", MODELS["right"]), "ragbed-mini-en_base", testbeds="noise", noise=0.4, strategies="cite",
        limit=3, out=tmp_path / "run",
    )  # fmt: skip
    cited = [trial for trial in run.trials() if trial["profile"] == "robust+cite"]
    assert len(cited) == 3
    assert not any("[" in trial["reply"] for trial in cited)
    assert all("[" in trial["steps"][-1]["reply"] and trial["scores"]["correct"] for trial in cited)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_each_part_of_an_integration_answer_needs_its_own_citation(lang: str, tmp_path: Path) -> None:
    first = CitingModel("first-part", lambda case: [i for i, doc in enumerate(case.documents, 1) if doc.part == 0])
    every = CitingModel("right", MODELS["right"])
    run = ragbed.run(
        [first, every], f"ragbed-mini-{lang}_int", testbeds="integration", noise=0, strategies="cite",
        out=tmp_path / "run",
    )  # fmt: skip
    recall: dict[str, list[float]] = {}
    for trial in run.trials():
        if trial["profile"] == "robust+cite":
            parts = 1 if trial["model"].endswith("right") else len(trial["answer"])
            recall.setdefault(trial["model"], []).append(trial["scores"]["citation_recall"] * parts)
    assert {model: set(values) for model, values in recall.items()} == {
        "citing/first-part": {1.0},
        "citing/right": {1.0},
    }


def test_recall_is_complete_if_documents_exist_for_fewer_parts_than_the_answer_has(tmp_path: Path) -> None:
    item = structs.replace(integration_item(0, (3, 3)), answer=(("part-0",), ("part-1",), ("part-2",)))
    run = ragbed.run(
        CitingModel("right", MODELS["right"]), str(as_dataset(tmp_path, item).path), testbeds="integration", noise=0,
        strategies="cite", out=tmp_path / "run",
    )  # fmt: skip
    cited = [trial["scores"] for trial in run.trials() if trial["profile"] == "robust+cite"]
    assert [scores["citation_recall"] for scores in cited] == [1.0]
