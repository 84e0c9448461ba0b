"""Split a run into shards for job arrays; a question's name determines its shard.

All cases of a question, and all questions about an event, are in the same shard.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from ragbed.errors import UsageError, option
from ragbed.io.jsonl import part_of
from ragbed.schema import Case

SETTING = "shard of questions"  # name of the setting that identifies a run as a shard


class Shard(Struct, frozen=True):
    """Shard number `index` of `count`, counting from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def keeps(self, case: Case) -> bool:
        """Return whether a case belongs to the shard."""
        return part_of(key_of(case), self.count) == self.index - 1


def key_of(case: Case) -> str:
    """Return the key that determines a case's shard: its event or, if it has none, its question."""
    return f"{case.data}/{case.item if case.event is None else case.event}"


def parse_shard(text: str) -> Shard:
    """Parse a shard such as `2/8`."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"{option('shard', repr(text))} does not have the form I/N with I from 1 to N, e.g. 2/8.")
    return Shard(int(found[1]), int(found[2]))


def check_shards(settings: Sequence[str | None], model: str) -> None:
    """Check that all shards of one split are present; None represents a complete run, which needs no other shards.

    Args:
        settings: The shards.
        model: The model whose results they contain, for the message.

    Raises:
        UsageError: A shard is missing, or the shards belong to different splits.
    """
    shards = {parse_shard(text) for text in settings if text is not None}
    counts = sorted({shard.count for shard in shards})
    if not shards or None in settings:
        return
    if len(counts) > 1:
        raise UsageError(
            f"these shards of {model} come from splits with different numbers of shards: "
            f"{', '.join(f'n = {count}' for count in counts)}. Merge only shards of the same split."
        )
    missing = sorted(set(range(1, counts[0] + 1)) - {shard.index for shard in shards})
    if missing:
        shown = ", ".join(f"{index}/{counts[0]}" for index in missing)
        raise UsageError(
            f"{model} has no results for shard {shown}. Pass all {counts[0]} shards, each run with the same settings."
        )
