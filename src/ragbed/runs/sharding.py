"""Split a run into shards for job arrays; a question's name determines its shard.

All cases of a question, and all questions about an event, are in the same shard.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from ragbed.errors import UsageError, option
from ragbed.schema import Case

SETTING = "shard of questions"  # name of the setting that identifies a run as a shard


class Shard(Struct, frozen=True):
    """Shard number `index` of `count`, counting from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def keeps(self, case: Case) -> bool:
        """Return whether a case belongs to the shard, which is the same on all machines and in all versions."""
        question = f"{case.data}/{case.item if case.event is None else case.event}"
        digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Parse a shard such as `2/8`."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"{option('shard', repr(text))} does not have the form I/N with I from 1 to N, e.g. 2/8.")
    return Shard(int(found[1]), int(found[2]))


def check_shards(parts: Sequence[tuple[str | None, Collection[str]]]) -> None:
    """Check that no model's results lack a shard of the split.

    Args:
        parts: For each run, its shard, or None for a complete run, which needs no other shards; and its models. A shard
            that was planned but never started has none, and counts for all models.

    Raises:
        UsageError: A shard is missing, or the shards belong to different splits.
    """
    for model in sorted({name for _, models in parts for name in models}) or ["the model"]:
        found = [shard for shard, models in parts if model in models or not models]
        shards = {parse_shard(shard) for shard in found if shard is not None}
        if None in found:
            continue
        counts = sorted({shard.count for shard in shards})
        if len(counts) > 1:
            raise UsageError(
                f"these shards of {model} come from splits with different numbers of shards: "
                f"{', '.join(f'n = {count}' for count in counts)}. Merge only shards of the same split."
            )
        if missing := sorted(set(range(1, counts[0] + 1)) - {shard.index for shard in shards}):
            shown = ", ".join(f"{index}/{counts[0]}" for index in missing)
            raise UsageError(
                f"{model} has no results for shard {shown}. Pass all {counts[0]} shards, each run with the same "
                "settings."
            )
