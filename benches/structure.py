"""Count lines, statements and files of each package, compare them with the budgets, and trace one case.

    python -m benches structure [--lower] [--trace]

Budgets are in benches/budgets.toml. `--lower` sets every budget to today's value if that is smaller. `--trace`
evaluates one case against a mock server, and prints the functions between the command and the socket, and those
between the response and the printed table. Exit code 1 if a count exceeds its budget.
"""

from __future__ import annotations

import argparse
import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benches import ROOT

BUDGETS = ROOT / "benches" / "budgets.toml"
_HEADER = (
    "# Maximum lines, statements and files; `make check` fails above them (python -m benches structure).\n"
    "# Budgets are only lowered: python -m benches structure --lower\n"
)
# Packages that share a budget with a neighbour, and where modules outside any package belong.
_TOGETHER = {"cli": "api + cli", "api": "api + cli"} | dict.fromkeys(
    ("data", "io", "retrieval", ""), "data + io + retrieval + top-level modules"
)
_OUTSIDE = {"tests": "tests", "benches": "benches + scripts + study"}
_OUTSIDE |= {"scripts": "benches + scripts + study", "study": "benches + scripts + study"}

Counts = dict[str, dict[str, int]]
"""Counts by the name of a package, then by unit: lines, statements or files."""


def count_structure(root: Path) -> Counts:
    """Return the counts of the Python code by package, and the lines of JavaScript and TOML texts in `src`."""
    counts: Counts = defaultdict(lambda: defaultdict(int))
    source = root / "src" / "ragbed"
    for path in sorted(source.rglob("*.py")):
        package = path.relative_to(source).parts[0] if path.parent != source else ""
        for name in (_TOGETHER.get(package, package), "src"):
            _add(counts[name], path)
    for folder, name in _OUTSIDE.items():
        for path in sorted((root / folder).rglob("*.py")):
            counts[name]["lines"] += len(path.read_bytes().splitlines())
    for suffix in ("js", "toml"):
        paths = source.rglob(f"*.{suffix}")
        counts[f"src, {suffix}"]["lines"] = sum(len(path.read_bytes().splitlines()) for path in paths)
    counts["src"]["shared_class_names"] = len(find_shared_classes(root))
    return counts


def _add(counts: dict[str, int], path: Path) -> None:
    text = path.read_text("utf-8")
    counts["lines"] += len(text.splitlines())
    counts["statements"] += sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    counts["files"] += 1


def find_shared_classes(root: Path) -> dict[str, list[str]]:
    """Return the public classes whose name another class has too, with the files that define them."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "src" / "ragbed").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(root)))
    return {name: files for name, files in places.items() if len(files) > 1}


def find_excesses(counts: Counts, budgets: Counts) -> list[str]:
    """Return a sentence for each count that exceeds its budget or has none."""
    found = []
    for name, units in counts.items():
        for unit, value in units.items():
            budget = budgets.get(name, {}).get(unit)
            if budget is None:
                found.append(f"{name} has no budget for {unit}; add it to {BUDGETS.relative_to(ROOT)}.")
            elif value > budget:
                found.append(f"{name} has {value:,} {unit}, but its budget is {budget:,}.")
    return found


def lower(counts: Counts, budgets: Counts) -> Counts:
    """Return the smaller of count and budget for everything that was counted."""
    return {
        name: {unit: min(value, budgets.get(name, {}).get(unit, value)) for unit, value in units.items()}
        for name, units in counts.items()
    }


def read_budgets() -> Counts:
    """Return the committed budgets."""
    found: Counts = tomllib.loads(BUDGETS.read_text("utf-8"))
    return found


def _format_budgets(budgets: Counts) -> str:
    def rows(name: str, units: dict[str, int]) -> Iterable[str]:
        yield f'\n["{name}"]'
        yield from (f"{unit} = {value:_}" for unit, value in units.items())

    return _HEADER + "".join(line + "\n" for name in sorted(budgets) for line in rows(name, budgets[name]))


def main() -> int:
    """Print the counts and their budgets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="lower the budgets to today's counts")
    parser.add_argument("--trace", action="store_true", help="print the functions that one case passes through")
    options = parser.parse_args()
    if options.trace:
        from benches.trace import print_trace  # noqa: PLC0415 - it needs the test servers

        print_trace()
        return 0
    counts = count_structure(ROOT)
    budgets = read_budgets()
    print(f"{'':42}{'lines':>16}{'statements':>18}{'files':>12}")
    for name in sorted(counts):
        cells = [
            f"{counts[name][unit]:,}/{budgets.get(name, {}).get(unit, 0):,}" if unit in counts[name] else ""
            for unit in ("lines", "statements", "files")
        ]
        print(f"{name:42}{cells[0]:>16}{cells[1]:>18}{cells[2]:>12}")
    if options.lower:
        BUDGETS.write_text(_format_budgets(lower(counts, budgets)), encoding="utf-8")
        return 0
    print("\nPublic classes that share a name:")
    for name, files in find_shared_classes(ROOT).items():
        print(f"    {name}: {', '.join(files)}")
    excesses = find_excesses(counts, budgets)
    if excesses:
        print("", *excesses, sep="\n")
    return 1 if excesses else 0
