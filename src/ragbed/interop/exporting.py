"""Export datasets, testbeds and runs in other tools' formats.

To add a format, write a function in `exports` and register it in one of the tables below. A library that only one
format needs is imported inside that format's function; if it is missing, the error gives the install command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import msgspec

from ragbed.data import FORMATS, Dataset
from ragbed.data.output import open_output
from ragbed.errors import UnknownName, UsageError, option, refuse_unused
from ragbed.interop.exports import archive, corpora, harness_tasks, hf, original_code, parquet
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.io.jsonl import write_whole_folder
from ragbed.runs.store import open_store
from ragbed.runs.trials import trial_line


def write_trials(run: ExportedRun, sink: IO[bytes]) -> Written:
    """Write one line per trial: the case, the response and the scores."""
    written = Written("trials")
    sink.writelines(trial_line(result, scores, canonical=run.canonical) for result, scores in run.trials(written))
    return written


# Formats that write a frozen testbed to a folder. The folder has a temporary name until it is complete.
DATA_FOLDERS: dict[str, Callable[[Layout, Path, Path], Written]] = {
    "inspect": harness_tasks.write_inspect,
    "lm-eval": harness_tasks.write_lm_eval,
    "hf": hf.write_folder,
    "corpora": corpora.write_corpora,
}
# Formats that write a run to a single file.
RUN_FILES: dict[str, Callable[[ExportedRun, IO[bytes]], Written]] = {
    "jsonl": write_trials,
    "parquet": parquet.write_trials,
    "archive": archive.write_run,
}
# Formats that write a run to a folder.
RUN_FOLDERS: dict[str, Callable[[ExportedRun, Path], Written]] = {"rgb": original_code.write_folder}


def export_run(
    folder: Path, to: str, place: Path | IO[bytes], model: str | None, scorer: str | None, *, canonical: bool
) -> Written:
    """Export a run, or only the trials of one of its models, with the scores of a scorer that is not built in."""
    if to not in {*RUN_FILES, *RUN_FOLDERS}:
        raise UnknownName("run format", to, [*RUN_FILES, *RUN_FOLDERS])
    if scorer is not None and to not in ("jsonl", "parquet"):
        refuse_unused("scorer", f"{to} has no scores of other scorers. Use {option('to', 'jsonl')} or parquet")
    with open_store(folder, create=False) as store:
        run = ExportedRun(folder, store, model, canonical, scorer)
        if to in RUN_FOLDERS:
            with write_whole_folder(_need_folder(to, place)) as into:
                return RUN_FOLDERS[to](run, into)
        with open_output(place, []) as sink:
            return RUN_FILES[to](run, sink)


def _need_folder(to: str, place: Path | IO[bytes]) -> Path:
    if not isinstance(place, Path):
        raise UsageError(f"{option('to', to)} writes several files. Use the path of a new folder.")
    return place


def is_item_format(to: str) -> bool:
    """Return whether a format contains the items of one dataset rather than test cases.

    Raises:
        UnknownName: There is no such format for datasets.
    """
    if to not in (known := [*FORMATS, "jsonl", *DATA_FOLDERS]):
        raise UnknownName("format", to, known)
    return to in FORMATS


def export_items(
    datasets: Sequence[Dataset], to: str, place: Path | IO[bytes], layout_options: Sequence[str]
) -> Written:
    """Export the items of one dataset.

    Args:
        datasets: The dataset.
        to: The format.
        place: The file, which must not be that of the dataset.
        layout_options: The test-case options that were given, which do not apply here.
    """
    for name in layout_options:
        refuse_unused(name, f"{option('to', to)} exports complete items, not test cases")
    if len(datasets) > 1:
        raise UsageError(
            f"{option('to', to)} exports one dataset at a time, but {len(datasets)} datasets were given. Export them "
            "separately."
        )
    written = Written("items")
    with open_output(place, datasets) as sink:
        for item in datasets[0].items():
            sink.write(FORMATS[to].to_line(item))
            written.count += 1
    return written


def count_cases(layout: Layout) -> Written:
    """Count test cases without writing them."""
    written = Written("cases")
    written.count = sum(1 for _ in written.conditions.count(layout.all_cases()))
    written.infeasible = written.conditions.infeasible
    return written


def export_cases(layout: Layout, to: str, place: Path | IO[bytes]) -> Written:
    """Export test cases: as lines, which include infeasible cases, or as a folder of another tool."""
    if to in DATA_FOLDERS:
        if to != "corpora":
            layout.need_documents(to)
        out = _need_folder(to, place)
        with write_whole_folder(out) as folder:
            return DATA_FOLDERS[to](layout, folder, out)
    written, encoder = Written("cases"), msgspec.json.Encoder()
    with open_output(place, layout.datasets) as sink:
        for case in written.conditions.count(layout.cases()):
            written.count += 1
            sink.write(encoder.encode(case) + b"\n")
    written.infeasible = written.conditions.infeasible
    return written
