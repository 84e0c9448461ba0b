"""What a model is to the rest of ragbed: something that completes a case."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, Protocol, runtime_checkable

import msgspec

from ragbed.schema import Case, Completion, Lang

_CODES: dict[Lang, frozenset[str]] = {
    "en": frozenset({"en", "eng", "multilingual"}),
    "zh": frozenset({"zh", "zho", "chi", "cmn", "yue", "multilingual"}),
}
"""Codes by which descriptions of models name a language."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How a model is to write."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    choices: tuple[str, ...] = ()
    """The only replies that are allowed, where a model can be held to them; empty: any."""


class WorkerLost(Exception):
    """Who was asking a model, elsewhere, has ended: the case is not to blame, and what was heard is lost."""


class Model(Protocol):
    """A model that can be asked; one method does the work.

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
    """The model string, `provider/model`."""
    concurrency: int
    """How many cases it takes at once; more wait. May grow: see `Parking.make_room`."""

    advice: str
    """What a user can check when it cannot be asked at all."""

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Asks, with all the patience that its own kind of failure needs; every case ends in an outcome.

        A model that draws with dice of our own has other ones for each repeat.

        Raises:
            WorkerLost: It may or may not have been asked; ask again.
        """
        ...

    def request(self, case: Case) -> bytes:
        """The whole request as canonical bytes: what the response cache is keyed by."""
        ...

    async def identity(self) -> str:
        """What the model is beyond its name: hash of its weights, or what its server says of itself."""
        ...

    async def close(self) -> None:
        """Gives back what it holds."""
        ...


@runtime_checkable
class Parking(Protocol):
    """A model that sets cases aside while its server wants to be left alone: others can be asked meanwhile.

    Without that, a server that answers every twentieth call with `Retry-After: 89` would bring all to a stop.
    Look once whether a model is one: the look takes longer than everything else that is done for a call.
    """

    make_room: Callable[[], object]
    """Called whenever a case is set aside or more are taken at once; the runner hands in what there is room for."""

    @property
    def parked(self) -> int:
        """How many cases are set aside and should not count as being asked."""
        ...


@runtime_checkable
class Posting(Protocol):
    """A model that is sent its request as it is, so that it need not be made again for that."""

    async def complete_request(self, request: bytes, case: Case) -> Completion:
        """Asks as `complete` does, by what `request` gave for the case; the runner then calls this alone."""
        ...


@runtime_checkable
class PrefixReusing(Protocol):
    """A model that need not read again what a prompt has in common with the one before: the runner sorts for it."""

    reuses_prefixes: Literal[True]


@runtime_checkable
class AnsweringAfresh(Protocol):
    """A model whose earlier answers say nothing of it, as a system that is being worked on: no cache is asked."""

    answers_afresh: Literal[True]


@runtime_checkable
class ForLanguages(Protocol):
    """A model whose description names the languages that it was made for."""

    languages: tuple[str, ...]
    """Codes, e.g. `en`; empty where they are unknown."""


def lacks_language(model: Model, lang: Lang) -> bool:
    """Whether a model's description names its languages, and a language is not among them."""
    named = model.languages if isinstance(model, ForLanguages) else ()
    codes = {re.split("[-_]", code.lower())[0] for code in named}
    return bool(codes) and codes.isdisjoint(_CODES[lang])


def canonical(body: object) -> bytes:
    """JSON with sorted keys, so that equal requests are equal bytes."""
    return msgspec.json.encode(body, order="sorted")
