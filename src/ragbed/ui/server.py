"""A web server for one person on this machine."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragbed.errors import UsageError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

USUAL_PORT = 7717
"""Taken if it is free, so that addresses stay the same from day to day."""
_LEAVE_S = 1


@dataclass(frozen=True)
class LocalAddress:
    """Where the server listens, and the token that opens it."""

    socket: socket.socket
    token: str

    @property
    def port(self) -> int:
        """At 127.0.0.1."""
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        """To be opened in a browser."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"


def need_serve() -> None:
    """Ends with the install command if a library of the extra `serve` is missing."""
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise UsageError(f"pages in the browser need the library {module}: pip install 'ragbed[serve]'.")


def open_door(port: int | None = None) -> LocalAddress:
    """Takes a port of 127.0.0.1: the one that is named, or the usual one, or any."""
    wanted = [USUAL_PORT, 0] if port is None else [port]
    for number in wanted:
        # Named as TCP, asyncio sends answers at once; otherwise each waits 40 ms for more.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", number))
            listening.listen()  # who opens the address at once waits, and is not refused
        except OSError as error:
            listening.close()
            if number == wanted[-1]:
                raise UsageError(
                    f"port {number} cannot be used ({error.strerror}); name another with --port."
                ) from None
        else:
            return LocalAddress(listening, secrets.token_urlsafe(24))
    raise AssertionError("the last port is taken or raises")


def make_server(door: LocalAddress, app: ASGIApp) -> uvicorn.Server:
    """Return a server for an application; only requests with the token of the address are answered."""
    import uvicorn  # noqa: PLC0415 - an extra

    from ragbed.ui.guard import Guard  # noqa: PLC0415 - an extra

    guarded = Guard(app, door.port, door.token)
    config = uvicorn.Config(
        guarded, log_level="warning", access_log=False, lifespan="off", ws="none", server_header=False,
        timeout_graceful_shutdown=_LEAVE_S,
    )  # fmt: skip
    return uvicorn.Server(config)
