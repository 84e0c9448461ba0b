"""Order a run's calls: as planned, by prompt, or shuffled by question."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict

# The calls of one model in evaluation order.
_CREATE = "CREATE TEMP TABLE {table} (id INTEGER NOT NULL, repeat INTEGER NOT NULL)"
# SQLite sorts in a temporary file to save memory.
_INSERT = "INSERT INTO temp.{table} SELECT id, 0 FROM cases WHERE feasible ORDER BY {order}"
_BY_PROMPT = "json_extract(CAST(line AS TEXT), '$.messages'), id"
_REPEAT = "INSERT INTO temp.{table} SELECT id, ? FROM temp.{table} WHERE repeat = 0 ORDER BY rowid"
_FIELDS = ("data", "lang", "testbed", "item", "event", "seed", "slots[0]")
_COLUMNS = ", ".join(f"json_extract(CAST(line AS TEXT), '$.{name}')" for name in _FIELDS)
_CASES = f"SELECT id, {_COLUMNS} FROM cases WHERE feasible ORDER BY id"  # noqa: S608 - names of ours


def order_calls(
    connection: sqlite3.Connection, model: int, repeats: int, *, by_prompt: bool = False, by_question: bool = False
) -> str:
    """Write a model's calls to a temporary table in evaluation order, and return the table's name.

    Args:
        connection: The connection to the run.
        model: The model's number.
        repeats: The number of responses per case.
        by_prompt: Whether to sort by prompt, so that consecutive prompts share the longest prefixes.
        by_question: Whether to shuffle by question. A question's cases are consecutive, so at any time all conditions
            have results for the same questions. Questions about the same event count as one. Questions are shuffled
            with the seed within groups that have the same dataset, language, testbed and position of the first
            document with an answer. The order alternates between groups, so it is balanced throughout.
    """
    table = f"calls_{model}"
    connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
    connection.execute(_CREATE.format(table=table))
    if by_question:
        insert = f"INSERT INTO temp.{table} VALUES (?, ?)"  # noqa: S608 - a name of ours
        connection.executemany(insert, _by_question(connection, repeats))
    else:
        connection.execute(_INSERT.format(table=table, order=_BY_PROMPT if by_prompt else "id"))
        connection.executemany(_REPEAT.format(table=table), [(repeat,) for repeat in range(1, repeats)])
    connection.commit()
    return table


def _by_question(connection: sqlite3.Connection, repeats: int) -> list[tuple[int, int]]:
    """Return the case number and repeat of each call, shuffled by question."""
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
    return [(number, repeat) for _, _, question in ranked for number in cases[question] for repeat in range(repeats)]
