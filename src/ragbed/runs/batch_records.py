"""The records of a run's provider batches."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.runs.store import RunStore

BATCH = "batch."  # prefix of the keys under which batches are stored


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
