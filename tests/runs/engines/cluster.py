"""A real cluster on this machine: a head and nodes, each with its own raylet and workers; nodes can be killed."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from ray.cluster_utils import Cluster

from ragbed.runs.engines.replicas import ModelActor

_STORE_BYTES = 80 << 20
_TRIES = 5
"""Ray waits thirty seconds for a node, which is too short on a busy machine."""
_QUICK = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 8,
}
"""Ray notices a dead node within seconds instead of half a minute, but does not take a busy one for dead."""


class Nodes:
    """The nodes of a cluster; its head runs no workers."""

    def __init__(self) -> None:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        self._folder = Path(tempfile.mkdtemp(prefix="rb-", dir="/tmp"))  # sockets need short names
        own_temp = self._folder / "ray"
        own_temp.mkdir()
        head = {"num_cpus": 0, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
        own: dict[str, object] = {"temp_dir": str(own_temp), "_system_config": _QUICK}
        with self.recorded():
            self._cluster = Cluster(initialize_head=True, head_node_args=head | own)
        self.address = str(self._cluster.address)
        self._nodes: list[Any] = []

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Make Ray find this cluster on this machine, by a record in its own folder.

        Ray's default folder may not exist, and may hold the record of a cluster that somebody works on.
        """
        with patch.dict("os.environ", {"RAY_TMPDIR": str(self._folder)}):
            yield

    def add(self, cpus: int = 1, **more: Any) -> Any:
        """Start a node."""
        for _ in range(_TRIES):
            try:
                node = self._cluster.add_node(num_cpus=cpus, object_store_memory=_STORE_BYTES, **more)
            except Exception as error:  # Ray's own has no name
                last = error
            else:
                self._nodes.append(node)
                return node
        raise last

    def kill(self, node: Any = None) -> None:
        """Kill a node as a power failure does; the first one by default."""
        node = node or self._nodes[0]
        self._nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def kill_any(self, draw: Random) -> None:
        """Kill a random node."""
        self.kill(draw.choice(self._nodes))

    def close(self) -> None:
        """End the cluster."""
        with self.recorded():
            self._cluster.shutdown()  # type: ignore[no-untyped-call]  # Ray
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def running_cluster(nodes: int) -> Iterator[Nodes]:
    """Start a cluster with nodes of one core each, because Ray starts processes for every core."""
    cluster = Nodes()
    try:
        for _ in range(nodes):
            cluster.add()
        yield cluster
    finally:
        cluster.close()


def worker_processes() -> list[int]:
    """Return the processes of all workers of pools, on all nodes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            is_one = path.read_bytes().startswith(f"ray::{ModelActor.__name__}".encode())
        except OSError:  # the process has just ended
            continue
        if is_one:
            found.append(int(path.parent.name))
    return found


def wait_for(what: str, holds: Any, seconds: float = 60.0) -> None:
    """Wait until a condition holds, and fail after a time-out."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)
