"""Run `ragbed` commands within limits, and count the violated guarantees."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NoReturn

import ragbed.__main__

HANG_S = 10.0
"""Seconds after which a command on a small input counts as hanging; for busy machines, see `hang_s`."""
MOST_MB = 300.0
AT_ONCE = 2
_POLL_S = 0.005
_SHOWN = 1 << 20
"""Maximum number of bytes of output to read back."""
CODES = frozenset({0, 1, 2, 3})
"""Success, failure, usage error and incomplete. A signal or any other code counts as a crash."""


@dataclass(frozen=True)
class Command:
    """A `ragbed` command and the input that it is tested on."""

    name: str
    words: tuple[str, ...]
    folder: Path
    about: str = ""
    """A description of the input."""
    environ: Mapping[str, str] = field(default_factory=dict)
    call: Callable[[], object] = ragbed.__main__.main
    """The function that the process calls."""


@dataclass(frozen=True)
class Ended:
    """The result of a command."""

    code: int
    out: str
    err: str
    took_s: float
    peak_mb: float
    is_late: bool = False
    """Whether the command took longer than `hang_s`, or more than `HANG_S` of CPU time."""

    def problems(self, most_mb: float = MOST_MB) -> list[str]:
        """Return the guarantees that the command violated."""
        found = []
        if self.is_late:
            found.append(f"hang: {self.took_s:.0f} s")
        elif self.code not in CODES:
            found.append(f"crash: exit code {self.code}")
        if self.peak_mb > most_mb:
            found.append(f"memory: {self.peak_mb:.0f} MB")
        if "Traceback" in self.err:
            found.append(f"traceback: {self.err.strip().splitlines()[-1][:120]}")
        return found


def hang_s() -> float:
    """Return the number of seconds after which a command counts as hanging, which is higher on a busy machine."""
    return HANG_S * min(3.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


class Running:
    """A running command, in a separate process group.

    The process is forked from this one, in which most of `ragbed` is already loaded, because this takes a tenth of the
    time.

    Args:
        command: The command to run.
        limit_s: Time limit for a command that does many things; by default, `hang_s`.
    """

    def __init__(self, command: Command, limit_s: float | None = None) -> None:
        self.command = command
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115 - `poll` closes them
        self._started, self._limit_s = time.monotonic(), limit_s or hang_s()
        self._most_cpu_s = limit_s or HANG_S
        sys.stdout.flush()
        gc.freeze()
        self._pid = os.fork()
        if not self._pid:
            _become(command, self._out.fileno(), self._err.fileno())

    def first_line(self) -> str:
        """Return the first line that the command prints, or an empty string if it exits or hangs first."""
        while time.monotonic() - self._started < self._limit_s:
            line, end, _ = os.pread(self._out.fileno(), 1_000, 0).decode().partition("\n")
            if end:
                return line
            if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return ""
            time.sleep(_POLL_S)
        return ""

    def stop(self) -> Ended:
        """Stop the command as Ctrl-C or a service manager would, and return its result."""
        os.kill(self._pid, signal.SIGTERM)  # the process exists until it is waited for
        self._started = time.monotonic()
        return self.wait()

    def wait(self) -> Ended:
        """Wait until the command exits, and return its result."""
        while (ended := self.poll()) is None:
            time.sleep(_POLL_S)
        return ended

    def poll(self) -> Ended | None:
        """Return the command's result if it has exited; kill it if it hangs."""
        pid, status, used = os.wait4(self._pid, os.WNOHANG)
        took_s = time.monotonic() - self._started
        if not pid:
            if took_s > self._limit_s:
                os.killpg(self._pid, signal.SIGKILL)
            return None
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)  # kill any child processes that it left behind
        code = os.waitstatus_to_exitcode(status)
        is_late = took_s > self._limit_s or used.ru_utime + used.ru_stime > self._most_cpu_s
        return Ended(code, _read(self._out), _read(self._err), took_s, used.ru_maxrss / 1024, is_late)


def _become(command: Command, out: int, err: int) -> NoReturn:
    """Run a command in this forked process, and exit with it."""
    code: object = 1
    try:
        os.setsid()
        atexit._clear()  # the command must not run this process's exit handlers
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        os.chdir(command.folder)
        os.environ.update({"COLUMNS": "200"} | dict(command.environ))
        sys.argv = ["ragbed", *command.words]
        sys.modules["__main__"] = ragbed.__main__  # child processes load this module
        command.call()
        code = 0
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else int(bool(code)))


def _read(sink: IO[bytes]) -> str:
    with sink:
        sink.seek(0)
        return sink.read(_SHOWN).decode("utf-8", "replace")


def run_all(commands: Iterable[Command]) -> Iterator[tuple[Command, Ended]]:
    """Run commands, several at a time, and yield each with its result."""
    source, at_work = iter(commands), deque[Running]()
    while True:
        while len(at_work) < AT_ONCE and (command := next(source, None)) is not None:
            at_work.append(Running(command))
        if not at_work:
            return
        running = at_work.popleft()
        ended = running.poll()
        if ended is None:
            at_work.append(running)
            time.sleep(_POLL_S)
        else:
            yield running.command, ended


@dataclass
class Tally:
    """The counts for one part: the number of trials, and the violated guarantees."""

    part: str
    tried: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, name: str, problems: Iterable[str] = ()) -> None:
        """Count a trial, and print its problems."""
        self.tried[kind] += 1
        for problem in problems:
            self.broken[problem.partition(":")[0]] += 1
            print(f"  BROKEN {self.part} {name}: {problem}", flush=True)

    def close(self) -> bool:
        """Print the counts, and return whether every guarantee held."""
        counts = ", ".join(f"{count:,} {kind}" for kind, count in self.tried.items())
        found = ", ".join(f"{count} {kind}" for kind, count in self.broken.items()) or "0 broken"
        print(f"{self.part:12} {'BROKEN' if self.broken else 'ok    '} {counts}: {found}", flush=True)
        return not self.broken
