"""A part of a run, for job arrays: each question belongs to exactly one shard, with all its cases, by its name alone.

What is compared stays together, so that sums of shards add up to those of the whole run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragbed.errors import UsageError
from ragbed.io.jsonl import part_of
from ragbed.schema import Case

SETTING = "shard of questions"
"""The name among a run's settings; a whole run has none."""


@dataclass(frozen=True)
class Shard:
    """The i-th of n parts, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def keeps(self, case: Case) -> bool:
        """Whether a case belongs here: all cases of a question, or of an event, are in one shard."""
        return part_of(key_of(case), self.count) == self.index - 1


def key_of(case: Case) -> str:
    """What cases are divided by: their question, or its event."""
    return f"{case.data}/{case.item if case.event is None else case.event}"


def parse_shard(text: str) -> Shard:
    """Reads `2/8`."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text!r}: write i/n, the i-th of n parts counted from 1, as 2/8.")
    return Shard(int(found[1]), int(found[2]))


def check_shards(told: Sequence[str | None]) -> None:
    """All shards of one division must be there, or N would shrink unseen; whole runs (None) count as themselves.

    Raises:
        UsageError: One is missing, or they are of several divisions.
    """
    shards = {parse_shard(text) for text in told if text is not None}
    counts = sorted({shard.count for shard in shards})
    if not shards or None in told:
        return
    if len(counts) > 1:
        raise UsageError(f"these are shards of different divisions: {', '.join(f'n = {count}' for count in counts)}.")
    missing = sorted(set(range(1, counts[0] + 1)) - {shard.index for shard in shards})
    if missing:
        raise UsageError(f"shard {', '.join(f'{index}/{counts[0]}' for index in missing)} is missing.")
