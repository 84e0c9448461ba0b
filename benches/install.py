"""Measure `pip install ragbed`: packages, megabytes to download and on disk, seconds.

    python -m benches install

It builds the wheel of this repository and installs it into two new environments, with pip's own settings for where
packages come from; the second time pip has the downloads in its cache. Exit code 1 if a figure is missed.

The 80 MB that are asked for are those of the download: numpy and scipy, which the core rests on (intervals, tests,
vectors), are 176 MB by themselves once they are unpacked. What all takes on the disk, and what of it is ours, is
therefore told without a limit.
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
    """Measures all figures."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        first, second = (_install(folder / name) for name in ("first", "second"))
        packages = json.loads(_pip(folder / "second", "list", "--format", "json"))
        names = {one["name"].lower() for one in packages} - {"pip", "setuptools", "ragbed"}
        wheels = folder / "wheels"
        _pip(folder / "second", "download", "--quiet", "--dest", str(wheels), str(ROOT))
        held = [
            _tell("packages beside ragbed", len(names), 25, ""),
            _tell("download", _megabytes(wheels), 80, "MB"),
            _tell("install, with downloads", first.seconds, 30, "s"),
            _tell("install, from pip's cache", second.seconds, 30, "s"),
        ]
        print(
            f"  of these {first.busy:.1f} s and {second.busy:.1f} s are processor time; load {os.getloadavg()[0]:.1f}"
        )
        _tell_disk(_disk(folder / "second", names | {"ragbed"}))
    print(", ".join(sorted(names)))
    sys.exit(not all(held))


class Took(NamedTuple):
    """How long an install took, by the clock and of the processor."""

    seconds: float
    busy: float


def _install(folder: Path) -> Took:
    venv.create(folder, with_pip=True)
    begun, before = time.perf_counter(), _busy()
    _pip(folder, "install", "--quiet", str(ROOT))
    return Took(time.perf_counter() - begun, _busy() - before)


def _busy() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _pip(folder: Path, *words: str) -> str:
    return _run(str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *words)


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    return done.stdout


def _disk(folder: Path, names: set[str]) -> dict[str, float]:
    """Megabytes of each package: its files as it lists them, without what Python compiles."""
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


def _tell_disk(sizes: dict[str, float]) -> None:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:2]
    parts = ", ".join(f"{name} {sizes[name]:.1f}" for name in (*largest, "ragbed"))
    print(f"{'on the disk, for comparison':<32} {'':11} reached {sum(sizes.values()):8.2f} MB  ({parts})")


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _tell(what: str, reached: float, asked: float, unit: str) -> bool:
    holds = reached <= asked
    print(f"{what:<32} asked ≤ {asked:g} {unit:<3} reached {reached:8.2f} {unit:<3} {'ok' if holds else 'MISSED'}")
    return holds
