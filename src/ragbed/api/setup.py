"""Inspect the installation, and prune the response cache."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragbed import __version__, plugins
from ragbed.api.parameters import checked
from ragbed.api.results import Records
from ragbed.api.tables import TableResult
from ragbed.environment import cache_file, variables
from ragbed.errors import RagbedError, UsageError
from ragbed.runs.cache import CacheSize, look, prune
from ragbed.testbeds import TESTBEDS

if TYPE_CHECKING:
    from ragbed.models.checks import BackendCheck

_UNIT_S = {"h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, repr=False)
class DoctorResult(TableResult):
    """The results of checking this installation.

    Attributes:
        versions: Versions of ragbed and Python.
        models: Check results for model providers, by model-string prefix.
        extras: Check results for optional extras.
        presets: Presets for the systems in the paper.
        plugins: Plug-ins from other packages.
        cache: The path of the response cache, and the number and size of its responses.
        cache_problem: The reason why the cache cannot be used; empty if it can.
        removed: Number of cached responses that this call removed.
    """

    versions: Mapping[str, str]
    models: Mapping[str, BackendCheck]
    extras: Mapping[str, BackendCheck]
    presets: Mapping[str, Mapping[str, str]]
    plugins: Sequence[Mapping[str, str]]
    cache: CacheSize
    cache_problem: str = ""
    removed: int = 0

    def records(self) -> Records:
        """Return one row per provider and extra: whether it works, what was detected, and how to fix any problem."""
        rows = [
            {"kind": kind, "name": name, "works": check.works, "found": check.found, "fix": check.fix}
            for kind, checks in (("model", self.models), ("extra", self.extras))
            for name, check in checks.items()
        ]
        return Records(rows, f"ragbed {self.versions['ragbed']}, Python {self.versions['python']}")


@checked
def doctor(*, prune_cache: str | None = None) -> DoctorResult:
    """Check which models, extras and plug-ins work on this machine, and measure the response cache.

    No model is called and nothing is downloaded.

    Args:
        prune_cache: Remove cached responses that are older than this age first, e.g. 12h, 30d or 8w; 0d removes all.

    Example:
        >>> ragbed.doctor().models["scripted"].works
        True
    """
    from ragbed.models.checks import CHECKS, EXTRAS, check_extra
    from ragbed.models.presets import PRESETS, TESTED

    removed = 0 if prune_cache is None else prune(cache_file(), _read_age(prune_cache))
    cache, problem = _look_at_cache()
    return DoctorResult(
        {"ragbed": __version__, "python": platform.python_version()},
        {name: check(variables()) for name, check in CHECKS.items()},
        {name: check_extra(name) for name in EXTRAS},
        {
            name: {"weights": preset.repository, "state": TESTED, "loads_with": preset.loads_with}
            for name, preset in PRESETS.items()
        },
        _check_plugins(),
        cache,
        problem,
        removed,
    )


def _read_age(prune_cache: str) -> float:
    """Return an age in seconds."""
    age = re.fullmatch(r"([0-9]+)([hdw])", prune_cache.strip())
    if age is None:
        raise UsageError(f"prune_cache={prune_cache!r} is not valid. Use a number followed by h, d or w, e.g. 30d.")
    return float(int(age[1]) * _UNIT_S[age[2]])


def _look_at_cache() -> tuple[CacheSize, str]:
    """Measure the cache; a damaged cache must not prevent the other checks."""
    try:
        return look(cache_file()), ""
    except RagbedError as error:
        return CacheSize(str(cache_file())), str(error)


def _check_plugins() -> list[dict[str, str]]:
    """Import each plug-in once, and return every plug-in with its state: "works" or a description of the problem."""
    from ragbed.builder.search import ENGINES
    from ragbed.models import PROVIDERS
    from ragbed.retrieval import ENCODERS
    from ragbed.scoring import SCORERS

    included: dict[plugins.PluginFamily, Mapping[str, Any]] = {
        plugins.MODELS: PROVIDERS,
        plugins.SCORERS: SCORERS,
        plugins.TESTBEDS: TESTBEDS,
        plugins.SEARCH: ENGINES,
        plugins.ENCODERS: ENCODERS,
    }
    return [
        {"family": found.family.name, "name": found.name, "package": found.package, "version": found.version}
        | {"state": problem or "works"}
        for found, problem in plugins.check_plugins(included)
    ]
