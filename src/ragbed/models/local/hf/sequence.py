"""The sequences that the engine runs, and the protocol for runners."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Literal, Protocol

from ragbed.models.failures import Failure

if TYPE_CHECKING:
    import torch

# The value that is returned instead of a token ID if the logits are not finite.
NOT_A_NUMBER = -1


@dataclass(frozen=True)
class StopCondition:
    """The tokens and strings that end a response before it reaches its maximum length."""

    tokens: frozenset[int]
    texts: tuple[str, ...] = ()
    decode: Callable[[list[int]], str] = lambda _tokens: ""

    def is_reached(self, written: list[int]) -> bool:
        """Return whether the last token ends the response."""
        if written[-1] in self.tokens or not self.texts:
            return written[-1] in self.tokens
        # A token has at least one byte, so a stop string spans at most as many tokens as the string has bytes. Four
        # more tokens are decoded, because the first decoded token may start in the middle of a character.
        count = max(len(text.encode()) for text in self.texts) + 4
        tail = self.decode(written[-count:])
        return any(text in tail for text in self.texts)


@dataclass(eq=False)
class Sequence:
    """A prompt and its response.

    Attributes:
        prompt: Tokens of the prompt.
        limit: Maximum number of new tokens.
        rng: Its own random number generator, so that samples do not depend on the rest of the batch.
        done: Called when the sequence is complete, has failed, or was abandoned.
        written: New tokens, without the one that ends the response.
        finish: The finish reason, if the response is complete.
        failure: The failure, if there is no response.
    """

    prompt: list[int]
    limit: int
    rng: Random
    done: Callable[[Sequence], None] = lambda _sequence: None
    written: list[int] = field(default_factory=list)
    finish: Literal["stop", "length"] | None = None
    failure: Failure | None = None
    _number: int | None = None

    @property
    def length(self) -> int:
        """The number of tokens in the prompt and the response so far."""
        return len(self.prompt) + len(self.written)

    @property
    def max_length(self) -> int:
        """The maximum number of tokens in the prompt and the response together."""
        return len(self.prompt) + self.limit

    @property
    def tokens(self) -> list[int]:
        """The tokens of the prompt and the response so far."""
        return self.prompt + self.written

    def random_number(self) -> int:
        """Return the random number for the next token; a retried step gets the same number."""
        if self._number is None:
            self._number = self.rng.getrandbits(62)
        return self._number

    def add(self, token: int, stop: StopCondition) -> bool:
        """Add a token and return whether the sequence is finished."""
        if token == NOT_A_NUMBER:
            self.failure = Failure("protocol", "the logits are not finite numbers; the weights may be damaged")
            return True
        self.written.append(token)
        self._number = None
        if stop.is_reached(self.written):
            self.finish = "stop"
            if token in stop.tokens:
                self.written.pop()
        elif len(self.written) == self.limit:
            self.finish = "length"
        return self.finish is not None


@dataclass
class Batching:
    """The limits on prompt tokens per batch (a longer prompt runs alone) and on concurrent sequences."""

    tokens: int
    width: int


class Runner(Protocol):
    """Runs batches of sequences through a model."""

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        """Reserve memory for waiting sequences, and return those to prefill now, longest first.

        Raises:
            Failure: The first sequence will never fit.
        """

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        """Prefill the sequences with all their tokens, and return one row of next-token logits per sequence."""

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        """Decode one step for each running sequence, and return one row of next-token logits per sequence."""

    def release(self, sequence: Sequence) -> None:
        """Free a sequence's memory."""
