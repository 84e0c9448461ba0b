"""Workers that cannot do the work: why, and what to do."""

from __future__ import annotations

from ragbed import __version__
from ragbed.errors import RagbedError

_SAID = 300
"""Characters of what Ray says; the rest is its own concern."""


def check_version(worker: str, driver: str) -> None:
    """Refuses a worker that might do the same work in another way.

    Raises:
        RagbedError: It has another version of ragbed.
    """
    if worker != driver:
        raise RagbedError(
            f"a worker has ragbed {worker}, this is {driver}; install the same one everywhere: "
            f"pip install 'ragbed[ray]=={driver}'"
        )


def is_missing(error: Exception) -> bool:
    """Whether a worker could not begin because it has no ragbed."""
    return "No module named 'ragbed'" in str(error)


def explain_missing(error: Exception) -> str:
    """Why a worker could not begin, and what to do."""
    if is_missing(error):
        return f"the workers have no ragbed; install it on every node: pip install 'ragbed[ray]=={__version__}'"
    return f"a worker cannot begin: {brief(error)}. What is done is kept; the same command goes on."


def brief(error: Exception) -> str:
    """What Ray says, in one line; of a process that is suddenly gone it only knows that nobody answers any more."""
    said = " ".join(str(error).split())
    if "Socket closed" in said or "unavailable" in said or "unexpectedly" in said:
        return "its process was ended, or its node is gone"
    return said[:_SAID]
