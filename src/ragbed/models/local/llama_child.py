"""The process that runs llama.cpp: a standalone script that imports nothing from ragbed.

It reads its settings as a line of JSON, writes its URL as another line, and exits when its input is closed, so it never
outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

_ERRORS_ONLY = 1
# Number of prompt tokens per step. A cancelled request stops between steps, and larger steps are not faster on a CPU.
_BATCH_TOKENS = 512


def main() -> None:
    """Serve requests until standard input is closed."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # redirect library output to stderr, because the parent reads the URL from stdout
    settings = json.loads(sys.stdin.readline())
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    try:
        server = xllamacpp.Server(parameters(xllamacpp.CommonParams(), settings))
    except RuntimeError:
        sys.exit(1)  # llama.cpp has already printed the reason
    # Ignore the error raised if the parent has already exited: an uncaught exception would shut down the interpreter
    # while server threads are running, and the shutdown could block forever.
    with suppress(BrokenPipeError):
        answer.write(json.dumps(server.listening_address) + "\n")
        answer.flush()
    sys.stdin.read()
    os._exit(0)  # exit without waiting for a running computation


def parameters(params: Any, settings: dict[str, Any]) -> Any:  # noqa: ANN401 - the library has no types
    """Apply the settings to llama.cpp's parameters."""
    params.model.path = settings["path"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.n_parallel = settings["slots"]
    params.n_batch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = 0  # prompts are sorted, so caching more than the last prompt would not help
    params.warmup = False
    params.verbosity = _ERRORS_ONLY
    # Other users on this machine must not be able to use the server.
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [settings["key"]]
    params.ui, params.cors_origins = False, "http://127.0.0.1"
    return params


if __name__ == "__main__":
    main()
