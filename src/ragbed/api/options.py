"""Options that several API functions share, as keyword parameters with their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ragbed.api.layout import Values
from ragbed.api.results import Run
from ragbed.api.spec import RunSpec
from ragbed.errors import UsageError
from ragbed.io.locations import Place, Url, parse_place

if TYPE_CHECKING:
    from ragbed.api.calling import CallOptions
    from ragbed.api.layout import LayoutOptions

RunLike: TypeAlias = Run | str | Path
"""A run, or its folder."""
RunsLike: TypeAlias = RunLike | Sequence[RunLike]


class MixKeywords(TypedDict, total=False):
    """Options that choose the documents of a case."""

    noise: Values | None
    num_docs: int | None
    true_ratio: Values


class LayoutKeywords(MixKeywords, total=False):
    """Options that choose the test cases, as in `run`."""

    testbeds: Values | None
    distractors: Values
    positions: str
    profile: str
    lang: Values
    limit: str | float | None
    seed: int
    prompt: str | Path | None


class EngineKeywords(TypedDict, total=False):
    """Options that choose where the work runs."""

    engine: str
    cluster: str | None


class CallKeywords(EngineKeywords, total=False):
    """Options of every function that calls models, as in `run`."""

    replicas: int | None
    gpus_per_replica: float | None
    cpus_per_replica: float | None
    max_connections: int | None
    rpm: int | None
    tpm: int | None
    timeout: float
    budget: float | None
    no_cache: bool
    reasoning_effort: str | None
    thinking: str | None
    extra_body: str | Mapping[str, Any] | None
    header: str | Sequence[str]
    seed_model: int | None


DEFAULTS: Mapping[str, Any] = {field.name: field.default for field in fields(RunSpec)}


def call_options(given: CallKeywords | EngineKeywords) -> CallOptions:
    """Return all options for calls, checked, with the defaults of `run` for those that are not given."""
    return RunSpec(data=(), **given).calls


def layout_options(given: LayoutKeywords | MixKeywords) -> LayoutOptions:
    """Return all options for test cases, checked, with the defaults of `run` for those that are not given."""
    return RunSpec(data=(), **given).layout


def several(values: object) -> list[Any]:
    """Return a value, or the values of a list or tuple, as a list."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def only_path(value: object) -> Path | None:
    """Return the path of a parameter that is one path, or a list with one path; None for anything else."""
    single = value[0] if isinstance(value, list | tuple) and len(value) == 1 else value
    return Path(single) if isinstance(single, str | Path) else None


def run_folder(run: RunLike) -> Path:
    """Return the folder of a run."""
    return run.folder if isinstance(run, Run) else local_path(run)


def local_path(path: str | Path) -> Path:
    """Return a path on this machine.

    Raises:
        UsageError: It is a URL.
    """
    if "://" in str(path):
        raise UsageError(f"{parse_place(str(path))} is a URL; a local file or folder is needed here.")
    return Path(path)


def to_place(path: str | Path | Url) -> Place:
    """Return a local path, or a URL such as s3://bucket/folder."""
    return path if isinstance(path, Url) else parse_place(str(path))
