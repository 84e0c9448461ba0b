"""The process that `ragbed` or `python -m ragbed` starts."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first on the path; a file such as json.py in it would be imported.
    del sys.path[0]

import _signal as signal  # type: ignore[import-not-found]  # `signal` loads a dozen modules, and Ctrl-C may come first
import atexit
import gc
import os

_GC_EVERY = 100_000
"""New objects between two searches for dead cycles. Records are made and dropped by the thousand, hardly any in a
cycle, and the default of 700 spends a fifteenth of a run on looking, and of the start."""


def main() -> None:
    """Runs the command line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
        signal.signal(signal.SIGINT, _end_at_once)
    _replace_closed_streams()
    gc.set_threshold(_GC_EVERY)
    atexit.register(gc.freeze)  # or Python looks through all that was loaded before it ends: a twentieth of a second
    from ragbed.cli import main as run_typed  # noqa: PLC0415 - after the lines above

    run_typed()


def _end_at_once(*_: object) -> None:
    """End on Ctrl-C while modules are loaded: nothing has started, and Python would print where it was."""
    os.write(2, b"ragbed: interrupted.\n")
    os._exit(130)


def _replace_closed_streams() -> None:
    """Open the null device for standard streams that are closed (`>&-`).

    Otherwise the first file that is opened, such as a run's database, takes the stream's number and its output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
