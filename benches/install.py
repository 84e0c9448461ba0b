"""Measure `pip install ragbed`: number of packages, megabytes to download and on disk, and seconds.

    python -m benches install

It builds the repository's wheel and installs it into two new environments with pip's settings; the second time, the
downloads are in pip's cache. Exit code 1 if a target is missed.

The target of 80 MB applies to the download: numpy and scipy, which the core needs (intervals, tests, vectors), take 176
MB on disk. The size on disk, and ragbed's part of it, are therefore printed without a target.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import NamedTuple

from benches import ROOT


def main() -> None:
    """Print all figures."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first, second = (_install(folder / name) for name in ("first", "second"))
        packages = json.loads(_pip(folder / "second", "list", "--format", "json"))
        names = {package["name"].lower() for package in packages} - {"pip", "setuptools", "ragbed"}
        wheels = folder / "wheels"
        _pip(folder / "second", "download", "--quiet", "--dest", str(wheels), str(ROOT))
        passed = [
            _print_figure("packages beside ragbed", len(names), 25, ""),
            _print_figure("download", _megabytes(wheels), 80, "MB"),
            _print_figure("install, with downloads", first.seconds, 30, "s"),
            _print_figure("install, from pip's cache", second.seconds, 30, "s"),
        ]
        print(f"  of these {first.busy:.1f} s and {second.busy:.1f} s are CPU time; load {os.getloadavg()[0]:.1f}")
        _print_disk(_disk(folder / "second", names | {"ragbed"}))
    print(", ".join(sorted(names)))
    sys.exit(not all(passed))


class InstallTime(NamedTuple):
    """The wall-clock time and CPU time of an installation."""

    seconds: float
    busy: float


def _install(folder: Path) -> InstallTime:
    venv.create(folder, with_pip=True)
    started, before = time.perf_counter(), _busy()
    _pip(folder, "install", "--quiet", str(ROOT))
    return InstallTime(time.perf_counter() - started, _busy() - before)


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _pip(folder: Path, *arguments: str) -> str:
    return _run(str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments)


def _run(*arguments: str) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def _disk(folder: Path, names: set[str]) -> dict[str, float]:
    """Return the size of each package in megabytes, without compiled Python files."""
    program = """
import importlib.metadata, json, os, sys
print(json.dumps({
    one.metadata["Name"].lower(): sum(
        os.path.getsize(path)
        for path in map(one.locate_file, one.files or ()) if not str(path).endswith(".pyc") and os.path.exists(path)
    )
    for one in importlib.metadata.distributions() if one.metadata["Name"].lower() in sys.argv[1:]
}))
"""
    sizes = json.loads(_run(str(folder / "bin" / "python"), "-c", program, *names))
    return {name: size / 1e6 for name, size in sizes.items()}


def _print_disk(sizes: dict[str, float]) -> None:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:2]
    parts = ", ".join(f"{name} {sizes[name]:.1f}" for name in (*largest, "ragbed"))
    print(f"{'on disk, for comparison':<32} {'':12} measured {sum(sizes.values()):8.2f} MB  ({parts})")


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _print_figure(label: str, measured: float, target: float, unit: str) -> bool:
    is_met = measured <= target
    print(
        f"{label:<32} target ≤ {target:g} {unit:<3} measured {measured:8.2f} {unit:<3} {'ok' if is_met else 'MISSED'}"
    )
    return is_met
