"""The records of a run's provider batches, and of the calls to send again in later batches."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.runs.store import RunStore
from ragbed.schema import Completion

BATCH = "batch."  # prefix of the keys under which batches are stored
FOLLOW_UP = "again."  # prefix of the keys for calls to send again; model, case and repeat follow the prefix


class StoredBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A provider batch, whose state is first `intended`, then `submitted`, then `collected`."""

    key: str
    model: int
    created: float
    count: int
    calls: list[tuple[int, int]] = []  # case number and repeat of each call; empty once all results are stored
    remote: str | None = None  # the provider's ID for the batch
    state: str = "intended"
    limits: list[int] = []  # token limit of each call; empty once all results are stored
    learned: dict[str, dict[str, Any] | None] = {}  # parameter changes, including those learned from results
    thinks: bool = False  # whether any response so far contained reasoning


class FollowUp(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call to send again in a later batch.

    Attributes:
        max_tokens: Its token limit.
        first: The truncated response, if the limit was raised.
        rejections: The number of times that the server has rejected the call.
        after: Key of the last batch that contained the call, whose results need not be read again.
        learned: Parameters that were changed because the server requires it.
    """

    max_tokens: int
    first: Completion | None = None
    rejections: int = 0
    after: str = ""
    learned: dict[str, dict[str, Any] | None] = {}


def read_batches(store: RunStore, model: int | None = None, *, collected: bool = False) -> list[StoredBatch]:
    """Return a run's provider batches, in order of creation.

    Args:
        store: The run.
        model: The number of the model whose batches to return, or None for all models.
        collected: Whether to return collected batches instead of those in progress.
    """
    found = store.notes(BATCH, StoredBatch, "batch ").values()
    wanted = [one for one in found if (one.state == "collected") == collected and model in (None, one.model)]
    return sorted(wanted, key=lambda batch: batch.created)


def read_follow_ups(store: RunStore, model: int | None = None) -> dict[tuple[int, int], FollowUp]:
    """Return the calls to a model, or to all models, to send again in later batches, by case number and repeat."""
    found = {}
    for key, again in store.notes(FOLLOW_UP if model is None else f"{FOLLOW_UP}{model}.", FollowUp, "call ").items():
        number, repeat = store.numbers(key)[-2:]
        found[number, repeat] = again
    return found
