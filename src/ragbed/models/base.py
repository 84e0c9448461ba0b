"""The protocol that all models implement, and protocols for optional features."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from ragbed.models.thoughts import split_response
from ragbed.schema import Case, Completion, Lang, Served
from ragbed.text import storable

if TYPE_CHECKING:
    from ragbed.models.providers.batches import BatchService
    from ragbed.models.providers.negotiation import Learned, Negotiation
    from ragbed.models.token_limit import TokenLimit

CONTEXT_FULL = "model_context_window_exceeded"  # the finish reason of a response that filled the context window
ENDED_EARLY = ("length", CONTEXT_FULL)  # finish reasons of truncated responses
_MAX_NAME = 200  # maximum number of characters in a name or ID that a server reports; longer ones are truncated
# The language codes that model cards use for each supported language.
_CODES: dict[Lang, frozenset[str]] = {
    "en": frozenset({"en", "eng", "multilingual"}),
    "zh": frozenset({"zh", "zho", "chi", "cmn", "yue", "multilingual"}),
}


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """The request parameters other than the model and the messages.

    Attributes:
        temperature: Sampling temperature, or None to omit it from requests.
        top_p: Nucleus sampling probability.
        max_tokens: Maximum number of tokens in a response.
        choices: The only allowed responses, if the server can enforce this.
        schema: The JSON schema that responses must follow, if the server can enforce this.
        raises_limit: Whether to repeat a request with a higher token limit if the response was truncated.
        seed: Seed for the model's random number generator.
        reasoning_effort: How much the model reasons, as one of the provider's own levels.
        thinking: Whether the model reasons, or its reasoning budget in tokens; None for the model's default.
        extra_body: Extra request fields.
    """

    temperature: float | None = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    choices: tuple[str, ...] = ()
    schema: dict[str, Any] | None = None
    raises_limit: bool = False
    seed: int | None = None
    reasoning_effort: str | None = None
    thinking: bool | int | None = None
    extra_body: dict[str, Any] | None = None

    def key(self) -> str:
        """Return a string for use in folder names; settings that produce the same responses have the same string.

        `raises_limit` is not included, because a complete response is the same with any limit.
        """
        always = ("temperature", "top_p", "max_tokens", "choices")
        given = {name: getattr(self, name) for name in always}
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if field.name not in always and field.name != "raises_limit" and value != field.default:
                given[field.name] = value
        return f"Sampling({', '.join(f'{name}={value!r}' for name, value in given.items())})"


class WorkerLost(Exception):
    """The worker that was calling a model has died. The response is lost, but the case did not cause the failure."""


class Model(Protocol):
    """A model under test.

    Attributes:
        name: The model string, `provider/model`.
        concurrency: Maximum number of concurrent cases; the limit may increase during a run.
        advice: A sentence that tells the user what to check if no call succeeds.

    A model may have further attributes:

    * `make_room`: a function that the runner sets, to be called when the concurrency has grown.
    * `meters_requests`: whether the model reserves the cost of each request itself (see `RequestMeter`).
    * `reuses_prefixes`: whether the model reuses the common prefix of consecutive prompts, so that cases are sorted.
    * `answers_afresh`: whether responses must not be read from the cache, e.g. of a RAG system under development.
    * `calls_tools`: whether the API accepts tools; otherwise, the `search` testbed uses a text protocol.
    * `languages`: the codes of the model's languages, e.g. `en`; empty if they are unknown.
    * `least_s`: a function that returns the minimum number of seconds that a number of calls takes, because of the rate
      limit that the user has set.

    Example:
        >>> class Echo:
        ...     name, concurrency, advice = "mine/echo", 8, ""
        ...
        ...     async def complete(self, case, repeat=0):
        ...         return ragbed.Completion(outcome="ok", reply=case.question)
        ...
        ...     def request(self, case):
        ...         return case.question.encode()
        ...
        ...     async def identity(self):
        ...         return "1"
        ...
        ...     async def close(self):
        ...         pass
        >>> ragbed.run(Echo(), "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5).outcomes
        {'ok': 5}
    """

    name: str
    concurrency: int
    advice: str

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Send a case to the model, retrying as needed; failures are returned as outcomes.

        Models that sample with ragbed's random number generator use a different seed for each repeat.

        Raises:
            WorkerLost: It is unknown whether the model was called; the caller should retry.
        """

    def request(self, case: Case) -> bytes:
        """Return the complete request as canonical bytes, from which the response cache key is computed."""

    async def identity(self) -> str:
        """Return a string that identifies the model beyond its name, e.g. a hash of its weights."""

    async def close(self) -> None:
        """Release all resources."""


# The attributes and methods of `Model`, used to check objects that users and plug-ins supply.
MODEL_ATTRIBUTES = ("name", "concurrency", "advice", "complete", "request", "identity", "close")


class StatelessModel:
    """Base class for models that have no resources to release, e.g. baselines."""

    concurrency = 64
    advice = ""

    async def close(self) -> None:
        """Do nothing."""


class RequestMeter:
    """Reserves the highest cost of every request before it is sent, also of repeated ones; by default, does nothing."""

    async def reserve(self, body: bytes) -> None:
        """Wait until the budget covers a request; an exception means that the request must not be sent."""

    def settle(self, completion: Completion) -> None:
        """Pay for the response to the request, or for its failure."""


METER = ContextVar("meter", default=RequestMeter())  # noqa: B039 - the meter of the current call; this one has no state


@runtime_checkable
class Batching(Protocol):
    """A model whose provider has a batch API.

    Attributes:
        limit: The token limit for its requests.
        negotiation: The parameters that the server has turned out to accept or reject.
    """

    limit: TokenLimit
    negotiation: Negotiation

    def check_length(self, case: Case, max_tokens: int) -> None:
        """Check that a prompt and its response fit into the context length that the user set.

        Raises:
            Failure: They do not fit.
        """

    def open_batches(self) -> BatchService:
        """Return the provider's batch service."""

    def batch_request(self, case: Case, max_tokens: int, learned: Learned) -> bytes:
        """Return the request body with the given token limit, adjusted to the parameters that the server accepts."""

    def parse(self, body: bytes, case: Case, request: bytes) -> Completion:
        """Return the outcome for a response body.

        Raises:
            Failure: The response cannot be used.
        """


def lacks_language(model: Model, lang: Lang) -> bool:
    """Return whether a model declares its languages and the given language is not among them."""
    listed: tuple[str, ...] = getattr(model, "languages", ())
    codes = {re.split("[-_]", code.lower())[0] for code in listed}
    return bool(codes) and codes.isdisjoint(_CODES[lang])


def is_system(model: Model) -> bool:
    """Return whether a model is a RAG system, which builds its own prompts."""
    return bool(getattr(model, "answers_afresh", False)) and not getattr(model, "takes_prompts", False)


def canonical(body: object) -> bytes:
    """Encode an object as JSON with sorted keys, so that equal requests have equal bytes."""
    return msgspec.json.encode(body, order="sorted")


def read_served(**values: object) -> Served | None:
    """Return the details that a server reported about a call, or None if all values are empty or not strings."""
    texts = {name: storable(value)[:_MAX_NAME] for name, value in values.items() if isinstance(value, str) and value}
    return Served(**texts) if texts else None


def sum_usage(usages: Iterable[dict[str, int] | None]) -> dict[str, int] | None:
    """Return the total token usage of several attempts or calls, or None if none of them reports it."""
    known = [usage for usage in usages if usage is not None]
    total = Counter[str]()
    for usage in known:
        total.update(usage)  # unlike the + operator, `update` keeps zero counts
    if "batch" in total:  # a flag, not a count
        total["batch"] = 1
    return dict(total) if known else None


def completed(
    text: str,
    finish: str | None,
    usage: dict[str, int] | None,
    thought: str | None = None,
    served: Served | None = None,
) -> Completion:
    """Return a completion with the model's reasoning separated from its answer.

    Args:
        text: The text, which may contain reasoning.
        finish: The finish reason; one of ENDED_EARLY if the response reached the token limit or filled the context.
        usage: Token counts.
        thought: The reasoning, if the server reports it in a separate field; empty if the server hides its text.
        served: Information that the server reports about the call.
    """
    inline, answer, is_complete = split_response(text)
    if thought and inline and thought.strip() == inline.strip():  # some servers send a thought twice
        inline = None
    return Completion(
        outcome="truncated" if finish in ENDED_EARLY or not is_complete else "ok",
        reply=answer,
        reasoning="\n\n".join(filter(None, (thought, inline))) or thought,
        finish=finish,
        usage=usage,
        served=served,
    )
