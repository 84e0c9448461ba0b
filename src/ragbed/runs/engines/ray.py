"""A Ray cluster: functions as its tasks, models and readers as its actors; Ray places them and starts them again.

This process stays the only one that plans, decides and writes. Nothing is detached: what it began ends with it.
"""

# ruff: noqa: PLC0415, ANN401  # Ray takes a second to import, and has no types for what it makes of a function

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ragbed import __version__, environment
from ragbed.errors import RagbedError, UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.runs.engines.actor_pool import ActorPool, RetryingPool
from ragbed.runs.engines.base import ReplicaSpec, Worker
from ragbed.runs.engines.model_replicas import ModelWorker, ReplicatedModel, share_wish
from ragbed.runs.engines.worker_errors import check_version, explain_missing, is_missing

INSTALL = "pip install 'ragbed[ray]'"
_AHEAD = 3
"""Jobs for each core that are under way or done and not taken."""
_RETRIES = 20
"""Times that a job is given to another worker because its own ended: more than one job is likely to meet."""
_KNOCK_S = 5.0
_OWN = "local"
"""In place of an address: Ray's own word for a cluster that is started for this work, as is done without one."""
_RUNNING = "auto"
"""In place of an address: Ray's own word for the cluster that `ray start` started on this machine."""
_SETTINGS = b"\x04"
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _SETTINGS + bytes(5)
"""How a client of HTTP/2, and so of gRPC, begins: with its settings, which it answers with its own."""
Job = TypeVar("Job")
Result = TypeVar("Result")


class RayEngine:
    """A cluster.

    Args:
        address: The head node's address, e.g. 10.0.0.1:6379. auto: this user's cluster on this machine. local or None:
            a new cluster on this machine, which only this process can use.
        share: How many copies of a model, and what each needs.
        tell: Told what the user should know and the work survives.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """

    shares_disk = False

    def __init__(self, address: str | None, share: ReplicaSpec, tell: Callable[[str], None]) -> None:
        self._share, self._tell = share, tell
        self._ray = _import_ray()
        self._started = ExitStack()
        self._joins = not self._ray.is_initialized()  # a notebook may have joined before, and stays
        if self._joins:
            with _keeping_signals():
                self._connect(address or _OWN)

    @property
    def workers(self) -> int:
        """The cores of the cluster."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """See `Engine`; a job whose worker or node ends is given to another one by Ray."""
        task = self._ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(_do)
        waiting: deque[Any] = deque()
        most = self.workers * _AHEAD
        try:
            for job in jobs:
                waiting.append(task.remote(__version__, work, job))
                if len(waiting) >= most:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for left in waiting:
                self._ray.cancel(left, force=True)

    def staff(self, make: Callable[[int], Worker[Job, Result]]) -> Worker[Job, Result]:
        """See `Engine`: a hand for each core."""
        return RetryingPool(ActorPool(self._ray, partial(make, 1), ReplicaSpec(self.workers), self._tell), _RETRIES)

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """See `Engine`: copies of the model, as many as the user asked for."""
        self._check_room()
        model = open_model(spec, lambda name: replace(wish, model=name, loads=False))
        hand = partial(ModelWorker, spec, share_wish(wish, self._share.count))
        return ReplicatedModel(model, ActorPool(self._ray, hand, self._share, self._tell), wish.connections)

    def close(self) -> None:
        """Leave the cluster, which then ends this process's workers. A cluster that was started here ends."""
        if self._joins:
            self._ray.shutdown()
        self._started.close()

    def _connect(self, address: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": "ragbed"}
        environment.set_default("RAY_USAGE_STATS_ENABLED", "0")
        if address == _OWN:
            self._start(quiet)
            return
        if address == _RUNNING:
            address = _find_running(self._ray)
            self._tell(f"Using the Ray cluster at {address}.")
        _ask_in(self._ray, address, _knock(address, self._ray.util.get_node_ip_address()))
        try:
            self._ray.init(address=address, **quiet)
        except ConnectionError as error:
            raise UsageError(f"{address} answers, but not as a Ray cluster: {_line(error)}") from None
        except RuntimeError as error:
            self._ray.shutdown()  # Ray may have joined before it failed.
            raise UsageError(_tell_apart(address, error)) from None

    def _start(self, quiet: dict[str, Any]) -> None:
        """Start a cluster that listens on loopback only, asks for a token and ends with this process."""
        folder = tempfile.mkdtemp(prefix="rb-", dir="/tmp")  # Socket paths must be short.
        self._started.callback(shutil.rmtree, folder, ignore_errors=True)
        self._started.enter_context(_new_token())
        try:
            with _loopback_only(self._ray):
                self._ray.init(address=_OWN, include_dashboard=False, _temp_dir=folder, **quiet)
        except BaseException:
            self.close()
            raise

    def _check_room(self) -> None:
        """One copy must fit on some node; how many fit is up to the cluster, which may grow."""
        wanted = {"CPU": self._share.cpus, "GPU": self._share.gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node.get(kind, 0) >= amount for kind, amount in wanted.items()) for node in nodes):
            has = "; ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
            raise UsageError(
                f"a copy of the model wants {wanted['CPU']:g} CPUs and {wanted['GPU']:g} GPUs, and no node of the "
                f"cluster has these ({has}); lower --cpus-per-replica and --gpus-per-replica, or add a node."
            )

    def _result(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, RagbedError):
                raise error.cause from None
            if is_missing(error):
                raise RagbedError(explain_missing(error)) from None
            raise
        except self._ray.exceptions.RayError as error:
            raise RagbedError(explain_missing(error)) from None


def _do(version: str, work: Callable[[Job], Result], job: Job) -> Result:
    """A task of the cluster: Ray makes one of a plain function only, and work may have arguments bound."""
    check_version(__version__, version)
    return work(job)


def _import_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ModuleNotFoundError:
        raise UsageError(f"--engine ray needs the library ray, which is not installed: {INSTALL}") from None
    # It prints what its nodes say of workers that ended on stdout, which belongs to --json; we say it ourselves.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


@contextmanager
def _loopback_only(ray: Any) -> Iterator[None]:
    """Make Ray listen on 127.0.0.1 as it does on macOS: on Linux it replaces any loopback address it is given."""
    constants = ray._private.ray_constants
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _new_token() -> Iterator[None]:
    """Let a cluster that is started ask for a token that only this process and its children know."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        with environment.temporary(token):
            _reload_token()
            yield
    finally:
        _reload_token()


def _reload_token() -> None:
    """Make Ray read its authentication settings from the environment again: it keeps them from the first time."""
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]  # compiled

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


def _find_running(ray: Any) -> str:
    """Return the address of the cluster that `ray start` started last on this machine, if it is this user's."""
    import psutil  # type: ignore[import-untyped]  # Ray brings it.

    address = ray._private.utils.read_ray_address()
    if not address:
        raise UsageError(
            "--cluster auto: no Ray cluster was started on this machine. Start one with `ray start --head`, or leave "
            "--cluster out to use a cluster that ends with the command."
        )
    for process in psutil.process_iter(["cmdline", "uids"]):
        owner, words = process.info["uids"], process.info["cmdline"] or ()
        if owner and owner.real == os.getuid() and f"--gcs-address={address}" in words:
            return str(address)
    raise UsageError(
        f"--cluster auto: the Ray cluster at {address} has ended or belongs to another user, who could read your API "
        f"keys there. To join it nevertheless, use --cluster {address}."
    )


def _knock(address: str, own_ip: str) -> str:
    """Finds out in seconds what Ray would find out in minutes; gives the address at which the head node listens."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise UsageError(
            f"--cluster {address}: write the head node's own address, as 10.0.0.1:6379, and type the command on a "
            "machine of the cluster; `ray job submit` brings it there."
        )
    if host in ("localhost", "127.0.0.1"):
        host = own_ip  # as Ray does: a head node listens there
    try:
        line = socket.create_connection((host.strip("[]"), int(port)), _KNOCK_S)
    except (OSError, OverflowError) as error:  # the latter: no port has such a number
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"there is no cluster at {address} ({why}); start one with "
            "`ray start --head`, or leave --cluster out to work on this machine."
        ) from None
    if not _is_grpc(line):
        raise UsageError(
            f"{address} answers, but not as a Ray cluster; write the address that `ray start --head` told."
        )
    return f"{host}:{port}"


def _is_grpc(line: socket.socket) -> bool:
    """Whether the other end speaks as Ray's head nodes do; one that wants TLS does not say so and is left to Ray."""
    if environment.variables().get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        line.close()
        return True
    with line, suppress(OSError):
        line.sendall(_HELLO)
        return line.recv(9)[3:4] == _SETTINGS
    return False


def _ask_in(ray: Any, address: str, heard_at: str) -> None:
    """Ray would knock for half a minute before it says that it has no token, or a wrong one."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]  # compiled

    try:
        GcsClient(address=heard_at)
    except ray.exceptions.RayError as error:
        if "AuthToken" not in str(error):
            return  # ray.init tells it better
        raise UsageError(
            f"the cluster at {address} wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to what "
            "`ray get-auth-token` prints on its head node."
        ) from None


def _tell_apart(address: str, error: RuntimeError) -> str:
    if "Version mismatch" in str(error):
        return f"the cluster at {address} has other versions: {_line(error)} Install the cluster's versions here."
    return f"the cluster at {address} cannot be joined: {_line(error)}"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@contextmanager
def _keeping_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; what to do then is decided elsewhere."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
