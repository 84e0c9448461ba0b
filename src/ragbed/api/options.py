"""Options that several API functions share, as keyword parameters with their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from ragbed.api.results import Run
from ragbed.api.spec import CallKeywords, EngineKeywords, LayoutKeywords, MixKeywords, RunSpec
from ragbed.errors import UsageError
from ragbed.io.locations import Place, Url, parse_place

RunLike: TypeAlias = Run | str | Path
"""A run, or its folder."""
RunsLike: TypeAlias = RunLike | Sequence[RunLike]


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(RunSpec)}


def with_defaults(given: LayoutKeywords | MixKeywords | CallKeywords | EngineKeywords) -> RunSpec:
    """Check shared options, and add the defaults of `run` for those that are not given."""
    return RunSpec(data=(), **given)


def several(values: object, parameter: str | None = None) -> list[Any]:
    """Return a value, or the values of a list or tuple, as a list.

    Raises:
        UsageError: There is no value, and a parameter name was passed because one is required.
    """
    found = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if not found and parameter:
        raise UsageError(f"`{parameter}` is empty. Give at least one value.")
    return found


def only_path(value: object) -> Path | None:
    """Return the path if a parameter is a single path or a list with one path, otherwise None."""
    single = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    return Path(single) if isinstance(single, str | Path) else None


def run_folder(run: RunLike) -> Path:
    """Return a run's folder."""
    return run.folder if isinstance(run, Run) else local_path(run)


def _check_given(path: object) -> None:
    if path == "":  # `Path("")` would be the current folder
        raise UsageError("The path is an empty string. Use a file or folder, e.g. '.' for the current folder.")


def local_path(path: str | Path) -> Path:
    """Return a local path, and reject URLs and empty strings.

    Raises:
        UsageError: The path is a URL or an empty string.
    """
    _check_given(path)
    if "://" in str(path):
        raise UsageError(f"{parse_place(str(path))} is a URL. Use a local file or folder.")
    return Path(path)


def to_place(path: str | Path | Url) -> Place:
    """Return a local path, or a URL such as s3://bucket/folder."""
    _check_given(path)
    return path if isinstance(path, Url) else parse_place(str(path))
