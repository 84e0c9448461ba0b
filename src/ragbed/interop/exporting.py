"""Export datasets, testbeds and runs in other tools' formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ragbed.data import FORMATS, Dataset
from ragbed.data.output import BinarySink, open_output
from ragbed.errors import UnknownName, UnusedOption, UsageError
from ragbed.interop.exports import DATA_FILES, DATA_FOLDERS, RUN_FILES, RUN_FOLDERS
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.parquet import write_items
from ragbed.interop.exports.records_base import ExportedRun, Written
from ragbed.io.jsonl import write_whole_folder
from ragbed.io.locations import Place
from ragbed.runs.store import open_store


@dataclass(frozen=True)
class ExportTarget:
    """The format and location of an export."""

    to: str
    place: Place | BinarySink

    def folder(self) -> Path:
        """Return the location as a local folder, for formats that write several files."""
        if not isinstance(self.place, Path):
            raise UsageError(
                f"to={self.to} writes several files, which cannot be written to a URL. Write them to a local "
                "folder, then copy the folder."
            )
        return self.place

    def write_file(self, datasets: Sequence[Dataset], write: Callable[[IO[bytes]], Written]) -> Written:
        """Write the export to a single file, which must not be one of the input datasets."""
        with open_output(self.place, datasets) as sink:
            return write(sink)


def export_run(folder: Path, target: ExportTarget, model: str | None, *, canonical: bool) -> Written:
    """Export a run, or only the trials of one of its models."""
    to = target.to
    if to not in {*RUN_FILES, *RUN_FOLDERS}:
        raise UnknownName("run format", to, [*RUN_FILES, *RUN_FOLDERS])
    with open_store(folder, create=False) as store:
        run = ExportedRun(folder, store, model, canonical)
        if to in RUN_FOLDERS:
            with write_whole_folder(target.folder()) as into:
                return RUN_FOLDERS[to](run, into)
        return target.write_file([], lambda sink: RUN_FILES[to](run, sink))


def is_item_format(to: str) -> bool:
    """Return whether a format contains the items of one dataset rather than test cases.

    Raises:
        UnknownName: There is no such format for datasets.
    """
    items = [*FORMATS, "parquet"]
    if to not in (known := [*items, *DATA_FILES, *DATA_FOLDERS]):
        raise UnknownName("format", to, known)
    return to in items


def export_items(datasets: Sequence[Dataset], target: ExportTarget, layout_options: Sequence[str]) -> Written:
    """Export the items of one dataset.

    Args:
        datasets: The dataset.
        target: The format and location.
        layout_options: The test-case options that were given, which do not apply here.
    """
    to = target.to
    if layout_options:
        raise UnusedOption(layout_options[0], f"to={to} exports complete items, not test cases")
    if len(datasets) > 1:
        raise UsageError(
            f"to={to} exports one dataset at a time, but {len(datasets)} datasets were given. Export them separately."
        )
    dataset = datasets[0]
    if to == "parquet":
        return target.write_file(datasets, lambda sink: write_items(dataset, sink))
    written = Written("items")

    def write(sink: IO[bytes]) -> Written:
        for item in dataset.items():
            sink.write(FORMATS[to].to_line(item))
            written.count += 1
        return written

    return target.write_file(datasets, write)


def count_cases(layout: Layout) -> Written:
    """Count test cases without writing them."""
    written = Written("cases")
    written.count = sum(1 for _ in written.conditions.count(layout.all_cases()))
    written.infeasible = written.conditions.infeasible
    return written


def export_cases(layout: Layout, target: ExportTarget) -> Written:
    """Export test cases."""
    to = target.to
    if to not in ("jsonl", "corpora"):
        layout.need_documents(to)
    if to in DATA_FOLDERS:
        with write_whole_folder(target.folder()) as folder:
            return DATA_FOLDERS[to](layout, folder, target.folder())
    return target.write_file(layout.datasets, lambda sink: DATA_FILES[to](layout, sink))
