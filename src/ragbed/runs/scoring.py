"""Open a run whose responses can be scored."""

from __future__ import annotations

from pathlib import Path

from ragbed.errors import UsageError
from ragbed.runs.database import NAME
from ragbed.runs.store import RunStore, open_store


def open_scored(folder: Path) -> RunStore:
    """Open a run whose responses can be scored.

    Raises:
        UsageError: The run is a judge's, whose responses are verdicts.
    """
    store = open_store(folder, create=False)
    if "criterion" not in store.settings():
        return store
    store.connection.close()
    judged = folder.absolute().parent.parent  # judges' runs are in RUN/judge/CRITERION
    where = f": {judged}" if (judged / NAME).is_file() else ""
    raise UsageError(
        f"{folder} contains a judge's model calls, not an evaluation run. Choose the run that was judged{where}."
    )
