"""Print the locked requirements of some extras and dependency groups, with their hashes, for `pip install -r`.

    python scripts/select_requirements.py EXTRA,… GROUP,… [--without PACKAGE,…]

Two lock files contain all packages: requirements/runtime.txt those of ragbed with all extras, and requirements/dev.txt
those of the dependency groups. An environment needs only some of them. They are selected using the comments in the lock
files, which name the packages that require each package. This script needs only Python, because it runs before anything
is installed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements/runtime.txt", "requirements/dev.txt")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRAS = re.compile(r"ragbed\[([^\]]+)\]")


def main() -> None:
    """Print the requirements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extras", help="names of extras, separated by commas, or ''")
    parser.add_argument("groups", help="names of dependency groups, separated by commas, or ''")
    parser.add_argument("--without", default="", help="packages to leave out, with those that only they require")
    chosen = parser.parse_args()
    extras, groups, without = (
        [part for part in text.split(",") if part] for text in (chosen.extras, chosen.groups, chosen.without)
    )
    try:
        print("\n".join(select(extras, groups, without)))
    except KeyError as error:
        sys.exit(f"{error} is not in pyproject.toml or in the lock files; run `make lock`.")


def select(extras: list[str], groups: list[str], without: list[str]) -> list[str]:
    """Return the locked requirements with their hashes.

    Raises:
        KeyError: An extra, a group or a package does not exist.
    """
    pins, required = read_locks()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    waiting, found = roots(project, extras, groups), set(without)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(required[name])
    return [pin for name in sorted(found - set(without)) for pin in pins[name]]


def roots(project: dict[str, Any], extras: list[str], groups: list[str]) -> list[str]:
    """Return the packages that ragbed, its extras and the groups require directly."""
    named = list(project["project"]["dependencies"])
    for extra in extras:
        for requirement in project["project"]["optional-dependencies"][extra]:
            inner = _EXTRAS.match(requirement)
            named += roots(project, inner[1].split(","), []) if inner else [requirement]
    for group in groups:
        for entry in project["dependency-groups"][group]:
            named += roots(project, [], [entry["include-group"]]) if isinstance(entry, dict) else [entry]
    return [_normalise(requirement) for requirement in named]


def read_locks() -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """Return the pins for each package, one per platform or Python version, and the packages that it requires."""
    pins: dict[str, list[str]] = {}
    required: dict[str, set[str]] = defaultdict(set)
    for lock in LOCKS:
        text = (ROOT / lock).read_text("utf-8")
        for block in re.split(r"\n(?=\S)", text.strip()):
            pin, comments = re.split(r"\n(?=    #)|\Z", block, maxsplit=1)
            name = _normalise(pin)
            if pin not in pins.setdefault(name, []):
                pins[name].append(pin)
            for parent in re.findall(r"^    #(?: via|  ) ([A-Za-z0-9][\w.-]*)$", comments, re.MULTILINE):
                required[_normalise(parent)].add(name)
    return pins, required


def _normalise(requirement: str) -> str:
    found = _NAME.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} does not start with the name of a package")
    return re.sub(r"[-_.]+", "-", found[0]).lower()


if __name__ == "__main__":
    main()
