"""Reserve the maximum cost of requests before they are submitted in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from ragbed.runs.budget import Budget

Usage: TypeAlias = dict[str, int]
_BYTES_PER_TOKEN = 3  # assumed number of bytes per prompt token
_DEFAULT_MAX_TOKENS = 4_096


@dataclass
class BatchBudget:
    """The part of a run's budget that is reserved for one model's batches.

    Attributes:
        budget: The run's budget, or None if there is no limit.
        model: The model's name.
        waits: Whether the next batch has to wait until other models' batches release their reservations.
    """

    budget: Budget | None
    model: str
    waits: bool = False
    _reserved: dict[str, list[Usage]] = field(default_factory=dict)

    def reserve(self, key: str, body: bytes, *, is_first: bool) -> bool:
        """Try to reserve the cost of a request, and return whether the budget is sufficient.

        Args:
            key: The key of the batch that will contain the request.
            body: The request.
            is_first: Whether this is the first request of the next batch and the model has no batch in progress.
        """
        if self.budget is None:
            return True
        usage = _largest_usage(body)
        if not self.budget.reserve(self.model, usage, is_last_chance=is_first):
            self.waits = is_first and not self.budget.is_denied
            return False
        self._reserved.setdefault(key, []).append(usage)
        return True

    def restore(self, key: str, bodies: Sequence[bytes]) -> None:
        """Reserve the cost of a batch from an earlier session."""
        if self.budget is not None:
            self._reserved[key] = [_largest_usage(body) for body in bodies]
            for usage in self._reserved[key]:
                self.budget.reserve(self.model, usage, is_forced=True)

    def release(self, key: str) -> None:
        """Release the amount reserved for a batch."""
        for usage in self._reserved.pop(key, ()):
            if self.budget is not None:
                self.budget.release(self.model, usage)

    def abandon(self) -> None:
        """Keep the amounts reserved for batches whose results this session does not collect."""
        for usage in (usage for reserved in self._reserved.values() for usage in reserved):
            if self.budget is not None:
                self.budget.abandon(self.model, usage)


def _largest_usage(body: bytes) -> Usage:
    """Estimate the maximum number of tokens that a request can use."""
    fields = msgspec.json.decode(body, type=dict[str, object])
    limits: Sequence[object] = [fields.get(name) for name in ("max_completion_tokens", "max_tokens")]
    most = next((limit for limit in limits if isinstance(limit, int)), _DEFAULT_MAX_TOKENS)
    return {"in": len(body) // _BYTES_PER_TOKEN + 1, "out": most, "batch": 1}
