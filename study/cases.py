"""Generate the test cases of a recorded run again, from synthetic data that is generated again or from RGB's files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

import ragbed
from ragbed.errors import UsageError
from ragbed.schema import Case

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


def find_data(settings: Mapping[str, str], folder: Path) -> list[Path]:
    """Return the data files of a run, in the order of the run, after checking their hashes.

    Raises:
        UsageError: A file is missing or differs from the recorded one.
    """
    found = []
    for name, expected in settings.items():
        if name.startswith("data "):
            data = name.removeprefix("data ")
            path = next((path for path in sorted(folder.glob(f"{data}.json*"))), folder / data)
            if not path.is_file():
                raise UsageError(f"{folder} does not contain the file {data}, which the run used.")
            actual = hashlib.sha256(path.read_bytes()).hexdigest()
            if actual != expected:
                raise UsageError(f"{path} has the SHA-256 {actual}, but the run used {expected}.")
            found.append(path)
    return found


def generate_cases(settings: Mapping[str, str], folder: Path) -> list[Case]:
    """Return the cases of a run with these settings."""
    testbeds, limit = settings["testbeds"], settings["limit"]
    noise, confidence = settings["noise"], settings.get("confidence")
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
        strategies=None if confidence == "stated" else settings.get("remedies"),
        num_docs=settings["docs"] if testbeds == "length" else None,
        confidence=confidence if confidence == "stated" else None,  # only stated confidence changes the prompts
    )
    job = ragbed.plan_run(spec, message=lambda _: None)  # testbeds that do not apply to a file are expected
    try:
        return list(job.cases())
    finally:
        job.close()
