"""Find the runs in the paths given by a user, and give each run a unique name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.text import storable_name

_DEPTH = 3  # Maximum depth of subfolders to search.
_NAME_A_RUN = "choose a run (`ragbed run … --out RUN`) or a folder of runs."


def check_paths(paths: Sequence[Path]) -> None:
    """Raise an error if a path is not a folder."""
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder; {_NAME_A_RUN}")


def need_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the runs in the given folders, by name.

    Raises:
        UsageError: A path contains no run.
    """
    check_paths(paths)
    for path in paths:
        if not find_runs([path]):
            raise UsageError(f"{path} contains no run; {_NAME_A_RUN}")
    return find_runs(paths)


def runs_in(paths: Sequence[Path]) -> list[Path]:
    """Return the runs in the given folders. A path without a run is included, so that opening it raises an error."""
    return [run for path in paths for run in find_runs([path]).values() or [path]]


def find_runs(paths: Sequence[Path], known: Mapping[str, Path] | None = None) -> dict[str, Path]:
    """Return runs by name: those given directly, and those in the given folders.

    Args:
        paths: Runs, and folders that contain runs.
        known: Runs from an earlier call, which keep their names.
    """
    found = {name: run for name, run in (known or {}).items() if (run / NAME).is_file()}
    seen = {run.resolve() for run in found.values()}
    for path in paths:
        for run in [path] if (path / NAME).is_file() else _inside(path, _DEPTH):
            if run.resolve() not in seen:
                seen.add(run.resolve())
                found[_unique_name(run, path, found)] = run
    return found


def _inside(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the runs below a folder, excluding judges' runs."""
    if not depth:
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:  # The path is not a folder, was deleted in the meantime, or is not readable.
        return
    for entry in entries:
        if (entry / NAME).is_file():
            yield entry
        elif entry.name != JUDGES:
            yield from _inside(entry, depth - 1)


def _unique_name(run: Path, path: Path, taken: Mapping[str, Path]) -> str:
    name = storable_name(run.resolve().name if run == path else str(run.relative_to(path)))
    candidates = (name if number == 1 else f"{name} ({number})" for number in count(1))
    return next(candidate for candidate in candidates if candidate not in taken)
