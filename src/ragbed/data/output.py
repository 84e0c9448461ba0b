"""Open output files for commands that read datasets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOBase
from pathlib import Path
from typing import IO

from ragbed.data import Dataset
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import write_whole


@contextmanager
def open_output(output: Path | IO[bytes], datasets: Sequence[Dataset]) -> Iterator[IO[bytes]]:
    """Open an output file that appears at its path only once it is complete, or use a file that is already open.

    Raises:
        UsageError: The file is one of the datasets, or it is open in text mode.
    """
    if isinstance(output, TextIOBase):
        raise UsageError(
            f"{option('out')} is a file in text mode. Open it in binary mode, e.g. open('cases.jsonl', 'wb'), or pass "
            "its path."
        )
    if not isinstance(output, Path):
        yield output
        output.flush()
        return
    if any(output.resolve() == dataset.path.resolve() for dataset in datasets):
        raise UsageError(f"{option('out', output)} is the input dataset itself. Choose another file.")
    with write_whole(output) as sink:
        yield sink
