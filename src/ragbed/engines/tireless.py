"""A crew for jobs that may be done as often as one likes: what a worker had when it ended is done again."""

from __future__ import annotations

from typing import Any

from ragbed.engines.crew import Crew
from ragbed.errors import RagbedError
from ragbed.models.base import WorkerLost


class Tireless:
    """A crew that does again what a worker had when it ended.

    Args:
        crew: Does it.
        tries: For one job.
    """

    def __init__(self, crew: Crew, tries: int) -> None:
        self._crew, self._tries = crew, tries

    @property
    def room(self) -> int:
        """Of the crew."""
        return self._crew.room

    @property
    def spare(self) -> int:
        """Of the crew."""
        return self._crew.spare

    async def begin(self) -> str:
        """Starts the crew."""
        return await self._crew.begin()

    async def do(self, job: object) -> Any:  # noqa: ANN401  # whatever the hand gives
        """Has a job done."""
        for _ in range(self._tries):
            try:
                return await self._crew.do(job)
            except WorkerLost as error:
                last = error
        raise RagbedError(f"{self._tries} workers ended over one piece of work; the last: {last}")

    async def close(self) -> None:
        """Ends the crew."""
        await self._crew.close()
