"""Benchmark how LLMs and RAG systems cope with noisy, missing, scattered or false context.

Example:
    >>> import ragbed
    >>> run = ragbed.run(model="scripted/oracle", data="ragbed-mini-en_base", limit=20)
    >>> run.table("noise")
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - pip checks this, but a copy of the source can be used without pip
    raise ImportError(
        ("ragbed requires Python 3.11 or newer, but this is Python %d.%d; use a newer Python, e.g. with `uvx ragbed`.")  # noqa: UP031
        % sys.version_info[:2]
    )

# Type checkers treat `TYPE_CHECKING` as true. Importing the constant from `typing` would load a dozen modules before a
# command starts, and with `python -m ragbed`, a file in the current folder could shadow one of these modules.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from ragbed.api.analysis import compare, diagnose, judge, power, rank
    from ragbed.api.building import build, build_init, build_quality
    from ragbed.api.data_objects import build_qa
    from ragbed.api.datasets import cases, datasets, download, lint, synthesize
    from ragbed.api.demo import demo
    from ragbed.api.objects import system
    from ragbed.api.planning import plan_run
    from ragbed.api.progress import Progress
    from ragbed.api.reports import report
    from ragbed.api.results import Figure, Run
    from ragbed.api.run_status import status
    from ragbed.api.runs import forecast, open_run, run
    from ragbed.api.serving import review, view
    from ragbed.api.setup import doctor
    from ragbed.api.sharing import export, import_results, merge
    from ragbed.api.spec import RunSpec
    from ragbed.errors import RagbedError, UsageError
    from ragbed.models.base import Model
    from ragbed.models.systems import SystemCase
    from ragbed.reporting.table import Table
    from ragbed.schema import Case, Completion
else:  # Hidden from type checkers, because `__getattr__` would make them accept any attribute name.
    _MODULES = {
        "api.analysis": ("compare", "diagnose", "judge", "power", "rank"),
        "api.building": ("build", "build_init", "build_quality"),
        "api.data_objects": ("build_qa",),
        "api.datasets": ("cases", "datasets", "download", "lint", "synthesize"),
        "api.demo": ("demo",),
        "api.objects": ("system",),
        "api.planning": ("plan_run",),
        "api.progress": ("Progress",),
        "api.reports": ("report",),
        "api.results": ("Figure", "Run"),
        "api.run_status": ("status",),
        "api.runs": ("forecast", "open_run", "run"),
        "api.serving": ("review", "view"),
        "api.setup": ("doctor",),
        "api.sharing": ("export", "import_results", "merge"),
        "api.spec": ("RunSpec",),
        "errors": ("RagbedError", "UsageError"),
        "models.base": ("Model",),
        "models.systems": ("SystemCase",),
        "reporting.table": ("Table",),
        "schema": ("Case", "Completion"),
    }
    _SOURCES = {name: module for module, names in _MODULES.items() for name in names}

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used, so that `import ragbed` stays fast."""
        if name not in _SOURCES:
            raise AttributeError(f"module 'ragbed' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415

        value = globals()[name] = getattr(import_module(f"ragbed.{_SOURCES[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted([*__all__, "__version__"])


__all__ = [
    "Case",
    "Completion",
    "Figure",
    "Model",
    "Progress",
    "RagbedError",
    "Run",
    "RunSpec",
    "SystemCase",
    "Table",
    "UsageError",
    "build",
    "build_init",
    "build_qa",
    "build_quality",
    "cases",
    "compare",
    "datasets",
    "demo",
    "diagnose",
    "doctor",
    "download",
    "export",
    "forecast",
    "import_results",
    "judge",
    "lint",
    "merge",
    "open_run",
    "plan_run",
    "power",
    "rank",
    "report",
    "review",
    "run",
    "status",
    "synthesize",
    "system",
    "view",
]
__version__ = "0.1.0"
