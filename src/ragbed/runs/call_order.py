"""Order a run's calls: as planned, by prompt, or shuffled by question."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from itertools import takewhile

# The calls of one model in evaluation order; `size` is the length of the input, in the same unit for all calls.
_CREATE = "CREATE TEMP TABLE {table} (id INTEGER NOT NULL, repeat INTEGER NOT NULL, size INTEGER NOT NULL)"
_AS_PLANNED = "INSERT INTO temp.{table} SELECT id, 0, LENGTH(line) FROM cases WHERE feasible ORDER BY id"
_REPEAT = "INSERT INTO temp.{table} SELECT id, ?, size FROM temp.{table} WHERE repeat = 0 ORDER BY rowid"
# The condition for a case `c` to have a pending call.
_HAS_PENDING = """feasible AND (SELECT COUNT(*) FROM results r WHERE r.model = :model AND r.item = c.id
  AND r.repeat < :repeats AND r.outcome != 'error') < :repeats"""
# A sample of one case in twenty, within the limits below, is run first. A larger sample would reduce the reuse of
# prompt prefixes.
_SAMPLE_SHARE = 20
_MIN_SAMPLE, _MAX_SAMPLE = 3, 8
# SQLite sorts in a temporary file to save memory. The sample is ordered by multiples of 619 modulo 1,000, so that
# its first cases come from all parts of the sorted list.
_BY_PROMPT = """INSERT INTO temp.{table}
  WITH pending AS (
    SELECT id, json_extract(CAST(line AS TEXT), '$.messages') AS prompt FROM cases c WHERE {condition}),
  sorted AS (SELECT id, prompt, row_number() OVER (ORDER BY prompt, id) - 1 AS at FROM pending),
  placed AS (
    SELECT *, at % :step != :step / 2 AS is_rest,
      CASE WHEN at % :step = :step / 2 THEN at / :step * 619 % 1000 ELSE at END AS turn FROM sorted)
  SELECT id, 0, unshared(prompt, lag(prompt) OVER (ORDER BY is_rest, turn, at))
  FROM placed ORDER BY is_rest, turn, at"""
_FIELDS = ("data", "lang", "testbed", "item", "event", "seed", "slots[0]")
_COLUMNS = ", ".join(f"json_extract(CAST(line AS TEXT), '$.{name}')" for name in _FIELDS)
_CASES = f"SELECT id, LENGTH(line), {_COLUMNS} FROM cases WHERE feasible ORDER BY id"  # noqa: S608 - names of ours


def order_calls(
    connection: sqlite3.Connection, model: int, repeats: int, *, by_prompt: bool = False, by_question: bool = False
) -> str:
    """Write a model's calls to a temporary table in evaluation order, and return the table's name.

    Args:
        connection: The connection to the run.
        model: The model's number.
        repeats: The number of responses per case.
        by_prompt: Whether to sort by prompt. Sorted prompts share the longest prefixes. However, all short prompts
            might come first, so that the time for long prompts could not be estimated. A sample of all prompts is
            therefore evaluated first. Cases without a pending call are left out.
        by_question: Whether to shuffle by question. A question's cases are consecutive, so at any time all conditions
            have results for the same questions. Questions about the same event count as one. Questions are shuffled
            with the seed within groups that have the same dataset, language, testbed and position of the first
            document with an answer. The order alternates between groups, so it is balanced throughout.
    """
    table = f"calls_{model}"
    connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
    connection.execute(_CREATE.format(table=table))
    if by_question:
        insert = f"INSERT INTO temp.{table} VALUES (?, ?, ?)"  # noqa: S608 - a name of ours
        connection.executemany(insert, _by_question(connection, repeats))
    elif by_prompt:
        connection.create_function("unshared", 2, _unshared, deterministic=True)
        values = {"model": model, "repeats": repeats}
        count = f"SELECT COUNT(*) FROM cases c WHERE {_HAS_PENDING}"  # noqa: S608 - a condition of ours
        ((cases,),) = connection.execute(count, values)
        step = max(1, cases // min(_MAX_SAMPLE, max(_MIN_SAMPLE, cases // _SAMPLE_SHARE)))
        connection.execute(_BY_PROMPT.format(table=table, condition=_HAS_PENDING), values | {"step": step})
    else:
        connection.execute(_AS_PLANNED.format(table=table))
    if not by_question:
        connection.executemany(_REPEAT.format(table=table), [(repeat,) for repeat in range(1, repeats)])
    connection.commit()
    return table


def _unshared(prompt: str, previous: str | None) -> int:
    """Return the number of characters in a prompt after the prefix that it shares with the previous prompt."""
    pairs = zip(prompt, previous or "", strict=False)
    return len(prompt) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _by_question(connection: sqlite3.Connection, repeats: int) -> list[tuple[int, int, int]]:
    """Return the case number, repeat and size of each call, shuffled by question."""
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
    return [
        (number, repeat, size)
        for _, _, question in ranked
        for number, size in cases[question]
        for repeat in range(repeats)
    ]
