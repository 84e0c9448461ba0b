"""What the engine asks of a way to run batches."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import Protocol

import torch

from ragbed.models.local.hf.sequence import Sequence


@dataclass
class Batching:
    """How much is done at once; halved when the memory does not suffice."""

    tokens: int
    """Read at once; a prompt that is longer is read alone."""
    width: int
    """Sequences that are written at once."""

    def shrink(self) -> None:
        """Half of everything, and at least one sequence."""
        self.tokens = max(1, self.tokens // 2)
        self.width = max(1, self.width // 2)


class Runner(Protocol):
    """Runs batches of sequences through a model."""

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        """Which of those waiting, the longest first, are to be read now, beside so many running; their room is kept.

        Raises:
            Failure: The first of them will never fit.
        """
        ...

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        """Reads all tokens of sequences; scores of the next token, one row each."""
        ...

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        """Reads the last token of running sequences; likewise."""
        ...

    def release(self, sequence: Sequence) -> None:
        """Frees what a sequence holds."""
        ...
