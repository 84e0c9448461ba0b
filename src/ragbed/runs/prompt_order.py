"""The order in which a model that reuses prompt prefixes gets its cases: a sample first, then sorted by prompt."""

from __future__ import annotations

import sqlite3
from itertools import takewhile

_SAMPLE_SHARE = 20
"""One case in twenty is in the sample, within these limits: each of them costs some of the prefix reuse."""
_LEAST_SAMPLE, _MOST_SAMPLE = 3, 8

# SQLite sorts in a file of its own, so that memory stays bounded. Multiples of 619 modulo 1,000 spread the sample: its
# first cases come from all parts of the sorted list.
_CREATE = """CREATE TEMP TABLE {table} AS
  WITH pending AS (
    SELECT id, json_extract(CAST(line AS TEXT), '$.messages') AS prompt FROM cases c WHERE feasible AND {pending}),
  sorted AS (SELECT id, prompt, row_number() OVER (ORDER BY prompt, id) - 1 AS at FROM pending),
  placed AS (
    SELECT *, at % :step != :step / 2 AS is_rest,
      CASE WHEN at % :step = :step / 2 THEN at / :step * 619 % 1000 ELSE at END AS turn FROM sorted)
  SELECT id, unshared(prompt, lag(prompt) OVER (ORDER BY is_rest, turn, at)) AS size
  FROM placed ORDER BY is_rest, turn, at"""


def table_of(model: int) -> str:
    """Return the name of the temporary table with a model's order."""
    return f"by_prompt_{model}"


def sort_by_prompt(connection: sqlite3.Connection, model: int, pending: str, values: dict[str, int]) -> None:
    """Write the pending cases of a model into its temporary table, in the order in which they are to be evaluated.

    Sorted prompts share the longest prefixes, but cases that are alike then follow each other: all short prompts may
    come first, and nothing is known about the long ones. So a sample of all of them goes first.

    Args:
        connection: Of the run.
        model: Its number.
        pending: The condition for a case `c` to be pending.
        values: The parameters of the condition.
    """
    connection.create_function("unshared", 2, _unshared, deterministic=True)
    connection.execute(f"DROP TABLE IF EXISTS temp.{table_of(model)}")
    count = f"SELECT COUNT(*) FROM cases c WHERE feasible AND {pending}"  # noqa: S608 - a condition of ours
    ((cases,),) = connection.execute(count, values)
    step = max(1, cases // min(_MOST_SAMPLE, max(_LEAST_SAMPLE, cases // _SAMPLE_SHARE)))
    connection.execute(_CREATE.format(table=table_of(model), pending=pending), values | {"step": step})


def _unshared(prompt: str, previous: str | None) -> int:
    """Return how many characters of a prompt the model has to read if it has just read the previous one."""
    pairs = zip(prompt, previous or "", strict=False)
    return len(prompt) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
