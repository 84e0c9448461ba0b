"""Runs to export."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from ragbed.runs.execution import run
from ragbed.schema import Case, Completion, Retrieved
from tests.runs.harness import TalkingModel, ask_nobody, make_case, make_job


def mixed(case: Case) -> Completion:
    """Return an answer, or a timeout for item 1."""
    if case.item == "1":
        return Completion(outcome="error", error="timeout: no reply within 3 s", attempts=6)
    return Completion(outcome="ok", reply=f"It is gold-{case.item}.", finish="stop", usage={"in": 7}, latency_s=0.41)


def make_run(folder: Path, *names: str) -> Path:
    """Run three cases with each model; one of three has no response."""
    run(make_job(folder, 3, *(TalkingModel(mixed, name) for name in names or ("test/talking",))), ask_nobody)
    return folder


def _search(case: Case) -> Completion:
    """Return two passages of the corpus and a foreign one, or no passages for item 1."""
    completion = Completion(outcome="ok", reply=f"It is gold-{case.item}.")
    if case.item == "1":
        return completion
    found = Retrieved(id="a0", stance="supports", text=f"It is gold-{case.item}.")
    other = Retrieved(id="b1", stance="distracts", text="It rained.")
    return structs.replace(completion, retrieved=(found, Retrieved(id="page 4"), other), citations=(found,))


def make_own_rag_run(folder: Path) -> Path:
    """Run three cases with a system that searches a corpus."""
    fields = {"testbed": "own-rag", "documents": (), "slots": (), "noise": None, "noise_real": None}
    cases = [structs.replace(make_case(number), corpus="c0", **fields) for number in range(3)]
    run(make_job(folder, 3, TalkingModel(_search), cases=lambda: iter(cases)), ask_nobody)
    return folder
