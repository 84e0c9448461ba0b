"""Count what makes the code easy or hard to navigate: packages, names, tiny files, statements, functions, commands.

    python -m benches structure [--source src] [--list]

Exit code 1 if a figure exceeds its limit. `--list` prints what is counted.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benches import ROOT

SMALL_LINES = 60
LONG_LINES = 40
COMMAND_MEDIAN, COMMAND_MOST = 150, 250
# Packages that are extended by adding a file and a line in a table in `__init__.py` (CONTRIBUTING.md).
REGISTRIES = {
    "ragbed.analysis.metrics",
    "ragbed.builder.search",
    "ragbed.builder.sources",
    "ragbed.data",
    "ragbed.models",
    "ragbed.retrieval",
    "ragbed.runs.engines",
    "ragbed.scoring",
    "ragbed.testbeds",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Figure(NamedTuple):
    """A count, its limit if there is one, and the names that were counted."""

    title: str
    value: float
    limit: float | None
    names: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True)
class Module:
    """One source file: its dotted name, its syntax tree and its number of lines."""

    name: str
    tree: ast.Module
    lines: int
    is_package: bool

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]


def measure_structure(source: Path) -> list[Figure]:
    """Return the figures for the package `ragbed` in a source folder."""
    modules = read_modules(source)
    packages = sorted({name.split(".")[1] for name, module in modules.items() if _is_inside_package(name, module)})
    shared, classes = _shared_classes(modules)
    small, long = _single_import_files(modules), _long_functions(modules)
    entries = tuple(name for name, importer in small.items() if importer in REGISTRIES)
    merge = tuple(name for name in small if name not in entries)
    statements = sum(isinstance(node, ast.stmt) for module in modules.values() for node in ast.walk(module.tree))
    return [
        Figure("top-level packages", len(packages), 15, tuple(packages)),
        Figure("public classes that share a name, %", round(100 * len(shared) / max(classes, 1), 1), 3, shared),
        Figure(f"files under {SMALL_LINES} lines that a single sibling imports", len(merge), 5, merge),
        Figure(f"files under {SMALL_LINES} lines that are an entry of a registry", len(entries), None, entries),
        Figure("statements", statements, None),
        Figure(f"functions over {LONG_LINES} lines", len(long), None, long),
        *_command_modules(modules),
    ]


def _command_modules(modules: dict[str, Module]) -> list[Figure]:
    """Return the figures for the modules that define a command."""
    sizes = {
        module.name: module.lines
        for module in modules.values()
        if module.package == "ragbed.cli" and any(_is_command(node) for node in module.tree.body)
    }
    long = tuple(f"{name} ({lines})" for name, lines in sizes.items() if lines > COMMAND_MOST)
    return [
        Figure("lines of a command module, median", median(sizes.values()) if sizes else 0, COMMAND_MEDIAN),
        Figure(f"command modules over {COMMAND_MOST} lines", len(long), 0, long),
    ]


def _is_command(node: ast.stmt) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return any(
        ast.unparse(decorator).startswith(("click.command", "click.group", "help_groups.command"))
        for decorator in decorators
    )


def read_modules(source: Path) -> dict[str, Module]:
    """Parse all files in the package, and return them by dotted name."""
    modules = {}
    for path in sorted((source / "ragbed").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text("utf-8")
        modules[name] = Module(name, ast.parse(text), len(text.splitlines()), is_package)
    return modules


def _is_inside_package(name: str, module: Module) -> bool:
    depth = name.count(".") + module.is_package
    return depth >= 2


def _shared_classes(modules: dict[str, Module]) -> tuple[tuple[str, ...], int]:
    """Return the public classes that share their name with another class, and the total number of public classes."""
    places = defaultdict(list)
    for module in modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{module.name}.{node.name}")
    shared = [place for same in places.values() if len(same) > 1 for place in same]
    return tuple(sorted(shared)), sum(map(len, places.values()))


def _single_import_files(modules: dict[str, Module]) -> dict[str, str]:
    """Return the small files that only one module in the same package or its parent imports, with that module."""
    importers = defaultdict(set)
    for module in modules.values():
        for name in _imports(module, modules):
            importers[name].add(module.name)
    return {
        module.name: next(iter(importers[module.name]))
        for module in modules.values()
        if module.lines < SMALL_LINES and not module.is_package and _has_one_sibling(module, importers[module.name])
    }


def _has_one_sibling(module: Module, importers: set[str]) -> bool:
    near = {module.package, module.package.rpartition(".")[0]}
    return len(importers) == 1 and all(name.rpartition(".")[0] in near for name in importers)


def _imports(module: Module, modules: dict[str, Module]) -> set[str]:
    names = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                names.add(full if full in modules else node.module)
    return {name for name in names if name in modules} - {module.name}


def _long_functions(modules: dict[str, Module]) -> tuple[str, ...]:
    return tuple(name for module in modules.values() for name in _long_in(module))


def _long_in(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, _FUNCTIONS) and (node.end_lineno or 0) - node.lineno + 1 > LONG_LINES:
            yield f"{module.name}.{node.name}"


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="folder that contains the package")
    parser.add_argument("--list", action="store_true", help="print the names behind each figure")
    options = parser.parse_args()
    figures = measure_structure(options.source)
    for figure in figures:
        limit = "" if figure.limit is None else f"  limit {figure.limit:g}: {'pass' if figure.passed else 'FAIL'}"
        print(f"{figure.title:60} {figure.value:>9,g}{limit}")
        for name in figure.names if options.list else ():
            print(f"    {name}")
    return 0 if all(figure.passed for figure in figures) else 1
