"""The Ray engine, which runs models as actors (`replicas.py`).

Only this process plans, decides and writes. Nothing is detached, so all actors end with this process.
"""

# ruff: noqa: PLC0415, ANN401  # Ray takes a second to import and has no types for remote functions.

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
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


class RayEngine(LocalEngine):
    """An engine that runs models on a Ray cluster, and all other work on this machine.

    Args:
        address: The head node's address, e.g. 10.0.0.1:6379; None if this process has already joined a cluster.
        share: The number of replicas of each model and the resources for each replica.
        tell: Called with messages for the user.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str | None, share: ReplicaSpec, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._share, self._tell = share, tell
        self._ray = _import_ray()
        self._joins = not self._ray.is_initialized()  # a notebook may already have joined a cluster
        if self._joins:
            if address is None:
                raise UsageError(
                    f"{option('engine', 'ray')} requires a cluster. Start one with `ray start --head`, and add "
                    f"{option('cluster', 'HOST:PORT')}."
                )
            self._connect(address)

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open as many replicas of the model as the user requested."""
        return ReplicatedModel(self._ray, spec, wish, self._share, self._tell)

    def close(self) -> None:
        """Disconnect from the cluster, which stops this process's workers."""
        super().close()
        if self._joins:
            self._ray.shutdown()

    def _connect(self, address: str) -> None:
        environment.set_default("RAY_USAGE_STATS_ENABLED", "0")
        _check_address(address, self._ray.util.get_node_ip_address())
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, namespace="ragbed")
        except (ConnectionError, RuntimeError, self._ray.exceptions.RayError) as error:
            self._ray.shutdown()  # Ray may have joined the cluster before the failure.
            raise UsageError(
                f"the cluster at {address} cannot be joined ({' '.join(str(error).split())}). Check it with "
                f"`ray status --address {address}`. This machine must have the cluster's versions of "
                "Python and Ray and, if it requires a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
            ) from None


def _import_ray() -> Any:
    try:
        import ray.exceptions
    except ModuleNotFoundError:
        raise UsageError(f"{option('engine', 'ray')} requires ray, which is not installed: {INSTALL}") from None
    # Ray reports dead workers on stdout, which would corrupt the --json output; ragbed reports dead workers itself.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


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
        raise UsageError(f"there is no cluster at {address} ({why}). Start one with `ray start --head`.") from None
