"""Measure a dataset or build folder, compare two editions, and write quality reports to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ragbed.analysis.run_cells import read_trials
from ragbed.builder.funnel import draw_samples
from ragbed.builder.pipeline import read_state
from ragbed.builder.quality import MeasureFamily, Quality, measure_quality
from ragbed.builder.quality.drift import Drift, compare_editions
from ragbed.builder.quality.models import Answered, Way
from ragbed.builder.quality.page import write_page
from ragbed.builder.quality.review_results import read_reviewed
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.errors import UsageError
from ragbed.io.jsonl import write_whole
from ragbed.scoring import open_tracks
from ragbed.testbeds.prompts.strategies import MARK

SUFFIXES = (".html", ".json")
_SHOWN = 10  # maximum number of questions to show in each group (accepted, rejected)
# The testbeds in which every response is either right or wrong.
_WAYS: dict[str, Way] = {"noise": "with documents", "integration": "with documents", "closed-book": "closed book"}


def measure(data: str, more: Mapping[str, MeasureFamily] | None = None) -> Quality:
    """Measure a dataset or a build folder; for a build, include its step counts and review results."""
    datasets, steps = _open(data)
    quality = measure_quality(datasets, steps, read_reviewed(Path(data)), more)
    return msgspec.structs.replace(quality, samples=_samples(Path(data))) if steps else quality


def _samples(folder: Path) -> tuple[tuple[str, str, str], ...]:
    accepted, rejected = draw_samples(folder, _SHOWN)
    rows = [("accepted", sample.question, sample.answer) for sample in accepted]
    return (*rows, *((sample.check, sample.question, sample.reason) for sample in rejected))


def measure_drift(before: str, after: str, quality: Quality) -> Drift:
    """Compare a dataset's quality report with that of an earlier edition."""
    earlier, _ = _open(before)
    return compare_editions(measure_quality(earlier), quality, earlier, _open(after)[0])


def check_report_path(path: Path) -> None:
    """Raise an error if a report path has a suffix other than .html or .json."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"out={path}: the name of the report file must end in {' or '.join(SUFFIXES)}.")


def write_quality(path: Path, quality: Quality, drift: Drift | None = None) -> None:
    """Write a report as JSON or HTML, depending on the file's suffix."""
    with write_whole(path) as sink:
        if path.suffix.lower() == ".json":
            encoded = msgspec.json.encode(quality_values(quality, drift))
            sink.write(msgspec.json.format(encoded, indent=1) + b"\n")
        else:
            sink.write(write_page(quality, drift).encode())


def quality_values(quality: Quality, drift: Drift | None = None) -> dict[str, Any]:
    """Return a quality report as a dictionary."""
    return {"quality": quality, "ok": not quality.failed, "drift": drift}


def write_build_quality(folder: Path) -> Quality | None:
    """Write quality.html and quality.json to a build's folder; return None if the folder has no items."""
    if not any(folder.glob("*.jsonl")):
        return None
    quality = measure(str(folder))
    for suffix in SUFFIXES:
        write_quality(folder / f"quality{suffix}", quality)
    return quality


def _open(data: str) -> tuple[list[Dataset], dict[str, tuple[int, int]]]:
    """Return the datasets for a name or build folder, and the input and output counts of the build's steps."""
    folder = Path(data)
    if not folder.is_dir():
        return open_data([data]), {}
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{folder} contains no item files (*.jsonl). Choose a dataset or a build folder.")
    state = read_state(folder)
    steps = {name: (done.entered, done.made) for name, done in state.steps.items()} if state else {}
    return open_data([str(file) for file in files]), steps


def read_answers(folders: Sequence[Path]) -> Iterator[Answered]:
    """Yield the scored trials that use the plain prompt and related distractors; errors count as wrong answers."""
    score = open_tracks(())
    for folder in folders:
        for _, trial in read_trials(folder, score):
            is_plain = MARK not in trial.profile and trial.arm == "related"
            if trial.testbed in _WAYS and trial.outcome != "infeasible" and is_plain:
                right = False if trial.scores is None else trial.scores["correct"]
                if isinstance(right, bool):
                    yield Answered(trial.data, trial.item, trial.model, _WAYS[trial.testbed], right)
