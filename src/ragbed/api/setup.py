"""Inspect the installation and the response cache."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ragbed import __version__, plugins
from ragbed.api.parameters import checked
from ragbed.api.results import Records
from ragbed.api.tables import TableResult
from ragbed.environment import cache_file, variables
from ragbed.errors import UsageError
from ragbed.testbeds import TESTBEDS
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.models.checks import BackendCheck
    from ragbed.runs.cache_admin import Contents

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
    """

    versions: Mapping[str, str]
    models: Mapping[str, BackendCheck]
    extras: Mapping[str, BackendCheck]
    presets: Mapping[str, Mapping[str, str]]
    plugins: Sequence[Mapping[str, str]]

    def records(self) -> Records:
        """Return one row per provider and extra: whether it works, what was detected, and how to fix any problem."""
        rows = [
            {"kind": kind, "name": name, "works": check.works, "found": check.found, "fix": check.fix}
            for kind, checks in (("model", self.models), ("extra", self.extras))
            for name, check in checks.items()
        ]
        return Records(rows, f"ragbed {self.versions['ragbed']}, Python {self.versions['python']}")


@checked
def doctor() -> DoctorResult:
    """Check which models, extras and plug-ins work on this machine. No model is called and nothing is downloaded.

    Example:
        >>> ragbed.doctor().models["scripted"].works
        True
    """
    from ragbed.models.checks import CHECKS, EXTRAS, check_extra
    from ragbed.models.presets import PRESETS, TESTED

    return DoctorResult(
        {"ragbed": __version__, "python": platform.python_version()},
        {name: check(variables()) for name, check in CHECKS.items()},
        {name: check_extra(name) for name in EXTRAS},
        {
            name: {"weights": preset.repository, "state": TESTED, "loads_with": preset.loads_with}
            for name, preset in PRESETS.items()
        },
        _check_plugins(),
    )


def _check_plugins() -> list[dict[str, str]]:
    """Import each plug-in once, and return every plug-in with its state: "works" or a description of the problem."""
    from ragbed.builder.search import ENGINES
    from ragbed.models import PROVIDERS
    from ragbed.retrieval import ENCODERS
    from ragbed.scoring import TRACKS

    included: dict[plugins.PluginFamily, Mapping[str, Any]] = {
        plugins.MODELS: PROVIDERS,
        plugins.SCORERS: TRACKS,
        plugins.TESTBEDS: TESTBEDS,
        plugins.SEARCH: ENGINES,
        plugins.ENCODERS: ENCODERS,
    }
    return [
        {"family": found.family.name, "name": found.name, "package": found.package, "version": found.version}
        | {"state": problem or "works"}
        for found, problem in plugins.check_plugins(included)
    ]


@dataclass(frozen=True, repr=False)
class CacheContents(TableResult):
    """The contents of the response cache.

    Attributes:
        contents: The cache's path, and the size and number of responses in total and by model.
    """

    contents: Contents

    def records(self) -> Records:
        """Return one row per model: number of responses, size in MB, and dates of the oldest and newest response."""
        shown = f"{self.contents.path}: {counted(self.contents.entries, 'response')}"
        return Records(map(asdict, self.contents.parts), shown)


@checked
def cache() -> CacheContents:
    """Return the number of cached responses per model.

    Example:
        >>> ragbed.cache().contents.entries >= 0
        True
    """
    from ragbed.runs.cache_admin import look

    return CacheContents(look(cache_file()))


@checked
def cache_prune(*, older_than: str | None = None, all_: bool = False) -> int:
    """Remove responses from the cache, and return how many were removed.

    Args:
        older_than: Remove cached responses older than this age, e.g. 12h, 30d or 8w.
        all_: Remove all cached responses.

    Example:
        >>> ragbed.cache_prune(older_than="52w")
        0
    """
    from ragbed.runs.cache_admin import prune

    if (older_than is None) is not all_:
        raise UsageError("Set either older_than=AGE or `all_`, but not both.")
    age = re.fullmatch(r"([0-9]+)([hdw])", ("0h" if older_than is None else older_than).strip())
    if age is None:
        raise UsageError(f"older_than={older_than!r} is not valid. Use a number followed by h, d or w, e.g. 30d.")
    return prune(cache_file(), float(int(age[1]) * _UNIT_S[age[2]]))
