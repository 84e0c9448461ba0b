"""From paths that a user names to runs, each with a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ragbed.analysis.judging.judge_run import FOLDER as JUDGES
from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.text import storable_name

_DEPTH = 3
"""Folders below the named one in which runs are looked for."""
_NAME_A_RUN = "name a run (`ragbed run … --out RUN`) or a folder of runs."


def check_paths(paths: Sequence[Path]) -> None:
    """Raises what is wrong with paths in which no run can be, nor appear."""
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is no folder; {_NAME_A_RUN}")


def need_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Runs by name, of which there must be some.

    Raises:
        UsageError: A path holds none.
    """
    check_paths(paths)
    for path in paths:
        if not find_runs([path]):
            raise UsageError(f"{path} holds no run; {_NAME_A_RUN}")
    return find_runs(paths)


def runs_in(paths: Sequence[Path]) -> list[Path]:
    """Return the runs in these folders; a path without a run stays, so that opening it says what is wrong."""
    return [run for path in paths for run in find_runs([path]).values() or [path]]


def find_runs(paths: Sequence[Path], known: Mapping[str, Path] | None = None) -> dict[str, Path]:
    """Runs by name: those that are named, and those in folders that are named.

    Args:
        paths: Where to look.
        known: Those of an earlier look, which keep their names.
    """
    found = {name: run for name, run in (known or {}).items() if (run / NAME).is_file()}
    seen = {run.resolve() for run in found.values()}
    for path in paths:
        for run in [path] if (path / NAME).is_file() else _inside(path, _DEPTH):
            if run.resolve() not in seen:
                seen.add(run.resolve())
                found[_name(run, path, found)] = run
    return found


def _inside(folder: Path, depth: int) -> Iterator[Path]:
    """Runs below a folder; a run's own judges are not runs to be looked at."""
    if not depth:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # no folder, gone meanwhile, or not for us
        return
    for entry in entries:
        if (entry / NAME).is_file():
            yield entry
        elif entry.name != JUDGES:
            yield from _inside(entry, depth - 1)


def _name(run: Path, path: Path, taken: Mapping[str, Path]) -> str:
    name = storable_name(run.resolve().name if run == path else str(run.relative_to(path)))
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name} ({number})", number + 1
    return unique
