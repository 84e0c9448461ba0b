"""Progress of API functions: bars in terminals and notebooks, or an object of the caller that receives updates."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from ragbed.runs.call_loop import CallProgress

_LOGGER = logging.getLogger("ragbed")


class Progress:
    """Receives the messages and the progress of an API function; this class shows only the messages.

    Subclass it and pass an instance as `progress=` to show them elsewhere.
    """

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def message(self, text: str) -> None:
        """Show a message that the user should read, e.g. a warning; by default a record of the logger `ragbed`."""
        _LOGGER.warning("%s", text)

    def calls(self, model: str, state: CallProgress) -> None:
        """Show how many calls of a model are finished."""

    def count(self, task: str, done: int, total: int | None = None) -> None:
        """Show how many units of a task are finished."""

    def close(self) -> None:
        """Remove what is shown: the function has ended."""


ProgressOption: TypeAlias = "bool | Progress"


def open_progress(option: ProgressOption) -> Progress:
    """Return the object that receives the progress: bars for True, messages only for False."""
    if isinstance(option, Progress):
        return option
    return Progress()
