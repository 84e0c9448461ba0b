"""The process that runs llama.cpp: a script that imports nothing of ragbed.

It reads its settings as a line of JSON, writes its URL as another, and ends when its input ends, so that it never
outlives the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

_ERRORS_ONLY = 1
# Tokens that are read in one step. A cancelled request ends between steps; larger ones are not faster on a CPU.
_BATCH_TOKENS = 512


def main() -> None:
    """Serve until standard input ends."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of libraries must not be read as the answer
    settings = json.loads(sys.stdin.readline())
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    try:
        server = xllamacpp.Server(parameters(xllamacpp.CommonParams(), settings))
    except RuntimeError:
        sys.exit(1)  # llama.cpp has written the reason
    # The parent may have ended. An exception would end the interpreter under the threads of the server, which can
    # block forever, so this process has only one way to end.
    with suppress(BrokenPipeError):
        answer.write(json.dumps(server.listening_address) + "\n")
        answer.flush()
    sys.stdin.read()
    os._exit(0)  # exits without waiting for a running computation


def parameters(params: Any, settings: dict[str, Any]) -> Any:  # noqa: ANN401 - the library has no types
    """Fill in the settings of the engine."""
    params.model.path = settings["path"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.n_parallel = settings["slots"]
    params.n_batch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = 0  # prompts are sorted, so that only the last one is worth keeping
    params.warmup = False
    params.verbosity = _ERRORS_ONLY
    # Other users of this machine must not use the server.
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [settings["key"]]
    params.ui, params.cors_origins = False, "http://127.0.0.1"
    return params


if __name__ == "__main__":
    main()
