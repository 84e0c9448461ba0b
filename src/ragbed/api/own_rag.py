"""Choose the own-rag testbed and its variants for a run's systems, and state what the testbeds provide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragbed.api.objects import ModelSource, System
from ragbed.errors import option, refuse_unused
from ragbed.testbeds import Testbed
from ragbed.testbeds.own_rag import CLEAN, NAME, WITHHELD

if TYPE_CHECKING:
    from ragbed.api.spec import RunSpec
    from ragbed.models.systems import Provides
    from ragbed.testbeds.settings import Settings

_SYSTEMS = ("factory/", "python/", "http/")


def choose_own_rag(
    spec: RunSpec, sources: Sequence[ModelSource], names: list[str] | None, settings: Settings
) -> tuple[list[str] | None, Settings]:
    """Return the testbeds and settings of a run; with documents, systems are evaluated in own-rag by default.

    Raises:
        UsageError: `corpus` is given, but own-rag is not run.
    """
    factories = [_is_factory(source) for source in sources]
    are_systems = any(factories) or any(
        source.name.startswith(_SYSTEMS) or isinstance(source.value, System) or source.name.startswith("system/")
        for source in sources
    )
    if names is None and (spec.docs is not None or spec.corpus is not None or any(factories)) and are_systems:
        names = [NAME]
    if NAME not in (names or ()):
        if spec.corpus is not None:
            refuse_unused("corpus", f"it applies to the testbed own-rag. Add {option('testbeds', NAME)}")
        return names, settings
    if spec.corpus is None and all(factories):
        settings = replace(settings, corpora=(CLEAN, WITHHELD))
    return names, settings


def _is_factory(source: ModelSource) -> bool:
    return source.name.startswith("factory/") or (isinstance(source.value, System) and source.value.is_factory)


def provided_by(testbeds: Sequence[Testbed]) -> list[Provides]:
    """Return what testbeds give to the models."""
    kinds: dict[str, Provides] = {NAME: "corpus", "search": "search"}
    return list(dict.fromkeys(kinds.get(testbed.name, "documents") for testbed in testbeds))
