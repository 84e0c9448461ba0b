"""Run a step of the study by name."""

from __future__ import annotations

import sys
from importlib import import_module

STEPS = ("score", "results")


def main() -> None:
    """Run the named step."""
    if len(sys.argv) < 2 or sys.argv[1] not in STEPS:
        sys.exit(f"Use python -m study NAME; NAME is one of {', '.join(STEPS)}.")
    import_module(f"study.{sys.argv[1]}").main(sys.argv[2:])


if __name__ == "__main__":
    main()
