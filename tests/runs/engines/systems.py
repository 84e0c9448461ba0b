"""Systems that do to a worker what nobody wishes for."""

from __future__ import annotations

import os
import signal


def end_process(question: str, documents: list[str], lang: str) -> str:
    """What the kernel does to a process when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""
