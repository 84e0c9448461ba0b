"""One prompt on its way through the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeAlias

from ragbed.models.failures import Failure

Finish: TypeAlias = Literal["stop", "length"]
NOT_A_NUMBER = -1
"""Stands for the next token where the model's scores are no numbers."""


@dataclass(frozen=True)
class StopCondition:
    """Where a reply ends before it is as long as it may be."""

    tokens: frozenset[int]
    texts: tuple[str, ...] = ()
    """For endings that are no tokens of their own."""
    decode: Callable[[list[int]], str] = lambda _tokens: ""

    def is_reached(self, written: list[int]) -> bool:
        """Whether the last token ends the reply."""
        if written[-1] in self.tokens:
            return True
        if not self.texts:
            return False
        # A token stands for at least one byte, so the ending lies within so many; one may have begun a character.
        reach = max(len(text.encode()) for text in self.texts) + 4
        tail = self.decode(written[-reach:])
        return any(text in tail for text in self.texts)


@dataclass(eq=False)
class Sequence:
    """A prompt, what has been written after it, and what becomes of it.

    Attributes:
        prompt: Tokens.
        limit: How many tokens may be written.
        dice: Its own, so that what is drawn does not hang on who else is in the batch.
        written: So far, without the token that ends it.
        failure: Why it cannot be answered.
    """

    prompt: list[int]
    limit: int
    dice: Random
    done: Callable[[Sequence], None] = lambda _sequence: None
    written: list[int] = field(default_factory=list)
    finish: Finish | None = None
    failure: Failure | None = None
    _thrown: int | None = None

    @property
    def length(self) -> int:
        """Tokens that have to be read before the next can be written."""
        return len(self.prompt) + len(self.written)

    @property
    def room(self) -> int:
        """Tokens it takes at the most."""
        return len(self.prompt) + self.limit

    @property
    def tokens(self) -> list[int]:
        """All of them: what is read again if its place was lost."""
        return self.prompt + self.written

    def throw(self) -> int:
        """The number for the next token; the same until one is taken, so that a step can be done again."""
        if self._thrown is None:
            self._thrown = self.dice.getrandbits(62)
        return self._thrown

    def take(self, token: int, ending: StopCondition) -> bool:
        """Adds a token; whether the reply is whole now."""
        if token == NOT_A_NUMBER:
            self.failure = Failure("protocol", "the model's scores are no numbers; its weights may be damaged")
            return True
        self.written.append(token)
        self._thrown = None
        if ending.is_reached(self.written):
            self.finish = "stop"
            if token in ending.tokens:
                self.written.pop()
        elif len(self.written) == self.limit:
            self.finish = "length"
        return self.finish is not None
