"""Generate the cases of a recorded run again, and match them to its responses.

Synthetic data is generated again; RGB's files must be available.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import ragbed
from ragbed.errors import UsageError
from ragbed.schema import Case, Completion, Step
from ragbed.testbeds.prompts.strategies import flow_of
from study.copies import find_data, restore_copies
from study.recordings import RecordedTrial, Recording, StoredReply

# The parameters of the synthetic data, by the first part of the name of a run: `synthetic-main`, `long-32`.
SYNTHETIC: dict[str, dict[str, Any]] = {
    "synthetic": {"items": 300, "integration": 100, "counterfactual": 100, "seed": 2026, "perturbations": "none"},
    "long": {
        "items": 40, "integration": 0, "counterfactual": 0, "seed": 28, "perturbations": "none", "num_docs": 100,
        "supporting": 1, "lang": "en",
    },
}  # fmt: skip


def write_synthetic(folder: Path) -> None:
    """Generate the synthetic data of the study, one subfolder for each set of parameters."""
    for name, parameters in SYNTHETIC.items():
        ragbed.synthesize(**parameters, out=folder / name, progress=False)


def hash_prompts(cases: Iterable[Case]) -> str:
    """Return the SHA-256 of the names and messages of all cases, sorted by name."""
    digest = hashlib.sha256()
    for case in sorted(cases, key=lambda case: case.case):
        digest.update(msgspec.json.encode([case.case, case.messages]))
    return digest.hexdigest()


def generate_cases(settings: Mapping[str, str], folder: Path) -> list[Case]:
    """Return the cases of a run with these settings."""
    testbeds, limit = settings["testbeds"], settings["limit"]
    noise = settings["noise"]
    spec = ragbed.RunSpec(
        model="scripted/oracle",
        data=[str(path) for path in find_data(settings, folder)],
        testbeds=None if testbeds == "all" else testbeds,
        noise=None if noise == "default" else noise,
        true_ratio=settings["correct"],
        distractors=settings["arms"],
        positions="all" if settings["rotations"] == "all" else "balanced",
        profile=settings["profile"],
        seed=int(settings["seed"]),
        limit=None if limit == "none" else int(limit),
        strategies=settings.get("remedies"),
        num_docs=settings["docs"] if testbeds == "length" else None,
    )
    job = ragbed.plan_run(spec, message=lambda _: None)  # testbeds that do not apply to a file are expected
    try:
        return list(job.cases())
    finally:
        job.close()


@dataclass
class DataFolders:
    """The folders of the data; `rgb` is None if RGB's files are not available."""

    synthetic: Path
    rgb: Path | None

    def find(self, recording: Recording) -> Path | None:
        """Return the folder with a run's data."""
        return self.rgb if recording.is_rgb else self.synthetic / recording.run.run.partition("-")[0]


@contextmanager
def open_data(rgb: Path | None) -> Iterator[DataFolders]:
    """Generate the synthetic data in a temporary folder, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        synthetic = Path(folder) / "synthetic"
        write_synthetic(synthetic)
        yield DataFolders(synthetic, rgb)


def match_cases(recording: Recording, data: Path) -> Iterator[tuple[Case, RecordedTrial]]:
    """Return each trial of a recording with its exact response and its case, which is generated again.

    Raises:
        UsageError: The generated prompts differ from those that were sent.
    """
    cases = generate_cases(recording.run.settings, data)
    if hash_prompts(cases) != recording.run.prompts:
        raise UsageError(
            f"The prompts of {recording.name} differ from those that were sent, because this version of ragbed "
            "generates other cases. Use the version that recorded the run, or record it again (study/record.sh)."
        )
    known = {case.case: case for case in cases}
    return ((known[trial.case], trial) for trial in restore_copies(recording, data).trials)


def to_completion(case: Case, trial: RecordedTrial) -> Completion:
    """Return the recorded response; the messages of later calls follow from the responses to earlier ones."""
    return Completion(
        outcome=trial.outcome,  # type: ignore[arg-type]  # infeasible cases have no response
        reply=_exact(trial.reply),
        finish=trial.finish,
        usage=_usage(trial.usage),
        steps=tuple(_steps(case, trial)),
        error=trial.error,
    )


def _usage(tokens: tuple[int, int] | None) -> dict[str, int] | None:
    return None if tokens is None else dict(zip(("in", "out"), tokens, strict=True))


def _exact(reply: StoredReply | None) -> str | None:
    """Return a response, which must have been restored with `restore_copies`."""
    if isinstance(reply, tuple):
        raise TypeError("a response with references to a data file must be restored first")
    return reply


def _steps(case: Case, trial: RecordedTrial) -> Iterator[Step]:
    flow = flow_of(case) if trial.steps else None
    if flow is None:
        return
    messages = next(flow)
    for number, (stored, usage) in enumerate(trial.steps, 1):
        reply = _exact(stored)
        yield Step(messages=messages, reply=reply, usage=_usage(usage))
        if number < len(trial.steps):
            messages = flow.send(reply or "")
