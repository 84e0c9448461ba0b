"""The process in which llama.cpp works: run as a script, and it imports nothing of ragbed.

It reads its settings as a line of JSON, writes where it listens as another, and ends when its input does, so that
it never outlives who started it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

_ERRORS_ONLY = 1
_BATCH_TOKENS = 512
"""Read in one go. What was cancelled is noticed in between; larger ones are no faster on a processor."""


def main() -> None:
    """Serves until standard input ends."""
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print must not be taken for the answer
    wanted = json.loads(sys.stdin.readline())
    import xllamacpp  # type: ignore[import-untyped]  # noqa: PLC0415 - heavy, and only needed here

    try:
        server = xllamacpp.Server(parameters(xllamacpp.CommonParams(), wanted))
    except RuntimeError:
        sys.exit(1)  # why stands in what llama.cpp has written
    # Who asked may be gone by now. An exception would take down the interpreter under the server's threads, which
    # can block for ever; so this process has one way to end.
    with suppress(BrokenPipeError):
        answer.write(json.dumps(server.listening_address) + "\n")
        answer.flush()
    sys.stdin.read()
    os._exit(0)  # without waiting for what is being computed


def parameters(params: Any, wanted: dict[str, Any]) -> Any:  # noqa: ANN401 - the library has no types
    """Fills in the settings of the engine."""
    params.model.path = wanted["path"]
    params.n_ctx = wanted["context"] * wanted["slots"]
    params.n_parallel = wanted["slots"]
    params.n_batch = _BATCH_TOKENS
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = wanted["threads"]
    params.cache_ram_mib = 0  # prompts come in an order in which the last one is the one to reuse
    params.warmup = False
    params.verbosity = _ERRORS_ONLY
    # Whoever else is on this machine may not use the server.
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, [wanted["key"]]
    params.ui, params.cors_origins = False, "http://127.0.0.1"
    return params


if __name__ == "__main__":
    main()
