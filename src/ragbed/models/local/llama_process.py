"""Run llama.cpp in its own process.

In ragbed's process, an invalid file could abort the program, prefill could not be interrupted, and llama.cpp's output
would appear in the terminal. A separate process can be killed at any time, and its exit code and output show why it
exited.
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

# The context length unless the user sets one; the KV cache of some models' full context would fill the memory.
_CONTEXT = 16_384
_OUTPUT_BYTES = 4000
# The prefix of a llama.cpp log line: time, level and source location.
_LOG_PREFIX = re.compile(r"^[\d.]+ [A-Z] [^:]*: (error loading model: )?")


class LlamaProcessFailed(Exception):
    """llama.cpp failed to start."""


@dataclass(frozen=True)
class LlamaSetup:
    """The settings for the llama.cpp process."""

    weights: Weights
    slots: int
    environ: Mapping[str, str]
    context_length: int | None = None

    @property
    def context(self) -> int:
        """The context length per case."""
        return min(self.weights.context, self.context_length or _CONTEXT)

    @property
    def threads(self) -> int:
        """The number of threads: one per core, unless OMP_NUM_THREADS is set."""
        number = self.environ.get("OMP_NUM_THREADS", "")
        return int(number) if number.isdigit() and int(number) else count_cores()


class LlamaProcess:
    """A running llama.cpp process, created with `start`."""

    def __init__(self, setup: LlamaSetup, process: subprocess.Popen[str], output: IO[bytes]) -> None:
        self.context, self.key, self.url = setup.context, secrets.token_urlsafe(), ""
        self._process, self._output = process, output
        self._stdin, self._stdout = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)

    @classmethod
    def start(cls, setup: LlamaSetup) -> LlamaProcess:
        """Start llama.cpp and wait until the weights are loaded.

        Raises:
            UsageError: The library is not installed.
            LlamaProcessFailed: llama.cpp cannot load the file.
        """
        if importlib.util.find_spec("xllamacpp") is None:
            raise UsageError("GGUF models require xllamacpp, which is not installed: pip install 'ragbed[llamacpp]'")
        # Some modules in the script's folder have the same names as libraries, so -P keeps the folder off the import
        # path.
        command = [sys.executable, "-P", str(Path(__file__).with_name("llama_child.py"))]
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        process = subprocess.Popen(  # noqa: S603 - our own script
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            # Ctrl-C must reach only the parent process. On Windows, the creation flag has the same effect as a new
            # session.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            # Waiting threads must sleep, because spinning would take CPU time from the threads that are working.
            env={**setup.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONSAFEPATH": "1"},
        )
        engine = cls(setup, process, output)
        try:
            engine._load(setup)
        except BaseException:
            engine.stop()
            raise
        return engine

    def _load(self, setup: LlamaSetup) -> None:
        settings = {
            "path": str(setup.weights.path),
            "context": self.context,
            "slots": setup.slots,
            "threads": setup.threads,
            "key": self.key,
        }
        with suppress(BrokenPipeError):
            self._stdin.write(json.dumps(settings) + "\n")
            self._stdin.flush()
        answer = self._stdout.readline()
        if not answer:
            self._process.wait()
            raise LlamaProcessFailed(self.last_words())
        self.url = json.loads(answer)

    @property
    def is_running(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def last_words(self) -> str:
        """Return the reason for the exit: the signal, if any, and an error message from the process's output."""
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, self._output.tell() - _OUTPUT_BYTES))
        lines = self._output.read().decode("utf-8", "replace").splitlines()
        errors = [line for line in lines if "error" in line.lower()]
        message = _LOG_PREFIX.sub("", (errors or lines or [""])[0]).strip()
        code = self._process.poll()
        if code is None or code >= 0:
            return message or "no error message was printed"
        name = signal.Signals(-code).name
        memory = ", probably because the machine ran out of memory" if name == "SIGKILL" else ""
        return f"the process was killed by {name}{memory}" + (f": {message}" if message else "")

    def stop(self) -> None:
        """Kill the process immediately."""
        self._process.kill()
        for pipe in (self._stdin, self._stdout, self._output):
            with suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()


def count_cores() -> int:
    """Return the number of CPU cores that this process may use."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    limit = int(quota) // int(period) if quota.isdigit() and period.isdigit() else len(allowed)
    return max(1, min(len(allowed), limit))


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return ""
