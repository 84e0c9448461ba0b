"""Start the command-line interface (`ragbed` or `python -m ragbed`)."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the current folder first on `sys.path`, so a json.py there would shadow the standard module.
    del sys.path[0]

import _signal as signal  # type: ignore[import-not-found]  # `signal` is slow to import, and Ctrl-C may be pressed first
import atexit
import gc
import os

# Number of new objects that triggers a garbage collection. Runs create thousands of records, hardly any of them in
# reference cycles. With the default of 700, garbage collection takes about 7% of the start-up and run time. A run of
# 1,000 calls keeps 115,000 objects, so it needs no collection, which would take 0.05 s.
_GC_THRESHOLD = 200_000


def main() -> None:
    """Run the command-line interface."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # false in background jobs, which ignore Ctrl-C
        signal.signal(signal.SIGINT, _exit_now)
    _replace_closed_streams()
    gc.set_threshold(_GC_THRESHOLD)
    atexit.register(gc.freeze)  # skip garbage collection at exit, which would take 0.05 s
    from ragbed.cli import main as run_command  # noqa: PLC0415 - must come after the lines above

    try:
        run_command()
    except KeyboardInterrupt:  # Ctrl-C was pressed while the command was already exiting
        _exit_now()


def _exit_now(*_: object) -> None:
    """Exit without a traceback if Ctrl-C is pressed before any work has started or after all work is done."""
    os.write(2, b"ragbed: interrupted.\n")
    os._exit(130)


def _replace_closed_streams() -> None:
    """Open the null device in place of each standard stream that is closed, e.g. by `>&-`.

    Otherwise the first file that is opened, e.g. a run's database, would get the stream's file descriptor and
    receive its output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    try:
        main()
    finally:
        # If Ctrl-C interrupts an `exec` of a string, e.g. while a module with dataclasses is imported, `python -m` ends
        # with SIGINT instead of the exit code, even if the exception was handled. Another `exec` clears this state.
        exec("")  # noqa: S102
