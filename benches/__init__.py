"""Benchmarks and long checks: run `python -m benches NAME` from the root of the repository."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent


def measure_command(words: Sequence[str], codes: Collection[int] = (0,)) -> tuple[float, float]:
    """Return the seconds and the peak memory in MB of a command, which must end with one of the exit codes."""
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise subprocess.CalledProcessError(process.returncode, list(words))
    return time.perf_counter() - started, used.ru_maxrss / 1024


def check_figure(title: str, measured: float, maximum: float, unit: str = "", *, minimum: float | None = None) -> bool:
    """Print a measured figure with its target, and return whether the target is met."""
    passed = measured <= maximum and (minimum is None or measured >= minimum)
    target = f"at most {maximum:g}" if minimum is None else f"{minimum:g} to {maximum:g}"
    suffix = f" {unit}" if unit else ""
    print(f"{'pass' if passed else 'FAIL'}  {title}: {measured:.4g}{suffix} (target: {target}{suffix})", flush=True)
    return passed
