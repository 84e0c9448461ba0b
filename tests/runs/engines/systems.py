"""Systems that end their worker."""

from __future__ import annotations

import os
import signal


def end_process(question: str, documents: list[str], lang: str) -> str:
    """End the process as the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""
