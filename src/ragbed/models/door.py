"""A server that was never heard is asked one thing at a time: a wrong key then costs a call, and not sixty-four."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ragbed.models.failure import FATAL, Kind

_SLOW_S = 2.0
"""Who is turned away hears of it sooner; a server that is still at it after this long is writing a reply."""


class Door:
    """Opens when the first answer shows that the server can be asked, or is slow in coming.

    Args:
        when_open: Told once.
    """

    def __init__(self, when_open: Callable[[], object]) -> None:
        self.is_open = False
        self._when_open = when_open
        self._timer: asyncio.TimerHandle | None = None

    def knock(self) -> None:
        """A call goes out."""
        if not self.is_open and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SLOW_S, self.open)

    def answered(self, failure: Kind | None) -> None:
        """A call came back, well or with a kind of failure."""
        if failure in FATAL:
            self.close()
        else:
            self.open()

    def open(self) -> None:
        """All may go in."""
        self.close()
        if not self.is_open:
            self.is_open = True
            self._when_open()

    def close(self) -> None:
        """Nobody is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
