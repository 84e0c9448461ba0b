"""Find plug-ins in other packages through their entry points (docs/reference/plugins.md).

Entry points are read only for unknown names and by `ragbed doctor`, and a plug-in is imported only when it is used.
Plug-ins cannot replace built-in names, so a command means the same on every machine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from ragbed.errors import PluginFailed, UnknownName, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Part = TypeVar("Part")
FUNCTION = "python/"
"""The prefix of names of functions in a file or an installed package, e.g. `python/my_metrics:score`."""


class PluginFamily(Struct, frozen=True):
    """A plug-in type: its entry-point group (after `ragbed.`), its name, and the attributes that plug-ins must have."""

    name: str
    one: str
    needs: tuple[str, ...] = ("__call__",)


MODELS = PluginFamily("models", "provider")
SCORERS = PluginFamily("scorers", "scorer")
TESTBEDS = PluginFamily("testbeds", "testbed", needs=("name", "cases"))
SEARCH = PluginFamily("search", "search engine")
ENCODERS = PluginFamily("encoders", "encoder")


class Plugin(Struct, frozen=True):
    """An entry point of an installed package."""

    family: PluginFamily
    name: str
    package: str
    version: str
    entry: EntryPoint

    def __str__(self) -> str:
        return f"{self.family.one} {self.name!r} of {self.package} {self.version}"

    def load(self) -> Any:  # noqa: ANN401  # the caller knows the type
        """Import the plug-in.

        Raises:
            PluginFailed: The import failed, or the plug-in lacks a required attribute.
        """
        try:
            part = self.entry.load()
        except (Exception, SystemExit) as error:  # a plug-in may raise anything
            raise PluginFailed(
                f"{self} cannot be loaded: {type(error).__name__}: {error}. Update it, or uninstall it: pip "
                f"uninstall {self.package}"
            ) from error
        missing = [name for name in self.family.needs if not hasattr(part, name)]
        if missing:
            problem = f"{self.entry.value} is a {type(part).__name__} that does not define {' and '.join(missing)}"
            raise PluginFailed(f"{self} is not a {self.family.one}: {problem}. See docs/reference/plugins.md.")
        return part


def find_plugins(family: PluginFamily) -> list[Plugin]:
    """Return the plug-ins of one type, sorted by name, without importing them."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # slow to import

    found = [
        Plugin(family, entry.name, entry.dist.name, entry.dist.version, entry)
        for entry in entry_points(group=f"ragbed.{family.name}")
        if entry.dist is not None
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.package))


def find_part(family: PluginFamily, name: str, own: Mapping[str, Part], *others: str) -> Part:
    """Return the object with the given name: built in, from a plug-in, or a function given as `python/module:function`.

    Args:
        family: The plug-in type.
        name: The name as the user wrote it.
        own: The built-in objects by name.
        others: Other valid forms of the name, for the error message.

    Raises:
        UnknownName: The name is unknown.
        UsageError: Several packages provide a plug-in with this name.
        PluginFailed: The plug-in cannot be used.
    """
    if name in own:
        return own[name]
    if str(name).startswith(FUNCTION) and family.needs == ("__call__",):
        function: Any = load_function(name)
        return cast("Part", function)
    plugins = find_plugins(family)
    matching = [plugin for plugin in plugins if plugin.name == name]
    if not matching:
        raise UnknownName(family.one, name, [*own, *dict.fromkeys(plugin.name for plugin in plugins), *others])
    if len(matching) > 1:
        packages = " and ".join(plugin.package for plugin in matching)
        raise UsageError(
            f"{family.one} {name!r} is provided by several packages ({packages}). Uninstall all but one of them."
        )
    part: Part = matching[0].load()
    return part


def load_function(reference: str) -> Callable[..., Any]:
    """Import the function that `python/module:function` names; the current folder is searched first.

    Raises:
        UsageError: The module cannot be imported, or has no such function.
    """
    from importlib import import_module  # noqa: PLC0415  # most commands need no function of the user

    kind, _, path = reference.partition("/")
    module, _, function = path.partition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        found = getattr(import_module(module), function, None)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{reference}: {module} cannot be imported from this folder or the installed packages: "
            f"{type(error).__name__}: {error}. To see where the error occurs, run: python -c 'import {module}'"
        ) from error
    finally:
        sys.path.remove(folder)  # its modules must not take precedence over those that ragbed imports
        sys.path.append(folder)
    if not callable(found):
        raise UsageError(f"{reference}: {module} has no function {function!r}. Use {kind}/<module>:<function>.")
    return cast("Callable[..., Any]", found)


def check_plugins(own: Mapping[PluginFamily, Mapping[str, object]]) -> Iterator[tuple[Plugin, str | None]]:
    """Import every plug-in of the given types, and yield each with its problem, if any."""
    for family, parts in own.items():
        plugins = find_plugins(family)
        for plugin in plugins:
            rivals = [other.package for other in plugins if other.name == plugin.name and other is not plugin]
            problem = None
            if plugin.name in parts:
                problem = f"not used: {plugin.name} is the name of a built-in part of ragbed; rename the plug-in"
            elif rivals:
                problem = f"not used: {' and '.join(rivals)} also provides {plugin.name}; uninstall one of the packages"
            else:
                try:
                    plugin.load()
                except PluginFailed as error:
                    problem = str(error)
            yield plugin, problem
