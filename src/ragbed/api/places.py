"""Read runs, files and folders given to API functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ragbed.api.results import Run
from ragbed.api.specification import check_path
from ragbed.errors import UsageError, option

RunLike: TypeAlias = Run | str | Path
"""A run, or its folder."""
RunsLike: TypeAlias = RunLike | Sequence[RunLike]


def several(values: object, parameter: str | None = None) -> list[Any]:
    """Return a value, or the values of a list or tuple, as a list.

    Raises:
        UsageError: There is no value, and a parameter name was passed because one is required.
    """
    found = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    if not found and parameter:
        raise UsageError(f"{option(parameter)} is empty. Give at least one value.")
    return found


def only_path(value: object) -> Path | None:
    """Return the path if a parameter is a single path or a list with one path, otherwise None."""
    single = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    return Path(single) if isinstance(single, str | Path) else None


def run_folder(run: RunLike, name: str = "run") -> Path:
    """Return the folder of a run that a parameter gives."""
    if isinstance(run, Run):
        return run.folder
    if not isinstance(run, str | Path):
        raise UsageError(f"{option(name, repr(run))} is not a run. Use a Run, or the path of its folder.")
    return check_path(name, run)
