"""Types commands as a user does: the real program, in this process."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from unittest.mock import patch

from ragbed.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def type_command(*words: str, env: dict[str, str] | None = None) -> Done:
    """Runs `ragbed` with these words; what it prints and its exit code come back."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    code = 0
    with (
        patch.object(sys, "argv", ["ragbed", *words]),
        patch.object(sys, "stdout", out),
        patch.object(sys, "stderr", err),
        patch.dict("os.environ", {"COLUMNS": "200"} | (env or {})),
    ):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1 if stop.code else 0
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Done(code, *texts)
