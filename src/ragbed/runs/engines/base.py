"""What an engine is: something that does long work, here or on many machines, with the same results to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ragbed.models import ModelConfig
from ragbed.models.base import Model

Job = TypeVar("Job")
Result = TypeVar("Result")
Job_contra = TypeVar("Job_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Worker(Protocol[Job_contra, Result_co]):
    """Does one kind of job and holds what it takes: a model, or a child that reads documents."""

    @property
    def room(self) -> int:
        """How many jobs it takes at once; may grow."""
        ...

    @property
    def spare(self) -> int:
        """How many of these wait so that it never runs dry; their results can travel together."""
        ...

    async def begin(self) -> str:
        """Gets ready, and tells what it is: hands that do the same work must be the same."""
        ...

    async def do(self, job: Job_contra) -> Result_co:
        """Does a job.

        Raises:
            WorkerLost: Who had it is gone, and nobody knows how far it came; it can be given again.
        """
        ...

    async def close(self) -> None:
        """Gives back what it holds."""
        ...


@dataclass(frozen=True)
class ReplicaSpec:
    """What one worker of a cluster needs, and how many there are to be."""

    count: int = 1
    cpus: float = 1.0
    gpus: float = 0.0


class Engine(Protocol):
    """Where long work is done. The process that holds it stays the only one that writes."""

    shares_disk: bool
    """Whether who does the work can open the files that this process can."""

    @property
    def workers(self) -> int:
        """How many things are done at once."""
        ...

    def spread(self, work: Callable[[Job], Result], jobs: Iterable[Job]) -> Iterator[Result]:
        """What a pure function makes of jobs, in their order; few are ahead of who takes the results.

        The function must be one of a module, and jobs and results must be able to travel.
        """
        ...

    def staff(self, make: Callable[[int], Worker[Job, Result]]) -> Worker[Job, Result]:
        """One hand that stands for all workers: `make` makes one where a worker is, for so many cores.

        A job whose worker ends is done again by another: it must not matter how often it is done.
        """
        ...

    def open_model(self, spec: str, wish: ModelConfig) -> Model:
        """The model that a string names; limits of the wish hold for all its copies together."""
        ...

    def close(self) -> None:
        """Ends whatever it began."""
        ...
