"""The Ray engine, which runs functions as tasks, and models as actors (`actors.py`).

Only this process plans, decides and writes. Nothing is detached, so all tasks and actors end with this process.
"""

# ruff: noqa: PLC0415, ANN401  # Ray takes a second to import and has no types for remote functions.

from __future__ import annotations

import logging
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ragbed import __version__, environment
from ragbed.errors import RagbedError, UsageError, option
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.runs.engines import ReplicaSpec
from ragbed.runs.engines.actors import (
    WARN_AFTER_S,
    ActorPool,
    check_version,
    explain_lost_job,
    explain_start_failure,
    lacks_ragbed,
    shorten,
)
from ragbed.schema import Case, Completion
from ragbed.testbeds.search.corpora import SearchCorpus

INSTALL = "pip install 'ragbed[ray]'"
_AHEAD = 3  # maximum number of running and queued jobs per core
_RETRIES = 20  # maximum number of retries if a job's worker dies; after that, the job itself is the likely cause
_CONNECT_S = 5.0
_OWN = "local"  # Ray's address for a new cluster
# The preface and SETTINGS frame of an HTTP/2 (or gRPC) client, to which a server responds with its own SETTINGS.
_SETTINGS = b"\x04"
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + _SETTINGS + bytes(5)
# Environment variables whose names end with one of these suffixes (keys and URLs) are sent to the workers. For all
# other variables, workers use their own values.
_CARRIED = (
    "_API_KEY",
    "_BASE_URL",
    "AZURE_OPENAI_ENDPOINT",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "HF_TOKEN",
    "HF_ENDPOINT",
)
# The optional attributes of a model that its replicas have in common.
_SHARED = (
    "reuses_prefixes",
    "answers_afresh",
    "replays",
    "languages",
    "check_provided",
    "takes_prompts",
    "header_names",
)
Job = TypeVar("Job")
Result = TypeVar("Result")


class RayEngine:
    """An engine that runs work on a Ray cluster.

    Args:
        address: The head node's address, e.g. 10.0.0.1:6379; `local` or None for a new cluster on this machine, which
            only this process can use.
        share: The number of replicas of each model and the resources for each replica.
        tell: Called with messages for the user.

    Raises:
        UsageError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str | None, share: ReplicaSpec, tell: Callable[[str], None]) -> None:
        self._share, self._tell = share, tell
        self._ray = _import_ray()
        self._started, self._has_warned = ExitStack(), False
        self._joins = not self._ray.is_initialized()  # a notebook may already have joined a cluster
        if self._joins:
            with _keeping_signals():
                self._connect(address or _OWN)

    @property
    def workers(self) -> int:
        """The number of cores in the cluster."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Apply a function to each job (see `Engine`). Ray retries a job elsewhere if its worker or node dies."""
        task = self._ray.remote(num_cpus=1, max_retries=_RETRIES, scheduling_strategy="SPREAD")(_do)
        waiting: deque[Any] = deque()
        max_waiting = self.workers * _AHEAD
        try:
            for job in jobs:
                waiting.append(task.remote(__version__, work, job))
                if len(waiting) >= max_waiting:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            for left in waiting:
                self._ray.cancel(left, force=True)

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open as many replicas of the model as the user requested."""
        self._check_room()
        model = open_model(spec, lambda name: replace(wish, model=name, loads=False))
        make = partial(ModelWorker, spec, share_wish(wish, self._share.count))
        return ReplicatedModel(model, ActorPool(self._ray, make, self._share, self._tell), wish.connections)

    def close(self) -> None:
        """Disconnect from the cluster, which stops this process's workers. A cluster started here is shut down."""
        if self._joins:
            self._ray.shutdown()
        self._started.close()

    def _connect(self, address: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": "ragbed"}
        environment.set_default("RAY_USAGE_STATS_ENABLED", "0")
        if address == _OWN:
            self._start(quiet)
            return
        _check_token(self._ray, address, _check_address(address, self._ray.util.get_node_ip_address()))
        try:
            self._ray.init(address=address, **quiet)
        except ConnectionError as error:
            raise UsageError(
                f"{address} responds, but is not a Ray cluster ({_line(error)}). Use the address that `ray start "
                "--head` printed."
            ) from None
        except RuntimeError as error:
            self._ray.shutdown()  # Ray may have joined the cluster before the failure.
            reason, fix = f"cannot be joined ({_line(error)}).", f" Check it with `ray status --address {address}`."
            if "Version mismatch" in str(error):
                reason, fix = (
                    f"has different versions: {_line(error)}",
                    " Install the cluster's versions on this machine.",
                )
            raise UsageError(f"the cluster at {address} {reason}{fix}") from None

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

    def _check_room(self) -> None:
        """Check that one replica fits on a node. The number of replicas is not checked, as the cluster may grow."""
        wanted = {"CPU": self._share.cpus, "GPU": self._share.gpus}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node.get(kind, 0) >= amount for kind, amount in wanted.items()) for node in nodes):
            has = "; ".join(f"{node.get('CPU', 0):g} CPUs and {node.get('GPU', 0):g} GPUs" for node in nodes)
            raise UsageError(
                f"a replica of the model requires {wanted['CPU']:g} CPUs and {wanted['GPU']:g} GPUs, but no "
                f"node in the cluster has that many ({has}). Lower {option('cpus_per_replica')} and "
                f"{option('gpus_per_replica')}, "
                "or add a node."
            )

    def _result(self, reference: Any) -> Any:
        try:
            if not self._has_warned and not self._ray.wait([reference], timeout=WARN_AFTER_S)[0]:
                self._has_warned = True
                self._tell(
                    f"no job has finished for {WARN_AFTER_S:g} s. Either a job takes that long, or all nodes of the "
                    "cluster are busy or have left it; `ray status` shows which."
                )
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            if isinstance(error, self._ray.exceptions.RayTaskError) and not lacks_ragbed(error):
                raise (error.cause if isinstance(error.cause, RagbedError) else error) from None
            lost = (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.OutOfMemoryError)
            if isinstance(error, lost):
                raise RagbedError(explain_lost_job(_RETRIES + 1, shorten(error))) from None
            raise RagbedError(explain_start_failure(error)) from None


class WorkerResponse(NamedTuple):
    """A completion, the parameters that the worker sent to its server, and a description of the changes to them."""

    completion: Completion
    sent: Mapping[str, Any]
    negotiated: str


class ModelWorker:
    """A model on a worker."""

    def __init__(self, spec: str, wish: ModelConfig) -> None:
        # This code runs on another machine, whose own environment provides all variables that are not sent.
        environ = dict(environment.variables()) | dict(wish.environ)
        self._model = open_model(spec, lambda name: replace(wish, model=name, environ=environ))
        self.begin, self.close = self._model.identity, self._model.close

    @property
    def room(self) -> int:
        """The model's concurrency."""
        return self._model.concurrency

    async def do(self, job: tuple[Case, int]) -> WorkerResponse:
        """Call the model with a case and its repeat number."""
        completion = await self._model.complete(*job)
        return WorkerResponse(completion, getattr(self._model, "sent", {}), getattr(self._model, "negotiated", ""))


def share_wish(wish: ModelConfig, count: int) -> ModelConfig:
    """Return the configuration for each replica, with its share of the user's limits."""
    carried = {name: value for name, value in wish.environ.items() if name.endswith(_CARRIED)}
    return replace(
        wish,
        environ=carried,
        # Systems that use the search tool run only in the main process, and language models search through it.
        corpora={key: corpus for key, corpus in wish.corpora.items() if not isinstance(corpus, SearchCorpus)},
        connections=None if wish.connections is None else max(1, wish.connections // count),
        per_minute=None if wish.per_minute is None else wish.per_minute / count,
        tokens_per_minute=None if wish.tokens_per_minute is None else wish.tokens_per_minute / count,
    )


class ReplicatedModel:
    """A model's replicas presented as one model.

    Args:
        model: The same model in this process, which builds the requests but does not load weights.
        pool: The replicas.
        max_cases: The maximum concurrency, or None if the user has not set one.

    Attributes:
        sent: The parameters that a replica most recently sent to its server, without the prompt.
        negotiated: The changes that this replica has made for its server.
    """

    def __init__(self, model: Model, pool: ActorPool, max_cases: int | None) -> None:
        self.name, self.advice, self.request = model.name, model.advice, model.request
        self._pool, self._max_cases = pool, max_cases
        self.identity, self.close = pool.begin, pool.close
        self.concurrency, self.negotiated = 1, ""
        self.sent: Mapping[str, Any] = {}
        self.make_room: Callable[[], object] = lambda: None
        pool.changed = self._fit
        self.cache_scope: str = getattr(model, "cache_scope", "")
        self.calls_tools: bool = getattr(model, "calls_tools", False)
        for name in _SHARED:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Call a replica with a case."""
        response: WorkerResponse = await self._pool.do((case, repeat))
        # A replica whose calls have all failed reports only its changes.
        self.sent, self.negotiated = response.sent or self.sent, response.negotiated
        return response.completion

    def _fit(self) -> None:
        """Set the concurrency; it is at least 1, so that a case can wait while all replicas restart."""
        room = max(1, self._pool.room)
        fits = room if self._max_cases is None else min(room, self._max_cases)
        has_grown, self.concurrency = fits > self.concurrency, fits
        if has_grown:
            self.make_room()


def _do(version: str, work: Callable[[Job], Result], job: Job) -> Result:
    """Run one job as a Ray task. Ray tasks must be plain functions, but `work` may be a `functools.partial`."""
    check_version(__version__, version)
    return work(job)


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


def _check_address(address: str, own_ip: str) -> str:
    """Check within seconds that the head node responds (Ray would take minutes), and return its address."""
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise UsageError(
            f"{option('cluster', address)} is not the address of a head node. Use an address such as 10.0.0.1:6379, "
            "and run "
            "the command on a machine in the cluster, e.g. with `ray job submit`."
        )
    if host in ("localhost", "127.0.0.1"):
        host = own_ip  # use the same address as Ray, because a head node does not listen on localhost
    try:
        line = socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S)
    except (OSError, OverflowError) as error:  # OverflowError: the port number is too large
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"there is no cluster at {address} ({why}). Start one with `ray start --head`, or omit "
            f"{option('cluster')} to use this machine."
        ) from None
    if not _is_grpc(line):
        raise UsageError(
            f"{address} responds, but is not a Ray cluster. Use the address that `ray start --head` printed."
        )
    return f"{host}:{port}"


def _is_grpc(line: socket.socket) -> bool:
    """Return whether the server speaks gRPC, as head nodes do. With TLS, return True and let Ray check the server."""
    if environment.variables().get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        line.close()
        return True
    with line, suppress(OSError):
        line.sendall(_HELLO)
        return line.recv(9)[3:4] == _SETTINGS
    return False


def _check_token(ray: Any, address: str, listens_at: str) -> None:
    """Report a missing or invalid token immediately; Ray would retry for half a minute."""
    from ray._raylet import GcsClient  # type: ignore[attr-defined]  # compiled

    try:
        GcsClient(address=listens_at)
    except ray.exceptions.RayError as error:
        if "AuthToken" not in str(error):
            return  # `ray.init` will raise a clearer error
        raise UsageError(
            f"the cluster at {address} requires a token: set RAY_AUTH_MODE=token, and set RAY_AUTH_TOKEN to the "
            "output of `ray get-auth-token` on its head node."
        ) from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


@contextmanager
def _keeping_signals() -> Iterator[None]:
    """Restore the signal handlers that Ray replaces."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
