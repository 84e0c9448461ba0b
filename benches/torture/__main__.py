"""Run the random tests of crashes, faults and damaged files many times (`make torture`).

    python -m benches torture [PART …] [--count N] [--seed N]

Without a part, all of them run, one after another. Each prints its counts; the exit code is 1 if a guarantee is
violated.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

PARTS = ("kills", "batches", "disks", "faults", "damaged", "nodes")
"""The modules to run. Each has a function `torture`, which takes a folder, a count and a seed, and a default `COUNT`.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches torture", description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"Of {', '.join(PARTS)}. [default: all]")
    parser.add_argument("--count", type=int, help="Number of trials. [default: that of each part]")
    parser.add_argument("--seed", type=int, default=18)
    chosen = parser.parse_args()
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is not a part; choose from {', '.join(PARTS)}")
    # A shell starts background jobs with Ctrl-C ignored, and the commands started here would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parts = chosen.parts or PARTS
    if len(parts) == 1:
        held = [_run(parts[0], chosen.count, chosen.seed)]
    else:  # use separate processes, because what one part loads would count as memory of the next part's commands
        options = [*(("--count", str(chosen.count)) if chosen.count else ()), "--seed", str(chosen.seed)]
        words = [sys.executable, "-m", "benches", "torture"]
        held = [not subprocess.run([*words, part, *options], check=False).returncode for part in parts]
    sys.exit(not all(held))


def _run(name: str, count: int | None, seed: int) -> bool:
    part = import_module(f"benches.torture.{name}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"torture-{name}-") as folder:
        held = bool(part.torture(Path(folder), count or part.COUNT, seed))
    print(f"{name:12} took {time.monotonic() - started:.0f} s", flush=True)
    return held


if __name__ == "__main__":
    main()
