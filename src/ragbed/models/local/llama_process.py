"""Starts and ends llama.cpp in a process of its own.

It could run inside this one, but a file that it does not like can make it abort, a prompt that is being read cannot
be interrupted, and what it prints cannot be kept off the terminal. A process can be ended at any moment, says why it
ended, and takes nothing with it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from ragbed.errors import UsageError
from ragbed.models.local.gguf import Weights

INSTALL = "pip install 'ragbed[llamacpp]'"
_MEMORY_SHARE = 4
"""A quarter of the memory may hold what was read; the weights and everything else need the rest."""
_LEAST_CONTEXT = 2048
_SAID_BYTES = 4000
_LOG_PREFIX = re.compile(r"^[\d.]+ [A-Z] [^:]*: (error loading model: )?")
"""Of a line that llama.cpp writes: the time, how grave it is, and where in its code."""
_ALIGN = 256
"""llama.cpp takes contexts in steps of so many tokens."""


class LlamaProcessFailed(Exception):
    """The engine did not start; the message is its own."""


@dataclass(frozen=True)
class LlamaSetup:
    """How the engine is started."""

    weights: Weights
    slots: int
    environ: Mapping[str, str]

    @property
    def context(self) -> int:
        """Tokens for each case: what the model reads, or what the memory has room for."""
        room = _memory_bytes() // _MEMORY_SHARE // max(1, self.weights.token_bytes * self.slots)
        return min(self.weights.context, max(_LEAST_CONTEXT, room // _ALIGN * _ALIGN))

    @property
    def threads(self) -> int:
        """All cores, unless the environment says how many are meant for us: others may be at work beside us."""
        named = self.environ.get("OMP_NUM_THREADS", "")
        return int(named) if named.isdigit() and int(named) else count_cores()


class LlamaProcess:
    """A running llama.cpp; made by `start`."""

    def __init__(self, setup: LlamaSetup, process: subprocess.Popen[str], said: IO[bytes], key: str) -> None:
        self.context, self.key = setup.context, key
        self._process, self._said = process, said
        self._stdin, self._stdout = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        self.address = ""

    @classmethod
    def start(cls, setup: LlamaSetup) -> LlamaProcess:
        """Starts llama.cpp and waits until the weights are loaded.

        Raises:
            UsageError: The library is not installed.
            EngineFailed: llama.cpp does not take the file.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise UsageError(f"models in GGUF files need xllamacpp, which is not installed: {INSTALL}")
        # The folder of the script has modules that are called like libraries: -P keeps it off the path.
        command = [sys.executable, "-P", str(Path(__file__).with_name("llama_child.py"))]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the engine
        process = subprocess.Popen(  # noqa: S603 - our own script
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,  # Ctrl-C is for us to act on
            # Threads that wait for each other sleep: spinning ones would take the processor from those that work.
            env={**setup.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONSAFEPATH": "1"},
        )
        engine = cls(setup, process, said, secrets.token_urlsafe())
        try:
            engine._load(setup)
        except BaseException:
            engine.stop()
            raise
        return engine

    def _load(self, setup: LlamaSetup) -> None:
        wanted = {
            "path": str(setup.weights.path),
            "context": self.context,
            "slots": setup.slots,
            "threads": setup.threads,
            "key": self.key,
        }
        with suppress(BrokenPipeError):
            self._stdin.write(json.dumps(wanted) + "\n")
            self._stdin.flush()
        told = self._stdout.readline()
        if not told:
            self._process.wait()
            raise LlamaProcessFailed(self.last_words())
        self.address = json.loads(told)

    @property
    def is_running(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """Why it ended: the signal, and what llama.cpp said of it."""
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - _SAID_BYTES))
        lines = self._said.read().decode("utf-8", "replace").splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        said = _LOG_PREFIX.sub("", (errors or lines or [""])[0]).strip()
        code = self._process.poll()
        if code is None or code >= 0:
            return said or "it said nothing"
        memory = ", most likely for want of memory" if -code == signal.SIGKILL else ""
        return f"it was ended by {signal.Signals(-code).name}{memory}" + (f": {said}" if said else "")

    def stop(self) -> None:
        """Ends it at once."""
        self._process.kill()
        for pipe in (self._stdin, self._stdout, self._said):
            with suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()


def count_cores() -> int:
    """Processor cores that this process may use: more threads than these only wait for each other."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = {_read(f"/sys/devices/system/cpu/cpu{number}/topology/core_cpus_list") or str(number) for number in allowed}
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    limit = int(quota) // int(period) if quota.isdigit() and period.isdigit() else len(cores)
    return max(1, min(len(cores), limit))


def _memory_bytes() -> int:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 8 << 30  # where the system does not say, what a small computer has


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
