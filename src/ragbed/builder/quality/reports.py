"""Measure a dataset or build folder, and write quality reports to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ragbed.builder.funnel import draw_samples
from ragbed.builder.pipeline import read_state
from ragbed.builder.quality import Quality, measure_quality
from ragbed.builder.quality.page import write_page
from ragbed.builder.quality.review_results import read_reviewed
from ragbed.data import Dataset
from ragbed.data.catalog import open_data
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import write_whole

SUFFIXES = (".html", ".json")
_SHOWN = 10  # maximum number of questions to show in each group (accepted, rejected)


def measure(data: str) -> Quality:
    """Measure a dataset or a build folder; for a build, include its step counts and review results."""
    datasets, steps = _open(data)
    quality = measure_quality(datasets, steps, read_reviewed(Path(data)))
    return msgspec.structs.replace(quality, samples=_samples(Path(data))) if steps else quality


def _samples(folder: Path) -> tuple[tuple[str, str, str], ...]:
    accepted, rejected = draw_samples(folder, _SHOWN)
    rows = [("accepted", sample.question, sample.answer) for sample in accepted]
    return (*rows, *((sample.check, sample.question, sample.reason) for sample in rejected))


def check_report_path(path: Path) -> None:
    """Raise an error if a report path has a suffix other than .html or .json."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{option('out', path)}: the name of the report file must end in {' or '.join(SUFFIXES)}.")


def write_quality(path: Path, quality: Quality) -> None:
    """Write a report as JSON or HTML, depending on the file's suffix."""
    with write_whole(path) as sink:
        if path.suffix.lower() == ".json":
            encoded = msgspec.json.encode(quality_values(quality))
            sink.write(msgspec.json.format(encoded, indent=1) + b"\n")
        else:
            sink.write(write_page(quality).encode())


def quality_values(quality: Quality) -> dict[str, Any]:
    """Return a quality report as a dictionary."""
    return {"quality": quality, "ok": not quality.failed}


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
