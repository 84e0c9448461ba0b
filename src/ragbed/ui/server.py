"""Serve web pages to one user on this machine."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ragbed.errors import UsageError, option

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

USUAL_PORT = 7717  # Default port, used whenever it is free, so that the URL stays the same.
_SHUTDOWN_S = 1


@dataclass(frozen=True)
class LocalAddress:
    """A listening socket on 127.0.0.1, and its access token."""

    socket: socket.socket
    token: str

    @property
    def port(self) -> int:
        """Return the port on which the socket listens."""
        return int(self.socket.getsockname()[1])

    @property
    def address(self) -> str:
        """Return the URL to open in a browser."""
        return f"http://127.0.0.1:{self.port}/#{self.token}"


def need_serve() -> None:
    """Raise an error with the install command if a library from the `serve` extra is missing."""
    for module in ("starlette", "uvicorn"):
        if find_spec(module) is None:
            raise UsageError(f"the browser interface requires {module}: pip install 'ragbed[serve]'.")


def open_port(port: int | None = None) -> LocalAddress:
    """Listen on the given port of 127.0.0.1; if the port is None, try the default port and then any free port."""
    try:
        return _listen(USUAL_PORT if port is None else port)
    except OSError as error:
        if port is not None:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror}). Choose another one with {option('port')}."
            ) from None
        return _listen(0)


def _listen(port: int) -> LocalAddress:
    # If the protocol is given as TCP, asyncio sends responses at once instead of waiting 40 ms for more data.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen()  # Browsers that connect before the server is running wait instead of being refused.
    except OSError:
        listening.close()
        raise
    return LocalAddress(listening, secrets.token_urlsafe(24))


def make_server(address: LocalAddress, app: ASGIApp) -> uvicorn.Server:
    """Return a server for an application; only browsers that have the token can use the server."""
    import uvicorn  # noqa: PLC0415 - an extra

    from ragbed.ui.http_app import Guard  # noqa: PLC0415 - an extra

    config = uvicorn.Config(
        Guard(app, address.port, address.token),
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    return uvicorn.Server(config)
