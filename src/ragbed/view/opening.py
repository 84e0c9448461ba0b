"""From paths that a user names to open runs, with a process that keeps their indexes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.judge.judging import FOLDER as JUDGES
from ragbed.runner.file import NAME
from ragbed.view.book import Book
from ragbed.view.index import index_path
from ragbed.view.indexing import Indexer, keep_indexes
from ragbed.view.library import Library

_DEPTH = 3
"""Folders below the named one in which runs are looked for."""


def find_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Runs by name: those that are named, and those in folders that are named.

    Raises:
        UsageError: A path holds none.
    """
    found: dict[str, Path] = {}
    for path in paths:
        runs = [path] if (path / NAME).is_file() else list(_inside(path, _DEPTH))
        if not runs:
            problem = "holds no run" if path.is_dir() else "is no folder"
            raise UsageError(f"{path} {problem}; name a run (`ragbed run … --out RUN`) or a folder of runs.")
        for run in runs:
            if run.resolve() not in [known.resolve() for known in found.values()]:
                found[_name(run, path, found)] = run
    return found


def _inside(folder: Path, depth: int) -> Iterator[Path]:
    """Runs below a folder; a run's own judges are not runs to be looked at."""
    if not folder.is_dir() or not depth:
        return
    for entry in sorted(folder.iterdir()):
        if (entry / NAME).is_file():
            yield entry
        elif entry.name != JUDGES:
            yield from _inside(entry, depth - 1)


def _name(run: Path, path: Path, taken: dict[str, Path]) -> str:
    name = run.resolve().name if run == path else str(run.relative_to(path))
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name} ({number})", number + 1
    return unique


@contextmanager
def open_library(runs: dict[str, Path], cache_folder: Path) -> Iterator[Library]:
    """Opens runs, and has a process read them into their indexes for as long as the block lasts."""
    indexes = {name: index_path(run, cache_folder) for name, run in runs.items()}
    for name, run in runs.items():
        Indexer(run, indexes[name]).close()  # what cannot be read or written is said before a page is opened
    child = get_context("spawn").Process(
        target=keep_indexes, args=([(run, indexes[name]) for name, run in runs.items()], os.getpid()), daemon=True
    )
    child.start()
    books = [Book(name, run, indexes[name]) for name, run in runs.items()]
    try:
        yield Library(books)
    finally:
        child.terminate()
        child.join()
        for book in books:
            book.close()
