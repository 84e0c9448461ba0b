"""The Ray engine, which runs models as actors (`replicas.py`).

Only this process plans, decides and writes. Nothing is detached, so all actors end with this process.
"""

# ruff: noqa: PLC0415, ANN401  # Ray takes a second to import and has no types for remote functions.

from __future__ import annotations

import logging
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ragbed import environment
from ragbed.errors import UsageError, option
from ragbed.models import ModelConfig
from ragbed.models.base import Model
from ragbed.runs.engines import ReplicaSpec
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.engines.replicas import ReplicatedModel

INSTALL = "pip install 'ragbed[ray]'"
_CONNECT_S = 5.0
_OWN = "local"  # Ray's address for a new cluster


class RayEngine(LocalEngine):
    """An engine that runs models on a Ray cluster, and all other work on this machine.

    Args:
        address: The head node's address, e.g. 10.0.0.1:6379; `local` or None for a new cluster on this machine, which
            only this process can use.
        share: The number of replicas of each model and the resources for each replica.
        tell: Called with messages for the user.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str | None, share: ReplicaSpec, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._share, self._tell = share, tell
        self._ray = _import_ray()
        self._started = ExitStack()
        self._joins = not self._ray.is_initialized()  # a notebook may already have joined a cluster
        if self._joins:
            self._connect(address or _OWN)

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open as many replicas of the model as the user requested."""
        return ReplicatedModel(self._ray, spec, wish, self._share, self._tell)

    def close(self) -> None:
        """Disconnect from the cluster, which stops this process's workers. A cluster started here is shut down."""
        super().close()
        if self._joins:
            self._ray.shutdown()
        self._started.close()

    def _connect(self, address: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": "ragbed"}
        environment.set_default("RAY_USAGE_STATS_ENABLED", "0")
        if address == _OWN:
            self._start(quiet)
            return
        _check_address(address, self._ray.util.get_node_ip_address())
        try:
            self._ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, self._ray.exceptions.RayError) as error:
            self._ray.shutdown()  # Ray may have joined the cluster before the failure.
            raise UsageError(
                f"the cluster at {address} cannot be joined ({' '.join(str(error).split())}). Check it with "
                f"`ray status --address {address}`. This machine must have the cluster's versions of "
                "Python and Ray and, if it requires a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
            ) from None

    def _start(self, quiet: dict[str, Any]) -> None:
        """Start a cluster that listens only on loopback, requires a token and exits with this process."""
        short = None if sys.platform == "win32" else "/tmp"  # noqa: S108 - socket paths must be short
        folder = tempfile.mkdtemp(prefix="rb-", dir=short)
        self._started.callback(shutil.rmtree, folder, ignore_errors=True)
        self._started.enter_context(_new_token())
        try:
            with _loopback_only(self._ray):
                self._ray.init(address=_OWN, include_dashboard=False, _temp_dir=folder, **quiet)
        except BaseException:
            self.close()
            raise


def _import_ray() -> Any:
    try:
        import ray.exceptions
    except ModuleNotFoundError:
        raise UsageError(f"{option('engine', 'ray')} requires ray, which is not installed: {INSTALL}") from None
    # Ray reports dead workers on stdout, which would corrupt the --json output; ragbed reports dead workers itself.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


@contextmanager
def _loopback_only(ray: Any) -> Iterator[None]:
    """Make Ray listen on 127.0.0.1, as it does on macOS. On Linux, Ray would use an external address instead."""
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _new_token() -> Iterator[None]:
    """Make a new cluster require a token that only this process and its children know."""
    with ExitStack() as stack:
        stack.callback(_reload_token)  # runs after the variables are restored
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        stack.enter_context(environment.temporary(token))
        _reload_token()
        yield


def _reload_token() -> None:
    """Make Ray reload its authentication settings, which it caches, from the environment."""
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]  # compiled

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def _check_address(address: str, own_ip: str) -> None:
    """Check within seconds that the head node accepts connections; Ray would take minutes."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise UsageError(
            f"{option('cluster', address)} is not the address of a head node. Use an address such as 10.0.0.1:6379, "
            "and run the command on a machine in the cluster, e.g. with `ray job submit`."
        )
    if host in ("localhost", "127.0.0.1"):
        host = own_ip  # use the same address as Ray, because a head node does not listen on localhost
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except (OSError, OverflowError) as error:  # OverflowError: the port number is too large
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"there is no cluster at {address} ({why}). Start one with `ray start --head`, or omit "
            f"{option('cluster')} to use this machine."
        ) from None
