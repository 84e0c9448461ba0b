"""Shuffle a monitored run's questions with a seed, alternating between groups to keep the order balanced."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict

_FIELDS = ("data", "lang", "testbed", "item", "event", "seed", "slots[0]")
_COLUMNS = ", ".join(f"json_extract(CAST(line AS TEXT), '$.{name}')" for name in _FIELDS)
_CASES = f"SELECT id, LENGTH(line), {_COLUMNS} FROM cases WHERE feasible ORDER BY id"  # noqa: S608 - names of ours


def question_order_table(model: int) -> str:
    """Return the name of the temporary table that holds a model's case order."""
    return f"by_question_{model}"


def sort_by_question(connection: sqlite3.Connection, model: int, repeats: int) -> None:
    """Write all of a run's cases and repeats to a model's temporary table, in evaluation order.

    A question's cases are consecutive, so at any time all conditions have results for the same questions. Questions
    about the same event count as one. Questions are shuffled within groups that have the same dataset, language,
    testbed and position of the first document with an answer. The order alternates between groups, so it is
    balanced throughout.

    Args:
        connection: The connection to the run.
        model: The model's number.
        repeats: The number of responses per case.
    """
    groups: dict[tuple[object, ...], list[tuple[bytes, tuple[object, ...]]]] = defaultdict(list)
    cases: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for number, size, data, lang, testbed, item, event, seed, slot in connection.execute(_CASES):
        question = (data, lang, item, None) if event is None else (data, lang, "", event)
        if question not in cases:
            cases[question] = []
            key = hashlib.blake2b(repr((seed, question)).encode(errors="replace"), digest_size=8).digest()
            groups[data, lang, testbed, slot].append((key, question))
        cases[question].append((number, size))
    ranked = sorted(
        (rank, place, question)
        for place, group in enumerate(groups.values())
        for rank, (_, question) in enumerate(sorted(group, key=lambda pair: pair[0]))
    )
    table = question_order_table(model)
    connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
    connection.execute(f"CREATE TEMP TABLE {table} (id INTEGER, size INTEGER, repeat INTEGER)")
    connection.executemany(
        f"INSERT INTO temp.{table} VALUES (?, ?, ?)",  # noqa: S608 - a name of ours
        (
            (number, size, repeat)
            for _, _, question in ranked
            for number, size in cases[question]
            for repeat in range(repeats)
        ),
    )
    connection.commit()
