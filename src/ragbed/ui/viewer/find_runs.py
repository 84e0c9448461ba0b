"""Find the runs in the paths given by a user, and give each run a unique name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path

from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.text import storable_name

_DEPTH = 3  # Maximum depth of subfolders to search.


def need_runs(paths: Sequence[Path], *, now: bool = True) -> dict[str, Path]:
    """Return the runs in the given folders, by name.

    Raises:
        UsageError: A path is not a folder or, if runs are needed now, contains no run.
    """
    for path in paths:
        if not path.is_dir() or (now and not find_runs([path])):
            problem = "contains no run" if path.is_dir() else "is not a folder"
            raise UsageError(f"{path} {problem}; choose a run (`ragbed run … --out RUN`) or a folder of runs.")
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
        for run in [path] if (path / NAME).is_file() else _inside(path):
            if run.resolve() not in seen:
                seen.add(run.resolve())
                name = storable_name(run.resolve().name if run == path else str(run.relative_to(path)))
                names = chain([name], (f"{name} ({number})" for number in count(2)))
                found[next(one for one in names if one not in found)] = run
    return found


def _inside(folder: Path) -> list[Path]:
    """Return the runs below a folder, excluding judges' runs."""
    found = (file.parent for depth in range(1, _DEPTH + 1) for file in folder.glob("*/" * depth + NAME))
    return sorted(run for run in found if JUDGES not in run.relative_to(folder).parts)
