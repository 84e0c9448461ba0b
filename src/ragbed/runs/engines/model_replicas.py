"""Present a model's replicas on a cluster as one model; its limits apply to all replicas together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ragbed.environment import variables
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model
from ragbed.schema import Case, Completion
from ragbed.testbeds.search.corpora import SearchCorpus

if TYPE_CHECKING:
    from ragbed.runs.engines.actor_pool import ActorPool

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


class WorkerResponse(NamedTuple):
    """A completion and, if they or the changes to them are new, the parameters that the worker sent to its server."""

    completion: Completion
    sent: Mapping[str, Any] | None
    negotiated: str


class ModelWorker:
    """A model on a worker. A new case can start as soon as another finishes, so no extra jobs are queued."""

    spare = 0

    def __init__(self, spec: str, wish: ModelConfig) -> None:
        # This code runs on another machine, whose own environment provides all variables that are not sent.
        environ = dict(variables()) | dict(wish.environ)
        self._model = open_model(spec, lambda name: replace(wish, model=name, environ=environ))
        self.close = self._model.close
        self._reported: tuple[Mapping[str, Any], str] = ({}, "")

    @property
    def room(self) -> int:
        """The model's concurrency plus the number of cases paused at the server's request."""
        return self._model.concurrency + getattr(self._model, "parked", 0)

    async def begin(self) -> str:
        """Return the model's identity. Parameters will be reported again, as an earlier report may have been lost."""
        self._reported = ({}, "")
        return await self._model.identity()

    async def do(self, job: tuple[Case, int]) -> WorkerResponse:
        """Call the model with a case and its repeat number."""
        completion = await self._model.complete(*job)
        sent: Mapping[str, Any] = getattr(self._model, "sent", {})
        report = (sent, getattr(self._model, "negotiated", ""))
        is_new, self._reported = report != self._reported, report
        return WorkerResponse(completion, sent if is_new else None, report[1])


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

    parked = 0

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
        if response.sent is not None:
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
