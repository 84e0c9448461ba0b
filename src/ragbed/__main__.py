"""The process that `ragbed` or `python -m ragbed` starts."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first on the path; a file such as json.py in it would be imported.
    del sys.path[0]

import atexit
import gc

_GC_EVERY = 100_000
"""New objects between two searches for dead cycles. Records are made and dropped by the thousand, hardly any in a
cycle, and the default of 700 spends a fifteenth of a run on looking, and of the start."""


def main() -> None:
    """Runs the command line."""
    gc.set_threshold(_GC_EVERY)
    atexit.register(gc.freeze)  # or Python looks through all that was loaded before it ends: a twentieth of a second
    from ragbed.cli import main as run_typed  # noqa: PLC0415 - after the line above

    run_typed()


if __name__ == "__main__":
    main()
