"""A model whose copies are on a cluster: it looks like one model, and what the user limits holds for all together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from ragbed.environment import variables
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.schema import Case, Completion

_CARRIED = ("_API_KEY", "_BASE_URL", "HF_TOKEN", "HF_ENDPOINT")
"""Ends of the names in the environment that travel to the workers: who may ask, and where. The rest is the worker's."""
_FLAGS = ("reuses_prefixes", "answers_afresh")


class _Crew(Protocol):
    changed: Callable[[], object]

    @property
    def room(self) -> int: ...
    async def begin(self) -> str: ...
    async def do(self, job: tuple[Case, int]) -> Completion: ...
    async def close(self) -> None: ...


class ModelWorker:
    """A model on a worker."""

    def __init__(self, spec: str, wish: ModelConfig) -> None:
        # The edge of another machine: what is not carried there is as it is set there.
        environ = dict(variables()) | dict(wish.environ)
        self._model = open_model(spec, lambda name: replace(wish, model=name, environ=environ))

    @property
    def room(self) -> int:
        """What the model takes; cases that it has set aside do not count."""
        return self._model.concurrency + getattr(self._model, "parked", 0)

    @property
    def spare(self) -> int:
        """None: a case that has ended makes room for another at once."""
        return 0

    async def begin(self) -> str:
        """The model's identity."""
        return await self._model.identity()

    async def do(self, job: tuple[Case, int]) -> Completion:
        """Asks about a case, for the n-th time."""
        return await self._model.complete(*job)

    async def close(self) -> None:
        """Gives back what the model holds."""
        await self._model.close()


def share_wish(wish: ModelConfig, count: int) -> ModelConfig:
    """What each of several copies is asked for, so that all together keep to what the user limits."""
    carried = {name: value for name, value in wish.environ.items() if name.endswith(_CARRIED)}
    return replace(
        wish,
        environ=carried,
        connections=None if wish.connections is None else max(1, wish.connections // count),
        per_minute=None if wish.per_minute is None else wish.per_minute / count,
        tokens_per_minute=None if wish.tokens_per_minute is None else wish.tokens_per_minute / count,
    )


class ReplicatedModel:
    """Copies of a model as one.

    Args:
        model: The same model here, which says what would be asked and loads nothing.
        crew: Those who ask.
        most: Cases at once, where the user names a number.
    """

    parked = 0

    def __init__(self, model: Model, crew: _Crew, most: int | None) -> None:
        self.name, self.advice, self.request = model.name, model.advice, model.request
        self._crew, self._most = crew, most
        self.concurrency = 1
        self.make_room: Callable[[], object] = lambda: None
        crew.changed = self._fit
        for flag in _FLAGS:
            if hasattr(model, flag):
                setattr(self, flag, True)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Has a copy complete the case."""
        return await self._crew.do((case, repeat))

    async def identity(self) -> str:
        """What the copies say they are: all the same."""
        return await self._crew.begin()

    async def close(self) -> None:
        """Ends the copies."""
        await self._crew.close()

    def _fit(self) -> None:
        """Takes as many cases as there is room; at least one, which waits while all copies are being started again."""
        room = max(1, self._crew.room)
        fits = room if self._most is None else min(room, self._most)
        has_grown, self.concurrency = fits > self.concurrency, fits
        if has_grown:
            self.make_room()
