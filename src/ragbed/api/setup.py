"""Inspect the installation, and prune the response cache."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragbed import __version__, plugins
from ragbed.api.job_specs import DoctorSpec
from ragbed.api.specification import takes
from ragbed.environment import cache_file, variables
from ragbed.errors import RagbedError, UsageError, option
from ragbed.reporting.table import Result, Table
from ragbed.runs.cache import CacheSize, look, prune
from ragbed.testbeds import TESTBEDS
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.models.checks import BackendCheck

_UNIT_S = {"h": 3600, "d": 86_400, "w": 604_800}


@takes(DoctorSpec)
def doctor(spec: DoctorSpec) -> Result:
    """Check which models, extras and plug-ins work on this machine, and measure the response cache.

    No model is called and nothing is downloaded.

    Example:
        >>> ragbed.doctor()["models"]["scripted"].works
        True
    """
    from ragbed.models.checks import CHECKS, EXTRAS, check_extra
    from ragbed.models.presets import PRESETS, TESTED

    removed, problem = 0, ""
    if spec.prune_cache is not None:
        age = re.fullmatch(r"([0-9]+)([hdw])", spec.prune_cache.strip())
        if age is None:
            raise UsageError(
                f"{option('prune_cache', repr(spec.prune_cache))} is not valid. Use a number followed by h, d or w, "
                "e.g. 30d."
            )
        removed = prune(cache_file(), float(int(age[1]) * _UNIT_S[age[2]]))
    try:
        cache = look(cache_file())
    except RagbedError as error:  # a damaged cache must not prevent the other checks
        cache, problem = CacheSize(str(cache_file())), str(error)
    models = {name: check(variables()) for name, check in CHECKS.items()}
    extras, found = {name: check_extra(name) for name in EXTRAS}, _check_plugins()
    presets = {
        name: {"weights": preset.repository, "state": TESTED, "loads_with": preset.loads_with}
        for name, preset in PRESETS.items()
    }

    def show(check: BackendCheck) -> dict[str, str]:
        return {"state": "works" if check.works else "missing", "found": check.found, "fix": check.fix}

    tables = [
        Table([{"model": f"{name}/"} | show(check) for name, check in models.items()], "Models"),
        Table([{"extra": name, "for": EXTRAS[name][0]} | show(check) for name, check in extras.items()], "Extras"),
        Table(
            [
                {"preset": name} | {key.replace("_", " "): value for key, value in preset.items()}
                for name, preset in presets.items()
            ],
            "Presets",
        ),
        *([Table(found, "Plug-ins")] if found else []),
    ]
    stored = f"{counted(cache.entries, 'response')}, {cache.megabytes:.1f} MB, in {cache.path}"
    pruned = f"; {counted(removed, 'older response')} removed" if removed else ""
    last = f"\nResponse cache: {problem or f'{stored}{pruned}.'}"
    versions = {"ragbed": __version__, "python": platform.python_version()}
    return Result(
        [f"ragbed {__version__}, Python {versions['python']}, {platform.platform()}", *tables, last],
        values={**versions, "models": models, "extras": extras, "presets": presets, "plugins": found}
        | {"cache": cache._asdict() | {"problem": problem, "removed": removed}},
    )


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
