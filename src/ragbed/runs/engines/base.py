"""The interfaces for engines and their workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from ragbed.models import ModelConfig
    from ragbed.models.base import Model

Job = TypeVar("Job")
Result = TypeVar("Result")
Job_contra = TypeVar("Job_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Worker(Protocol[Job_contra, Result_co]):
    """A worker for one type of job, e.g. a model."""

    @property
    def room(self) -> int:
        """The maximum number of concurrent jobs, which may increase over time."""

    @property
    def spare(self) -> int:
        """The part of `room` reserved for queued jobs, which keep the worker busy while results are sent."""

    async def begin(self) -> str:
        """Prepare the worker and return its identity, which must be the same for all workers in a pool."""

    async def do(self, job: Job_contra) -> Result_co:
        """Execute a job and return its result.

        Raises:
            WorkerLost: The worker died, and it is unknown whether the job was done; the job can be repeated.
        """

    async def close(self) -> None:
        """Release all resources."""


class ReplicaSpec(Struct, frozen=True):
    """The number of workers on a cluster, and the resources for each."""

    count: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


class Engine(Protocol):
    """An engine for long-running work; only the main process writes files."""

    @property
    def workers(self) -> int:
        """The number of concurrent workers."""

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """Apply a pure function to jobs and yield the results in order, computing only a few results in advance.

        The function must be at module level, and jobs and results must be picklable.
        """

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """Open the model specified by a model string; limits apply to all of its replicas together."""

    def close(self) -> None:
        """Release all resources."""
