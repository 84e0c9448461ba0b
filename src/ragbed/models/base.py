"""The protocol of a model: one call for each case."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import msgspec

from ragbed.schema import Case, Completion, Lang

if TYPE_CHECKING:
    from ragbed.models.providers.batches import BatchService

_THINK, _END_THINK = "<think>", "</think>"
# The codes of a language in model cards.
_CODES: dict[Lang, frozenset[str]] = {
    "en": frozenset({"en", "eng", "multilingual"}),
    "zh": frozenset({"zh", "zho", "chi", "cmn", "yue", "multilingual"}),
}


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Sampling parameters; `choices` are the only allowed responses, if the model can enforce them."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    choices: tuple[str, ...] = ()


class WorkerLost(Exception):
    """The worker that was calling a model has ended; the response is lost, and the case is not the cause."""


class Model(Protocol):
    """A model under test.

    Attributes:
        name: The model string, `provider/model`.
        concurrency: How many cases it accepts at a time. The number may grow; see `Parking.make_room`.
        advice: What a user can check if no call succeeds.

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
        """Call the model for a case, with all retries; every case ends in an outcome.

        A model that samples with our random generator uses another seed for each repeat.

        Raises:
            WorkerLost: It is unknown whether the model was called; call it again.
        """

    def request(self, case: Case) -> bytes:
        """Return the complete request as canonical bytes: the key of the response cache."""

    async def identity(self) -> str:
        """Return the identity of the model beyond its name, e.g. the hash of its weights."""

    async def close(self) -> None:
        """Release all resources."""


class StatelessModel:
    """The common part of models without resources, e.g. baselines."""

    concurrency = 64
    advice = ""

    async def close(self) -> None:
        """Do nothing."""


@runtime_checkable
class Parking(Protocol):
    """A model that sets cases aside while its server requires a pause, so that other cases can be sent.

    Otherwise a server that answers every twentieth call with `Retry-After: 89` would stop all calls.
    Check `isinstance` once per model: the check takes longer than all other work for a call.

    Attributes:
        make_room: Called when a case is set aside or the concurrency grows, so that the runner can send more cases.
    """

    make_room: Callable[[], object]

    @property
    def parked(self) -> int:
        """How many cases are set aside and do not count as running."""


@runtime_checkable
class Posting(Protocol):
    """A model that sends the bytes of `request` unchanged, so that they are not built a second time."""

    async def complete_request(self, request: bytes, case: Case) -> Completion:
        """Call the model with the result of `request` for the case; the runner prefers this method to `complete`."""


@runtime_checkable
class Batching(Protocol):
    """A model whose provider accepts batches."""

    def open_batches(self) -> BatchService:
        """Return the batches of the provider."""

    def parse(self, body: bytes, case: Case) -> Completion:
        """Return the outcome for the body of a response.

        Raises:
            Failure: The response cannot be used.
        """


@runtime_checkable
class PrefixReusing(Protocol):
    """A model that does not read a common prefix of consecutive prompts again: the runner sorts the cases for it."""

    reuses_prefixes: Literal[True]


@runtime_checkable
class AnsweringAfresh(Protocol):
    """A model whose responses must not come from the cache, e.g. a RAG system under development."""

    answers_afresh: Literal[True]


@runtime_checkable
class ForLanguages(Protocol):
    """A model whose description lists its languages as codes, e.g. `en`; empty if they are unknown."""

    languages: tuple[str, ...]


def lacks_language(model: Model, lang: Lang) -> bool:
    """Return whether a model lists its languages and a language is not among them."""
    listed = model.languages if isinstance(model, ForLanguages) else ()
    codes = {re.split("[-_]", code.lower())[0] for code in listed}
    return bool(codes) and codes.isdisjoint(_CODES[lang])


def canonical(body: object) -> bytes:
    """Return JSON with sorted keys, so that equal requests have equal bytes."""
    return msgspec.json.encode(body, order="sorted")


def split_thinking(text: str) -> tuple[str | None, str]:
    """Return the reasoning and the answer of a response that starts with `<think>`.

    Some chat templates put the opening tag into the prompt, so that a response may have only the closing tag.
    Reasoning without a closing tag was truncated; the answer is then empty.
    """
    start = text.lstrip()
    if not start.startswith(_THINK) and (_THINK in text or _END_THINK not in text):
        return None, text
    thought, _, answer = start.removeprefix(_THINK).partition(_END_THINK)
    return thought.strip() or None, answer.lstrip()
