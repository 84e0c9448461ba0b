"""A run in which one trial of three has no reply."""

from __future__ import annotations

from pathlib import Path

from ragbed.runner.running import run
from ragbed.schema import Case, Completion
from tests.runner.harness import TalkingModel, ask_nobody, make_job


def mixed(case: Case) -> Completion:
    """An answer, or a timeout for item 1."""
    if case.item == "1":
        return Completion(outcome="error", error="timeout: no reply within 3 s", attempts=6)
    return Completion(outcome="ok", reply=f"It is gold-{case.item}.", finish="stop", usage={"in": 7}, latency_s=0.41)


def make_run(folder: Path, *names: str) -> Path:
    """Three cases asked of each model."""
    run(make_job(folder, 3, *(TalkingModel(mixed, name) for name in names or ("test/talking",))), ask_nobody)
    return folder
