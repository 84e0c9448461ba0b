"""Parts that other packages bring, found by their entry points (docs/plugins.md).

Entry points are read when a name is none of ragbed's own, and by `ragbed doctor`; nothing of a plug-in is imported
before its name is used. Names of ragbed's own are never taken over: a command means the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ragbed.errors import PluginFailed, UnknownName, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")


@dataclass(frozen=True)
class PluginFamily:
    """A kind of part; its entry points are in the group `ragbed.` and its name."""

    name: str
    one: str
    """What a single part is called."""
    needs: tuple[str, ...] = ("__call__",)
    """What a part has."""


MODELS = PluginFamily("models", "provider")
SCORERS = PluginFamily("scorers", "track")
TESTBEDS = PluginFamily("testbeds", "testbed", needs=("name", "cases"))
SEARCH = PluginFamily("search", "search engine")
ENCODERS = PluginFamily("encoders", "encoder")


@dataclass(frozen=True)
class Plugin:
    """A part that a package says it brings."""

    family: PluginFamily
    name: str
    package: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{self.family.one} {self.name!r} of {self.package} {self.version}"

    def load(self) -> Any:  # noqa: ANN401  # who asks for a family knows what its parts are
        """The part.

        Raises:
            PluginFailed: It cannot be imported, or is not what its family needs.
        """
        try:
            part = self.entry.load()
        except (Exception, SystemExit) as error:  # whatever a stranger's code raises
            raise PluginFailed(
                f"{self} cannot be loaded: {type(error).__name__}: {error}. Update it, or remove it: "
                f"pip uninstall {self.package}"
            ) from error
        missing = [name for name in self.family.needs if not hasattr(part, name)]
        if missing:
            told = f"{self.entry.value} is a {type(part).__name__} without {' and '.join(missing)}"
            raise PluginFailed(f"{self} is no {self.family.one}: {told}; see docs/plugins.md.")
        return part


def find_plugins(family: PluginFamily) -> list[Plugin]:
    """What the installed packages bring of a family, by name; nothing is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # takes as long as the rest of the start

    found = [
        Plugin(family, one.name, one.dist.name, one.dist.version, one)
        for one in entry_points(group=f"ragbed.{family.name}")
        if one.dist is not None
    ]
    return sorted(found, key=lambda one: (one.name, one.package))


def find_part(family: PluginFamily, name: str, own: Mapping[str, Part], *others: str) -> Part:
    """The part of a name: ragbed's own, or a plug-in's.

    Args:
        family: Of which kind.
        name: As the user wrote it.
        own: Ragbed's own parts.
        others: What else can be written, for the message.

    Raises:
        UnknownName: Nobody has it.
        UsageError: Several packages bring it.
        PluginFailed: It cannot be used.
    """
    if name in own:
        return own[name]
    plugins = find_plugins(family)
    named = [one for one in plugins if one.name == name]
    if not named:
        raise UnknownName(family.one, name, [*own, *dict.fromkeys(one.name for one in plugins), *others])
    if len(named) > 1:
        packages = " and ".join(one.package for one in named)
        raise UsageError(f"{family.one} {name!r} is brought by {packages}; uninstall all but one of them.")
    part: Part = named[0].load()
    return part


def check_plugins(own: Mapping[PluginFamily, Mapping[str, object]]) -> Iterator[tuple[Plugin, str | None]]:
    """Every plug-in of the families, with what is wrong with it; it is imported for that."""
    for family, parts in own.items():
        plugins = find_plugins(family)
        for plugin in plugins:
            rivals = [one.package for one in plugins if one.name == plugin.name and one is not plugin]
            if plugin.name in parts:
                yield plugin, f"not used: {plugin.name} is one of ragbed's own; it needs another name"
            elif rivals:
                yield plugin, f"not used: {' and '.join(rivals)} brings one of the same name; uninstall one of them"
            else:
                try:
                    plugin.load()
                except PluginFailed as error:
                    yield plugin, str(error)
                else:
                    yield plugin, None
