"""A part of a run, for job arrays: each case belongs to exactly one shard, by its name alone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from ragbed.errors import UsageError
from ragbed.schema import Case

SETTING = "shard"
"""The name among a run's settings; a whole run has none."""


@dataclass(frozen=True)
class Shard:
    """The i-th of n parts, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def keeps(self, case: Case) -> bool:
        """Whether a case belongs here; the same on every machine and in every version."""
        digest = hashlib.sha256(case.case.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Reads `2/8`."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text.strip())
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(f"--shard {text!r}: write i/n, the i-th of n parts counted from 1, as 2/8.")
    return Shard(int(found[1]), int(found[2]))
