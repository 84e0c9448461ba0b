"""Order a run's calls: as planned, by prompt, or shuffled by question."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict

_PLANNED = "SELECT id FROM cases WHERE feasible ORDER BY id"
# SQLite sorts in a temporary file to save memory.
_BY_PROMPT = "SELECT id FROM cases WHERE feasible ORDER BY json_extract(CAST(line AS TEXT), '$.messages'), id"
_FIELDS = ("data", "lang", "testbed", "item", "event", "seed", "slots[0]")
_COLUMNS = ", ".join(f"json_extract(CAST(line AS TEXT), '$.{name}')" for name in _FIELDS)
_CASES = f"SELECT id, {_COLUMNS} FROM cases WHERE feasible ORDER BY id"  # noqa: S608 - names of ours


def order_calls(
    connection: sqlite3.Connection, repeats: int, *, by_prompt: bool = False, by_question: bool = False
) -> list[tuple[int, int]]:
    """Return the case number and repeat of each call to a model, in evaluation order.

    Args:
        connection: The connection to the run.
        repeats: The number of responses per case.
        by_prompt: Whether to sort by prompt, so that consecutive prompts share the longest prefixes.
        by_question: Whether to shuffle by question. A question's cases are consecutive, so at any time all conditions
            have results for the same questions. Questions about the same event count as one. Questions are shuffled
            with the seed within groups that have the same dataset, language, testbed and position of the first
            document with an answer. The order alternates between groups, so it is balanced throughout.
    """
    if by_question:
        return [(number, repeat) for number in _shuffle(connection) for repeat in range(repeats)]
    numbers = [number for (number,) in connection.execute(_BY_PROMPT if by_prompt else _PLANNED)]
    return [(number, repeat) for repeat in range(repeats) for number in numbers]


def _shuffle(connection: sqlite3.Connection) -> list[int]:
    """Return the numbers of all feasible cases, shuffled by question."""
    groups: dict[tuple[object, ...], list[tuple[bytes, tuple[object, ...]]]] = defaultdict(list)
    cases: dict[tuple[object, ...], list[int]] = {}
    for number, data, lang, testbed, item, event, seed, slot in connection.execute(_CASES):
        question = (data, lang, item, None) if event is None else (data, lang, "", event)
        if question not in cases:
            cases[question] = []
            key = hashlib.blake2b(repr((seed, question)).encode(errors="replace"), digest_size=8).digest()
            groups[data, lang, testbed, slot].append((key, question))
        cases[question].append(number)
    ranked = sorted(
        (rank, place, question)
        for place, group in enumerate(groups.values())
        for rank, (_, question) in enumerate(sorted(group, key=lambda pair: pair[0]))
    )
    return [number for _, _, question in ranked for number in cases[question]]
