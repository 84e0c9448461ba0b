"""A run on the disk: settings, cases, an intent before every call and the result after it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import Any, Self

import msgspec

from ragbed.errors import DataError, UsageError
from ragbed.runs.checksum import seal_of
from ragbed.runs.commit_counter import lost, noted
from ragbed.runs.database import (
    NAME,
    EmptyRun,
    StepLimit,
    close_written,
    naming,
    open_for_reading,
    open_for_writing,
    prompt_order_table,
    sort_by_prompt,
)
from ragbed.runs.rows import ResultRow, Rows, StoredResult
from ragbed.schema import Case, Completion

__all__ = ["COUNT_CASES", "INTEND", "LOSE", "RECORD", "CallRequest", "RunStore", "StoredResult", "open_store"]

_AT_ONCE = 32
"""Cases that are laid out, written or read one after the other before anything else is done: what is needed for one
is then at hand for the next, and planning takes a quarter less time."""
_MOST_DIGITS = 9
"""Of a number in the settings."""
_FRESH = 1_000
"""Cases that are kept from planning to asking: 10 MB of them with RGB's documents."""
_ADD_CASE = "INSERT INTO cases (name, feasible, seal, line) VALUES (?, ?, ?, ?)"
# SQLite counts with COUNT(*) in one step, which no limit could end in a forged file.
COUNT_CASES = "SELECT COUNT(id) FROM cases"
INTEND = "INSERT INTO intents VALUES (?, ?, ?, ?, ?)"
# A call whose worker ended: it may have been paid, and it is made again.
LOSE = "INSERT INTO orphans VALUES (?, ?, ?, ?, ?)"
# A result may take the place of an error only, which a later session was asked to try again.
RECORD = """INSERT INTO results (model, item, repeat, session, request, outcome, cached, seal, completion)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (model, item, repeat) DO UPDATE SET session = excluded.session, request = excluded.request,
  outcome = excluded.outcome, cached = excluded.cached, seal = excluded.seal, completion = excluded.completion
  WHERE results.outcome = 'error'"""
# Asked in a session, and no result of that session or a later one is there: the provider may have billed it.
_OPEN_CALLS = """SELECT i.* FROM intents i LEFT JOIN results r USING (model, item, repeat)
  WHERE r.session IS NULL OR r.session < i.session"""
# The inner part reads indexes only, so that taking up a run of a million results takes seconds.
_PENDING = """SELECT found.place, {size}, c.id, c.name, c.feasible, c.seal, c.line FROM (
    SELECT {found} FROM {table} p WHERE {condition} AND p.rowid > :last AND (
      NOT EXISTS (SELECT 1 FROM results WHERE model = :model AND item = p.id AND repeat = :repeat)
      OR EXISTS (SELECT 1 FROM results WHERE model = :model AND item = p.id AND repeat = :repeat
                 AND outcome = 'error'))
    ORDER BY 1 LIMIT 256) found JOIN cases c ON c.id = found.id ORDER BY 1"""
_AS_PLANNED = _PENDING.format(size="LENGTH(c.line)", found="p.rowid AS place, id", table="cases", condition="feasible")
_BY_PROMPT = _PENDING.format(size="found.size", found="p.rowid AS place, id, size", table="temp.{0}", condition="TRUE")
_HAS_PENDING = """(SELECT COUNT(*) FROM results r WHERE r.model = :model AND r.item = c.id
  AND r.repeat < :repeats AND r.outcome != 'error') < :repeats"""
_WORK = "SELECT COUNT(*), COALESCE(SUM({size}), 0) FROM {table} c WHERE {condition}"
_WORK_DONE = """SELECT COUNT(*), COALESCE(SUM({size}), 0) FROM results r JOIN {table} c ON c.id = r.item
  WHERE r.model = :model AND r.repeat < :repeats AND r.outcome != 'error'"""
_RESULTS = """SELECT r.model, r.item, r.repeat, r.session, r.request, r.outcome, r.cached, r.seal, r.completion,
  c.id, c.name, c.feasible, c.seal, c.line
  FROM {} WHERE {} ORDER BY {}, r.repeat"""
_RESULTS_FIRST, _CASES_FIRST = (
    "results r LEFT JOIN cases c ON c.id = r.item",
    "cases c CROSS JOIN results r ON r.item = c.id",
)
_BY_NUMBER = _RESULTS.format(_RESULTS_FIRST, "r.model = ?", "r.item")
_BY_NAME = _RESULTS.format(_CASES_FIRST, "r.model = ?", "c.name")
_BETWEEN = _RESULTS.format(_RESULTS_FIRST, "r.model = ? AND r.item >= ? AND r.item < ?", "r.item")
_AFTER = _RESULTS.format(_RESULTS_FIRST, "r.rowid > ?", "r.rowid").replace("SELECT", "SELECT r.rowid,") + " LIMIT ?"
_OF_CASE = _RESULTS.format(_CASES_FIRST, "c.name = ? AND r.model = ?", "r.model")


@dataclass(frozen=True)
class CallKey:
    """Where a result belongs: to a model and a case, by their numbers, for the n-th time."""

    model: int
    number: int
    """Of the case, in the order of the plan."""
    repeat: int


@dataclass(frozen=True)
class CallRequest(CallKey):
    """One thing to be asked of a model."""

    case: Case
    size: int = 0
    """How much there is to read, in a unit that is the same for all cases of the model."""


class RunStore:
    """An open run. While models are asked, rows go through `Writer`; everything here is planning and reading.

    Args:
        path: The file.
        connection: To it.
        limit: Of a query, where the file is only read.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, limit: StepLimit | None = None) -> None:
        self.path, self.connection, self._limit = path, connection, limit
        self.rows = Rows(path)
        self._encoder = msgspec.json.Encoder()
        self._fresh: dict[int, Case] = {}
        """Cases that were just planned, by number: what is at hand need not be read back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._limit is None:
            close_written(self.connection)
        else:
            self.connection.close()

    # Planning: before the first call everything that will be asked is fixed.

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of what is written inside, or nothing."""
        with naming(self.path, "written"):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.commit()
            except BaseException:
                self.connection.rollback()
                self._fresh.clear()
                raise

    def plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Fixes settings and cases, in one transaction: a run is planned whole or not at all."""
        with self.transaction():
            self.add_plan(settings, cases)

    def add_plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Writes the plan into the transaction that is open."""
        self.add_cases(cases)
        told = {f"set.{name}": value for name, value in settings.items()}
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", told.items())
        self.connection.execute("INSERT INTO meta VALUES ('planned', ?)", (f"{time.time():.3f}",))

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Writes cases into the transaction that is open, some at a time."""
        source = iter(cases)
        while some := list(islice(source, _AT_ONCE)):
            rows = iter([self._case_row(case) for case in some])
            try:
                self.connection.executemany(_ADD_CASE, rows)
            except sqlite3.IntegrityError:
                twice = some[-1 - length_hint(rows)].case
                raise UsageError(f"two cases are called {twice}; give the datasets different names.") from None
            if len(self._fresh) < _FRESH:
                last = self.last_case()
                self._fresh.update(zip(range(last + 1 - len(some), last + 1), some, strict=True))

    def add_missing(self, cases: Iterable[Case]) -> None:
        """Adds to the plan those cases that are not in it."""
        with self.transaction() as connection:
            connection.executemany(f"{_ADD_CASE} ON CONFLICT (name) DO NOTHING", map(self._case_row, cases))

    def _case_row(self, case: Case) -> tuple[object, ...]:
        fields, line = (case.case, int(case.feasible)), self._encoder.encode(case)
        return (*fields, seal_of(line, *fields), line)

    def is_planned(self) -> bool:
        """Whether settings and cases are fixed."""
        return bool(list(self.read("SELECT 1 FROM meta WHERE key = 'planned'")))

    def settings(self) -> dict[str, str]:
        """The settings it was begun with; empty if it was never planned."""
        rows = self.read("SELECT key, value FROM meta WHERE key GLOB 'set.*'")
        return {str(key).removeprefix("set."): str(value) for key, value in rows}

    def repeats(self) -> int:
        """Return how many times each case is asked of each model, as the settings say.

        Raises:
            DataError: They say something else than a number.
        """
        value = self.settings().get("repeats", "1")
        if not (value.isdecimal() and len(value) <= _MOST_DIGITS):
            raise self.damaged(f"the setting repeats = {value[:20]!r}")
        return int(value)

    def sessions(self) -> int:
        """Return how many sessions there were.

        Raises:
            DataError: The file says something else than a number.
        """
        found = [str(value) for (value,) in self.read("SELECT value FROM meta WHERE key = 'session'")] or ["0"]
        if not (found[0].isdecimal() and len(found[0]) <= _MOST_DIGITS):
            raise self.damaged(f"the number of the session, {found[0][:20]!r},")
        return int(found[0])

    def add_models(self, models: Sequence[tuple[str, str]]) -> list[int]:
        """The numbers of models, given by name and identity; writes into the transaction that is open.

        Raises:
            UsageError: A model's identity changed; its replies would mix with the old ones.
        """
        numbers = []
        known = {name: (number, identity) for number, (name, identity) in self.models().items()}
        for name, identity in models:
            number, old = known.get(name, (len(known) + 1, ""))
            if old and old != identity:
                now = f"is now {identity}" if identity else "does not say what it is now; is its server up?"
                raise UsageError(f"{name} was {old} when {self.path.parent} was begun and {now}; use another --out.")
            # What was unknown in the first session and is told now is taken at its word.
            self.connection.execute(
                "INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?)",
                (number, name, identity, seal_of(name, number, identity)),
            )
            known[name] = (number, identity)
            numbers.append(number)
        return numbers

    def name_models(self, names: Mapping[str, str]) -> None:
        """Store the names under which models are shown (`--model NAME=…`); a new name replaces an old one.

        Raises:
            UsageError: Another model of the run has the name.
        """
        taken = {name: model for model, name in self.names().items() if model not in names}
        for name in names.values():
            if name in taken:
                raise UsageError(f"{self.path.parent} already has a model named {name!r}: {taken[name]}.")
        with self.transaction() as connection:
            rows = [(f"name.{model}", name) for model, name in names.items()]
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def names(self) -> dict[str, str]:
        """Return the names that were given to models, by model string."""
        rows = self.read("SELECT key, value FROM meta WHERE key GLOB 'name.*'")
        return {str(key).removeprefix("name."): str(value) for key, value in rows}

    def begin_session(self, models: Sequence[tuple[str, str]]) -> tuple[int, list[int]]:
        """The number of this session and those of the models; calls that earlier ones left open go on record."""
        with self.transaction() as connection:
            numbers = self.add_models(models)
            session = self.sessions() + 1
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('session', ?)", (str(session),))
            connection.execute(f"INSERT INTO orphans {_OPEN_CALLS}")
            connection.execute("DELETE FROM intents")
        return session, numbers

    def row(self, call: CallKey, session: int, request: str, completion: Completion, cached: bool) -> ResultRow:
        """A result as its row for RECORD, sealed with a checksum."""
        encoded = self._encoder.encode(completion)
        fields = (call.model, call.number, call.repeat, session, request, completion.outcome, int(cached))
        return ResultRow(*fields, seal_of(encoded, *fields), encoded)

    # Reading.

    def models(self) -> dict[int, tuple[str, str]]:
        """Name and identity of every model, by number."""
        models = {}
        for number, name, identity, seal in self.read("SELECT id, name, identity, seal FROM models ORDER BY id"):
            if not isinstance(number, int) or seal_of(name, number, identity) != seal:
                raise self.damaged(f"model {number}")
            models[number] = (str(name), str(identity))
        return models

    def pending(self, model: int, repeats: int, *, by_prompt: bool = False) -> Iterator[CallRequest]:
        """What has no result yet, or ended in an error; read piece by piece.

        Args:
            model: Its number.
            repeats: How often each case is asked.
            by_prompt: A sample first, then sorted by prompt (see `sort_by_prompt`); otherwise as planned.
        """
        if not by_prompt:
            return self._read_pending(_AS_PLANNED, model, repeats)
        with naming(self.path, "read"):
            sort_by_prompt(self.connection, model, _HAS_PENDING, {"model": model, "repeats": repeats})
        return self._read_pending(_BY_PROMPT.format(prompt_order_table(model)), model, repeats)

    def _read_pending(self, query: str, model: int, repeats: int) -> Iterator[CallRequest]:
        for repeat in range(repeats):
            last = 0
            while rows := list(self.read(query, {"last": last, "model": model, "repeat": repeat})):
                last = rows[-1][0]
                for first in range(0, len(rows), _AT_ONCE):
                    some = rows[first : first + _AT_ONCE]
                    yield from [
                        CallRequest(model, row[2], repeat, self._fresh_or_read(*row[2:]), row[1]) for row in some
                    ]

    def work(self, model: int, repeats: int, *, by_prompt: bool = False) -> tuple[int, int]:
        """Return how many calls to a model are pending and the sum of their sizes; call `pending` first."""
        parts = {"size": "LENGTH(c.line)", "table": "cases", "condition": "feasible"}
        if by_prompt:
            parts = {"size": "c.size", "table": f"temp.{prompt_order_table(model)}", "condition": "TRUE"}
        ((cases, size),) = self.read(_WORK.format(**parts))
        ((done, done_size),) = self.read(_WORK_DONE.format(**parts), {"model": model, "repeats": repeats})
        return cases * repeats - done, size * repeats - done_size

    def _fresh_or_read(self, number: int, *columns: object) -> Case:
        return self._fresh.pop(number) if number in self._fresh else self.rows.case(*columns)

    def cases(self, *, by_name: bool = False) -> Iterator[Case]:
        """Every case of the plan, infeasible ones too, in its order or by name."""
        order = "name" if by_name else "id"
        most = self._noted("cases")
        rows = self.read(f"SELECT name, feasible, seal, line FROM cases ORDER BY {order}")  # noqa: S608
        for number, columns in enumerate(rows, 1):
            if number > most:
                raise self.damaged("the list of cases")
            yield self.rows.case(*columns)

    def cases_after(self, number: int, limit: int) -> Iterator[tuple[int, Case]]:
        """Cases of the plan that can be asked, with their numbers, from one on."""
        query = "SELECT id, name, feasible, seal, line FROM cases WHERE feasible AND id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, self.rows.case(*columns)

    def results(self, *, by_name: bool = False) -> Iterator[StoredResult]:
        """Every result with its case: by model, case and repeat, as planned or by name.

        Raises:
            DataError: A row is damaged, or the ledger says that one is missing; at the latest after the last one.
        """
        models = self.models()
        rows, seals = 0, 0
        with self.snapshot():
            most = self._noted("results")
            for number, (name, _) in sorted(models.items(), key=lambda pair: pair[1] if by_name else pair):
                for row in self.read(_BY_NAME if by_name else _BY_NUMBER, (number,)):
                    rows, seals = rows + 1, seals + self.rows.check(row)
                    if rows > most:
                        raise self.damaged("the list of results")
                    yield self.rows.stored(name, row)
            if not self.is_whole(rows, seals):
                raise self.damaged("the list of results")

    def rows_between(self, model: int, first: int, end: int) -> list[tuple[Any, ...]]:
        """A model's results of the cases from one number up to another, as they lie there; no ledger is asked."""
        return list(self.read(_BETWEEN, (model, first, end)))

    def results_after(self, row: int, limit: int) -> Iterator[tuple[int, StoredResult, int]]:
        """Results in the order in which they came, with the number of their row and their seal; no ledger is asked."""
        models = self.models()
        for number, *columns in self.read(_AFTER, (row, limit)):
            seal = self.rows.check(tuple(columns))
            yield number, self.rows.stored(models[columns[0]][0], tuple(columns)), seal

    def results_of(self, case: str, limit: int) -> Iterator[StoredResult]:
        """What models said of one case, by model and repeat, at most so many of each."""
        for number, (name, _) in self.models().items():
            for row in self.read(f"{_OF_CASE} LIMIT ?", (case, number, limit)):
                self.rows.check(row)
                yield self.rows.stored(name, row)

    def is_whole(self, rows: int, seals: int) -> bool:
        """Whether as many results as were read, with these seals together, are what the ledger says."""
        return [(rows, seals)] == list(self.read("SELECT rows, seals FROM ledger WHERE what = 'results'"))

    def last_result(self) -> int:
        """The row of the result that came last; 0 if there is none."""
        ((last,),) = self.read("SELECT COALESCE(MAX(rowid), 0) FROM results")
        return int(last)

    def noted_results(self) -> int:
        """Return how many results there are, as the ledger says."""
        return self._noted("results")

    def last_case(self) -> int:
        """The highest number of a case; 0 if there is none."""
        ((last,),) = self.read("SELECT COALESCE(MAX(id), 0) FROM cases")
        return int(last)

    def size(self, repeats: int) -> int:
        """How many times each model is to be asked."""
        ((counted,),) = self.read(COUNT_CASES)
        if counted != self._noted("cases"):
            raise self.damaged("the list of cases")
        ((feasible,),) = self.read("SELECT COUNT(*) FROM cases WHERE feasible")
        return int(feasible) * repeats

    def infeasible(self) -> int:
        """How many cases of the plan cannot be asked."""
        ((infeasible,),) = self.read("SELECT COUNT(*) FROM cases WHERE NOT feasible")
        return int(infeasible)

    def an_error(self) -> str | None:
        """What the first of the cases that ended in an error says, if there is one."""
        found = "SELECT json_extract(CAST(completion AS TEXT), '$.error') FROM results WHERE outcome = 'error' LIMIT 1"
        return next((str(told) for (told,) in self.read(found)), None)

    def done(self, model: int) -> int:
        """How many results of a model need not be asked for again."""
        ((results,),) = self.read("SELECT COUNT(*) FROM results WHERE model = ?", (model,))
        ((errors,),) = self.read("SELECT COUNT(*) FROM results WHERE model = ? AND outcome = 'error'", (model,))
        return int(results) - int(errors)

    def orphans(self) -> list[tuple[str, str, int]]:
        """Calls of earlier sessions that may have been paid without a reply to show for it: model, case, repeat."""
        return self._calls("SELECT * FROM orphans")

    def open_calls(self) -> list[tuple[str, str, int]]:
        """Calls of the last session without a reply: in flight if it is at work, orphans if it was ended."""
        return self._calls(_OPEN_CALLS)

    def _calls(self, source: str) -> list[tuple[str, str, int]]:
        rows = self.read(
            f"""SELECT m.name, c.name, o.repeat FROM ({source}) o
            JOIN models m ON m.id = o.model JOIN cases c ON c.id = o.item ORDER BY o.session, m.id, c.id"""  # noqa: S608
        )
        return [(str(model), str(case), int(repeat)) for model, case, repeat in rows]

    def read(self, query: str, values: Sequence[object] | dict[str, object] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a query that changes nothing."""
        if self._limit is not None:
            self._limit.restart()
        with naming(self.path, "read"):
            # `yield from` would also close the cursor of an abandoned reader, which fails once the store is closed.
            for row in self.connection.execute(query, values):  # noqa: UP028
                yield row

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever is written meanwhile."""
        with naming(self.path, "read"):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # an abandoned reader may end after the store was closed
                self.connection.rollback()

    def _noted(self, what: str) -> int:
        """Return how many rows of a kind there are, as the ledger says."""
        found = list(self.read("SELECT rows FROM ledger WHERE what = ?", (what,)))
        if len(found) != 1 or not isinstance(found[0][0], int) or found[0][0] < 0:
            raise self.damaged("the ledger")
        return int(found[0][0])

    def damaged(self, what: str) -> DataError:
        """The error to raise where something read is not what was written."""
        return self.rows.damaged(what)


def open_store(folder: Path, *, create: bool) -> RunStore:
    """Opens the run in a folder: for reading, or, by who holds its lock, for writing, making it first if need be."""
    path = folder / NAME
    if create:
        return RunStore(path, open_for_writing(path))
    acknowledged = noted(folder)
    try:
        connection = open_for_reading(path)
    except EmptyRun:
        if acknowledged:
            raise _lost_commits(path, acknowledged, acknowledged) from None
        raise
    store = RunStore(path, connection, StepLimit(path, connection))
    with naming(path, "read"):
        missing = lost(acknowledged, store.connection)
    if missing:
        store.connection.close()
        raise _lost_commits(path, missing, acknowledged)
    return store


def _lost_commits(path: Path, missing: int, acknowledged: int) -> DataError:
    return DataError(
        path,
        f"has lost the last {missing} of {acknowledged} commits: its log is damaged, or it is an older copy. "
        "Rerun the command that created the run to repeat the lost calls; to read the run as it is, "
        "delete the file `acknowledged` beside it",
    )
