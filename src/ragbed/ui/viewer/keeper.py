"""Keep the tables of all open runs up to date in a process of its own."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from ragbed.errors import RagbedError
from ragbed.text import storable_name
from ragbed.ui.viewer.search_index import SearchIndex

_LOOK_EVERY_S = 0.5
_AGAIN_AFTER_S = 5.0  # seconds before retrying a run that could not be read


class Kept(NamedTuple):
    """A run, the folder of its table, and the run's device and inode, which change if the run is recreated."""

    run: Path
    place: Path
    file: tuple[int, int]


def keep_tables(inbox: Connection, parent: int) -> None:
    """Keep the tables of runs up to date until the parent process exits.

    Args:
        inbox: Receives the list of runs whenever it changes.
        parent: Process that serves the pages.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which terminates this process.
    if hasattr(os, "nice"):  # not available on Windows
        os.nice(5)  # Lower this process's priority, so that pages are served first.
    wanted: list[Kept] = []
    opened: dict[Kept, SearchIndex] = {}
    resting: dict[Kept, float] = {}
    worked = False
    while os.getppid() == parent:
        try:
            if inbox.poll(0.0 if worked else _LOOK_EVERY_S):
                wanted = inbox.recv()
                for gone in opened.keys() - set(wanted):
                    opened.pop(gone).close()
        except (EOFError, BrokenPipeError):  # The parent has exited; on Windows, getppid() still returns its old ID.
            return
        due = [kept for kept in wanted if resting.get(kept, 0.0) <= time.monotonic()]
        worked = sum(_advance(kept, opened, resting) for kept in due) > 0


def _advance(kept: Kept, opened: dict[Kept, SearchIndex], resting: dict[Kept, float]) -> bool:
    """Score or index a batch of a run's results; if the run cannot be read, retry later."""
    try:
        if kept not in opened:
            opened[kept] = SearchIndex(kept.run, kept.place)
        return opened[kept].step()
    except (RagbedError, sqlite3.Error, OSError) as error:
        resting[kept] = time.monotonic() + _AGAIN_AFTER_S
        if kept in opened:
            with suppress(sqlite3.Error):  # The error cannot be stored in a damaged table.
                opened[kept].note_problem(storable_name(str(error)))
        return False
