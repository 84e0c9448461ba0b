"""Options that several API functions share, as keyword parameters with their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast

from ragbed.api.layout import Values
from ragbed.api.runs import Run
from ragbed.errors import UsageError
from ragbed.io.locations import Place, Url, parse_place

if TYPE_CHECKING:
    from ragbed.api.calling import CallOptions
    from ragbed.api.layout import LayoutOptions, MixOptions

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


DEFAULTS: Mapping[str, Any] = {
    "noise": None,
    "num_docs": None,
    "true_ratio": "0",
    "testbeds": None,
    "distractors": "related",
    "positions": "balanced",
    "profile": "robust",
    "lang": "en,zh",
    "limit": None,
    "seed": 0,
    "prompt": None,
    "engine": "local",
    "cluster": None,
    "replicas": None,
    "gpus_per_replica": None,
    "cpus_per_replica": None,
    "max_connections": None,
    "rpm": None,
    "tpm": None,
    "timeout": 120.0,
    "budget": None,
    "no_cache": False,
}


def call_options(given: CallKeywords | EngineKeywords) -> CallOptions:
    """Return all options for calls, with defaults for those that are not given."""
    return cast("CallOptions", _complete(CallKeywords, given))


def mix_options(given: MixKeywords) -> MixOptions:
    """Return all options for the documents of a case, with defaults for those that are not given."""
    return cast("MixOptions", _complete(MixKeywords, given))


def layout_options(given: LayoutKeywords) -> LayoutOptions:
    """Return all options for test cases, with defaults for those that are not given."""
    options = _complete(LayoutKeywords, given)
    if options["prompt"] is not None:
        options["prompt"] = local_path(options["prompt"])
    return cast("LayoutOptions", options)


def _complete(kind: type, given: Mapping[str, object]) -> dict[str, Any]:
    return {name: given.get(name, DEFAULTS[name]) for name in kind.__annotations__}


def several(values: object) -> list[Any]:
    """Return a value, or the values of a list or tuple, as a list."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


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
