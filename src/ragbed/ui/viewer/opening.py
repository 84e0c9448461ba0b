"""Opens runs for as long as they are looked at, with a process that keeps their indexes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragbed.runs.engines.spawning import SafeSpawnContext
from ragbed.ui.viewer.index import remove_unused
from ragbed.ui.viewer.indexing import keep_indexes
from ragbed.ui.viewer.open_runs import OpenRuns


@contextmanager
def open_shelf(paths: Sequence[Path], cache_folder: Path) -> Iterator[OpenRuns]:
    """Opens the runs of some places, and has a process read them into their indexes for as long as the block lasts."""
    remove_unused(cache_folder)
    spawn = SafeSpawnContext()
    inbox, outbox = spawn.Pipe(duplex=False)
    child = spawn.Process(target=keep_indexes, args=(inbox, os.getpid()), daemon=True)
    shelf = OpenRuns(paths, cache_folder, outbox.send)
    child.start()
    try:
        shelf.fill()  # what cannot be read or written is said before a page is opened
        yield shelf
    finally:
        child.terminate()
        child.join()
        shelf.close()
