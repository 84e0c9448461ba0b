"""Run batches with left padding, for models whose attention cannot be replaced."""

from __future__ import annotations

import inspect
from collections.abc import Sequence as Several
from typing import Any

import torch

from ragbed.models.local.hf.sequence import Batching, Sequence


class PaddedRunner:
    """Runs any transformers model; each batch is completed before the next one starts.

    Args:
        model: A causal language model.
        batching: The batch limits.
    """

    def __init__(self, model: Any, batching: Batching) -> None:
        self._model, self._device, self._batching = model, model.device, batching
        self._parameters = frozenset(inspect.signature(model.forward).parameters)
        self._rows: list[Sequence] = []
        self._cache: Any = None
        self._mask = torch.empty((0, 0))

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        """Return sequences of similar length, to limit padding, or an empty list if a batch is running."""
        if running or not waiting:
            return []
        return list(waiting[: min(max(1, self._batching.tokens // waiting[0].length), self._batching.width)])

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        """Prefill prompts with padding."""
        length = max(sequence.length for sequence in batch)
        tokens = [[0] * (length - sequence.length) + sequence.tokens for sequence in batch]
        mask = [[0] * (length - sequence.length) + [1] * sequence.length for sequence in batch]
        self._rows, self._cache = list(batch), None
        self._mask = torch.tensor(mask, device=self._device)
        return self._forward(torch.tensor(tokens, device=self._device))

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        """Decode one step for every row; finished rows are dropped once they make up half of the batch."""
        running = set(batch)
        if 2 * len(running) <= len(self._rows) and hasattr(self._cache, "batch_select_indices"):
            kept = [row for row, sequence in enumerate(self._rows) if sequence in running]
            index = torch.tensor(kept, device=self._device)
            self._cache.batch_select_indices(index)
            self._rows, self._mask = [self._rows[row] for row in kept], self._mask[index]
        self._mask = torch.nn.functional.pad(self._mask, (0, 1), value=1)
        tokens = torch.tensor([[(sequence.written or [0])[-1]] for sequence in self._rows], device=self._device)
        rows = {sequence: row for row, sequence in enumerate(self._rows)}
        return self._forward(tokens)[[rows[sequence] for sequence in batch]]

    def release(self, sequence: Sequence) -> None:
        """Do nothing, because `write` drops finished rows."""

    def _forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = (self._mask.cumsum(-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        optional = {"position_ids": positions, "logits_to_keep": 1}
        output = self._model(
            input_ids=tokens, attention_mask=self._mask, past_key_values=self._cache, use_cache=True,
            **{name: value for name, value in optional.items() if name in self._parameters},
        )  # fmt: skip
        self._cache = output.past_key_values
        logits: torch.Tensor = output.logits[:, -1]
        return logits
