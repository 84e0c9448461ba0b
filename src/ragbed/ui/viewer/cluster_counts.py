"""Count hits and trials by question or event, so that the overview can compute intervals from the counts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from ragbed.schema import Case
from ragbed.ui.viewer.cells import COUNTED, TrialCell

_NO_TRIALS = [0] * (2 + len(COUNTED))


class ClusterCounts:
    """Collects the changes from a batch of trials; `write` adds them to the index."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str], list[int]] = {}

    def add(self, cell: TrialCell, case: Case, times: int = 1) -> None:
        """Add a trial, or remove it if `times` is −1."""
        # An event may have the same name as an unrelated item.
        cluster = f"item {case.item}" if case.event is None else f"event {case.event}"
        found = (1, cell.verdict == "unscored", *(cell.has(name) for name in COUNTED))
        key = (msgspec.json.encode(cell.condition).decode(), cluster)
        before = self._changes.get(key, _NO_TRIALS)
        self._changes[key] = [count + times * value for count, value in zip(before, found, strict=True)]

    def write(self, index: sqlite3.Connection) -> None:
        """Write the changes as part of the open transaction."""
        patterns: Counter[tuple[int, str, int, int]] = Counter()
        numbers: dict[str, int] = {}
        for (condition, cluster), change in self._changes.items():
            if condition not in numbers:
                numbers[condition] = _number(index, condition)
            key = (numbers[condition], cluster)
            row = index.execute("SELECT counts FROM clusters WHERE condition = ? AND cluster = ?", key).fetchone()
            before = _NO_TRIALS if row is None else msgspec.json.decode(row[0])
            after = [count + more for count, more in zip(before, change, strict=True)]
            index.execute("INSERT OR REPLACE INTO clusters VALUES (?, ?, ?)", (*key, str(after)))
            patterns.subtract((key[0], *pattern) for pattern in _patterns(before))
            patterns.update((key[0], *pattern) for pattern in _patterns(after))
        add = """INSERT INTO patterns VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET clusters = clusters + excluded.clusters"""
        index.executemany(add, [(*pattern, count) for pattern, count in patterns.items() if count])


def _number(index: sqlite3.Connection, condition: str) -> int:
    index.execute("INSERT INTO conditions (condition) VALUES (?) ON CONFLICT DO NOTHING", (condition,))
    (number,) = index.execute("SELECT id FROM conditions WHERE condition = ?", (condition,)).fetchone()
    return int(number)


def _patterns(counts: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield the hits and trials for each score; only the robust track leaves trials unscored."""
    trials, unscored, *hits = counts
    for name, hit in zip(COUNTED, hits, strict=True):
        scored = trials - unscored if name == "correct" else trials
        if scored:
            yield name, hit, scored
