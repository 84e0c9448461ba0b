"""Output files of commands that read datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ragbed.data import Dataset
from ragbed.errors import UsageError
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import Place


@contextmanager
def open_output(output: Place | IO[bytes], datasets: Sequence[Dataset]) -> Iterator[IO[bytes]]:
    """Open a file that appears when it is complete, or use an open one.

    Raises:
        UsageError: The file is one of the datasets.
    """
    if hasattr(output, "write"):
        yield output
        output.flush()
        return
    if any(_is_same(output, dataset.path) for dataset in datasets):
        raise UsageError(f"--out {output} is the dataset itself; name another file.")
    with write_whole(output) as sink:
        yield sink


def _is_same(place: Place, other: Place) -> bool:
    if isinstance(place, Path) and isinstance(other, Path):
        return place.resolve() == other.resolve()
    return place == other
