"""Benchmarks and long checks: run `python -m benches NAME` from the root of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent


def check_figure(title: str, measured: float, maximum: float, unit: str = "", *, minimum: float | None = None) -> bool:
    """Print a measured figure with its target, and return whether the target is met."""
    passed = measured <= maximum and (minimum is None or measured >= minimum)
    target = f"at most {maximum:g}" if minimum is None else f"{minimum:g} to {maximum:g}"
    suffix = f" {unit}" if unit else ""
    print(f"{'pass' if passed else 'FAIL'}  {title}: {measured:.4g}{suffix} (target: {target}{suffix})", flush=True)
    return passed
