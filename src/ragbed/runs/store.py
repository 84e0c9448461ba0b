"""Store a run on disk: settings, cases, a record of each call before it is made, and its result afterwards."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.models.base import CONTEXT_FULL
from ragbed.runs.checksum import seal_of
from ragbed.runs.commit_counter import lost_commits, noted_commits
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
from ragbed.runs.prices import Price, own_price
from ragbed.runs.question_order import question_order_table, sort_by_question
from ragbed.runs.rows import ResultRow, Rows, StoredResult
from ragbed.schema import Case, Completion

__all__ = [
    "ANSWERED",
    "BATCH",
    "COUNT_CASES",
    "FOLLOW_UP",
    "FORGET",
    "FORGET_TURNS",
    "INTEND",
    "LOSE",
    "NOTE",
    "RECORD",
    "REPLACED",
    "CallKey",
    "CallRequest",
    "Called",
    "FollowUp",
    "RunStore",
    "StoredBatch",
    "StoredResult",
    "open_store",
]

# Number of cases to generate, write or read in one step. Planning is a quarter faster than with one case per step,
# because the code and data of each step stay in the CPU cache.
_BATCH = 32
_MAX_DIGITS = 9  # maximum number of digits in a stored integer
# Maximum total size of the cases to keep in memory between planning and calls: about 1,000 cases with RGB's documents.
_MAX_FRESH_BYTES = 10_000_000
_ADD_CASE = "INSERT INTO cases (name, feasible, seal, line) VALUES (?, ?, ?, ?)"
# Do not use COUNT(*): SQLite runs it in one step, so a step limit could not interrupt it on a malicious file.
COUNT_CASES = "SELECT COUNT(id) FROM cases"
INTEND = "INSERT INTO intents VALUES (?, ?, ?, ?, ?)"
NOTE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
# This statement records a lost call, e.g. one whose worker died. The call may have been billed and will be repeated.
LOSE = "INSERT INTO orphans VALUES (?, ?, ?, ?, ?)"
# A result may replace an error, because later sessions retry errors. It never replaces another result. It gets a new
# row number, so that whoever reads the results after a row finds it.
RECORD = """INSERT INTO results (model, item, repeat, session, request, outcome, cached, seal, completion)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (model, item, repeat) DO UPDATE SET rowid = (SELECT MAX(rowid) + 1 FROM results),
  session = excluded.session, request = excluded.request, outcome = excluded.outcome, cached = excluded.cached,
  seal = excluded.seal, completion = excluded.completion
  WHERE results.outcome = 'error'"""
# Calls that have no result from the same or a later session. The provider may have billed them.
_OPEN_CALLS = """SELECT i.* FROM intents i LEFT JOIN results r USING (model, item, repeat)
  WHERE r.session IS NULL OR r.session < i.session"""
# The conditions read only indexes, so that even a run with a million results can be resumed within seconds.
_PENDING = """SELECT p.rowid, p.id, {repeat}, {size} FROM {table} WHERE {condition} AND p.rowid > :last AND (
    NOT EXISTS (SELECT 1 FROM results WHERE model = :model AND item = p.id AND repeat = {repeat})
    OR EXISTS (SELECT 1 FROM results WHERE model = :model AND item = p.id AND repeat = {repeat}
               AND outcome = 'error'))
  ORDER BY 1 LIMIT 256"""
_IN_TABLE = {"size": "p.size", "table": "temp.{0} p", "condition": "TRUE"}
_IN_CASES = {"size": "LENGTH(p.line)", "table": "cases p INDEXED BY feasible_cases", "condition": "feasible"}
_AS_PLANNED = _PENDING.format(**_IN_CASES, repeat=":repeat")
_BY_PROMPT = _PENDING.format(**_IN_TABLE, repeat=":repeat")
_BY_QUESTION = _PENDING.format(**_IN_TABLE, repeat="p.repeat")
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
_OF_CALL = _RESULTS.format(_CASES_FIRST, "c.name = ? AND r.model = ? AND r.repeat = ?", "r.model")


REPLACED = "replaced."  # prefix of the keys under which the usage of replaced failures is stored
TURN = "turn."  # prefix of the keys under which the turns of unfinished cases are stored
# ANSWERED removes the intent of a call whose response is stored as a turn. FORGET_TURNS removes a case's turns.
ANSWERED = """DELETE FROM intents WHERE rowid = (SELECT rowid FROM intents
  WHERE model = ? AND item = ? AND repeat = ? ORDER BY rowid DESC LIMIT 1)"""
FORGET_TURNS = "DELETE FROM meta WHERE key > ? AND key < ?"
BATCH = "batch."  # prefix of the keys under which batches are stored
FOLLOW_UP = "again."  # prefix of the keys for calls to send again; model, case and repeat follow the prefix
FORGET = "DELETE FROM meta WHERE key = ?"


_Kind = TypeVar("_Kind")


class StoredBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A provider batch, whose state is first `intended`, then `submitted`, then `collected`."""

    key: str
    model: int
    created: float
    count: int
    calls: list[tuple[int, int]] = []  # case number and repeat of each call; empty once all results are stored
    remote: str | None = None  # the provider's ID for the batch
    state: str = "intended"
    limits: list[int] = []  # token limit of each call; empty once all results are stored
    learned: dict[str, dict[str, Any] | None] = {}  # parameter changes, including those learned from results
    thinks: bool = False  # whether any response so far contained reasoning


class FollowUp(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call to send again in a later batch.

    Attributes:
        max_tokens: Its token limit.
        first: The truncated response, if the limit was raised.
        rejections: The number of times that the server has rejected the call.
        after: Key of the last batch that contained the call, whose results need not be read again.
        learned: Parameters that were changed because the server requires it.
    """

    max_tokens: int
    first: Completion | None = None
    rejections: int = 0
    after: str = ""
    learned: dict[str, dict[str, Any] | None] = {}


class Called(msgspec.Struct, frozen=True):
    """A finished call, or the calls for a case; the calls of an unfinished case are stored as its turns.

    Attributes:
        completion: The outcome.
        key: The cache key of the request, or of the last request if there were several.
        cached: When the oldest response was received, in seconds since 1970, if all are cached; otherwise 0.
    """

    completion: Completion
    key: str
    cached: int = 0


class CallKey(msgspec.Struct, frozen=True):
    """Identifies a call by its model index, case index (in plan order) and repeat index."""

    model: int
    number: int
    repeat: int

    def turn_key(self, turn: int) -> str:
        """Return the key under which a turn is stored; sorting the keys sorts the turns."""
        return f"{TURN}{self.model}.{self.number}.{self.repeat}.{turn:06}"

    def turn_range(self) -> tuple[str, str]:
        """Return exclusive lower and upper bounds for the keys of a call's turns."""
        prefix = f"{TURN}{self.model}.{self.number}.{self.repeat}."
        return prefix, f"{prefix}~"


class CallRequest(CallKey, frozen=True):
    """A call to make; `size` is the length of the input, in the same unit for all of the model's cases."""

    case: Case
    size: int = 0


class RunStore:
    """An open run, for planning and reading. While models are being called, `Writer` writes to the run.

    Args:
        path: The file.
        connection: A connection to it.
        limit: The step limit for queries, if the file is open only for reading.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, limit: StepLimit | None = None) -> None:
        self.path, self.connection, self._limit = path, connection, limit
        self.rows = Rows(path)
        self._encoder = msgspec.json.Encoder()
        self._fresh: dict[int, Case] = {}  # newly planned cases by number, to avoid reading them again
        self._fresh_bytes = 0
        self.wanted: set[str] | None = None  # names of the cases to call; None for all

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._limit is None:
            close_written(self.connection)
        else:
            self.connection.close()

    # Methods for planning: all cases are fixed before the first call.

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction: either all of its changes are written, or none."""
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
        """Write settings and cases in one transaction."""
        with self.transaction():
            self.add_plan(settings, cases)

    def add_plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Write settings and cases as part of the open transaction."""
        self.add_cases(cases)
        rows = [(f"set.{name}", value) for name, value in settings.items()]
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self.connection.execute("INSERT INTO meta VALUES ('planned', ?)", (f"{time.time():.3f}",))

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Write cases in batches as part of the open transaction."""
        source = iter(cases)
        while batch := list(islice(source, _BATCH)):
            made = [self._case_row(case) for case in batch]
            rows = iter(made)
            try:
                self.connection.executemany(_ADD_CASE, rows)
            except sqlite3.IntegrityError:
                twice = batch[-1 - length_hint(rows)].case
                raise UsageError(f"two cases are named {twice}. Give the datasets different names.") from None
            if self._fresh_bytes < _MAX_FRESH_BYTES:
                self._fresh_bytes += sum(len(line) for *_, line in made)
                last = self.last_case()
                self._fresh.update(zip(range(last + 1 - len(batch), last + 1), batch, strict=True))

    def add_missing(self, cases: Iterable[Case]) -> None:
        """Add the cases that are not yet in the plan. Other cases in the plan are not called in this session."""
        rows, self.wanted = map(self._case_row, cases), set[str]()
        with self.transaction() as connection:
            for row in rows:
                self.wanted.add(row[0])
                connection.execute(f"{_ADD_CASE} ON CONFLICT (name) DO NOTHING", row)

    def _case_row(self, case: Case) -> tuple[str, int, int, bytes]:
        feasible, line = int(case.feasible), self._encoder.encode(case)
        return case.case, feasible, seal_of(line, case.case, feasible), line

    def is_planned(self) -> bool:
        """Return whether settings and cases have been written."""
        return bool(list(self.read("SELECT 1 FROM meta WHERE key = 'planned'")))

    def planned_at(self) -> float:
        """Return the time at which settings and cases were written, in seconds since 1970, or 0 if it is unknown."""
        with suppress(ValueError):
            return float(self._meta("planned").get("", "0"))
        return 0.0

    def _meta(self, prefix: str) -> dict[str, str]:
        rows = self.read("SELECT key, value FROM meta WHERE key GLOB ?", (f"{prefix}*",))
        return {str(key).removeprefix(prefix): str(value) for key, value in rows}

    def settings(self) -> dict[str, str]:
        """Return the run's settings, which are empty if the run was never planned."""
        return self._meta("set.")

    def is_monitored(self) -> bool:
        """Return whether the run has a stopping condition (`--until`), which requires anytime-valid intervals."""
        return "until" in self.settings()

    def is_imported(self) -> bool:
        """Return whether the results come from files. Such a run is complete, even if the files cover other cases."""
        return "imported" in self.settings()

    def repeats(self) -> int:
        """Return the number of repeats in the settings.

        Raises:
            DataError: The setting is not a number.
        """
        value = self.settings().get("repeats", "1")
        return self._parse(value, f"the setting repeats = {value[:20]!r}")

    def sessions(self) -> int:
        """Return the number of sessions.

        Raises:
            DataError: The file contains something other than a number.
        """
        value = self._meta("session").get("", "0")
        return self._parse(value, f"the session number {value[:20]!r}")

    def _parse(self, number: str, what: str) -> int:
        if not (number.isdecimal() and len(number) <= _MAX_DIGITS):
            raise self.damaged(what)
        return int(number)

    def add_models(self, models: Sequence[tuple[str, str]]) -> list[int]:
        """Add models, given as pairs of name and identity, within the open transaction, and return the model numbers.

        Raises:
            UsageError: A model's identity has changed, so its new responses must not be mixed with the old ones.
        """
        numbers = []
        known = {name: (number, identity) for number, (name, identity) in self.models().items()}
        for name, identity in models:
            number, old = known.get(name, (len(known) + 1, ""))
            if old and old != identity:
                now = f"It is now {identity}" if identity else "It now reports no identity (is its server running?)"
                raise UsageError(
                    f"{name} was {old} when {self.path.parent} was created. {now}. Choose a new folder for `out`."
                )
            # Accept an identity that was unknown in the first session and is reported now.
            self.connection.execute(
                "INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?)",
                (number, name, identity, seal_of(name, number, identity)),
            )
            known[name] = (number, identity)
            numbers.append(number)
        return numbers

    def name_models(self, names: Mapping[str, str]) -> None:
        """Store display names for models (`--model NAME=…`); a new name replaces an old one.

        Raises:
            UsageError: Another model in the run has the same name.
        """
        taken = {name: model for model, name in self.names().items() if model not in names}
        for name in names.values():
            if name in taken:
                raise UsageError(
                    f"{self.path.parent} already has a model named {name!r} ({taken[name]}). Choose another name."
                )
        with self.transaction() as connection:
            rows = [(f"name.{model}", name) for model, name in names.items()]
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    def prices(self) -> dict[str, Price]:
        """Return the prices set by the user, by model string."""
        return {model: own_price(amounts) for model, amounts in self.own_prices().items()}

    def own_prices(self) -> dict[str, str]:
        """Return the prices set by the user as `IN,OUT`, by model string."""
        return self._meta("price.")

    def names(self) -> dict[str, str]:
        """Return the display names set by the user, by model string."""
        return self._meta("name.")

    def served(self) -> dict[str, list[str]]:
        """Return the model names that servers reported for each model string, in order of first appearance.

        Raises:
            DataError: The stored names are damaged.
        """
        try:
            return {model: msgspec.json.decode(names, type=list[str]) for model, names in self._meta("served.").items()}
        except MALFORMED_JSON:
            raise self.damaged("the list of served models") from None

    def fingerprints(self, model: str, *, last: bool = False) -> list[str]:
        """Return the values of `system_fingerprint` in the responses of a model, or only the last response's value."""
        found = self.read(
            """SELECT DISTINCT json_extract(completion, '$.served.fingerprint') FROM (
            SELECT r.rowid AS place, CAST(completion AS TEXT) AS completion FROM models m
            CROSS JOIN results r ON r.model = m.id WHERE m.name = ? ORDER BY place DESC LIMIT ?) ORDER BY place""",
            (model, 1 if last else -1),
        )
        return [str(value) for (value,) in found if value is not None]

    def sent(self) -> dict[str, str]:
        """Return the parameters sent to each model, excluding prompts, as JSON keyed by model string."""
        return self._meta("sent.")

    def begin_session(self, models: Sequence[tuple[str, str]]) -> tuple[int, list[int]]:
        """Start a session, record the open calls of earlier sessions, and return the session and model numbers."""
        with self.transaction() as connection:
            numbers = self.add_models(models)
            session = self.sessions() + 1
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('session', ?)", (str(session),))
            connection.execute(f"INSERT INTO orphans {_OPEN_CALLS}")
            connection.execute("DELETE FROM intents")
        return session, numbers

    def row(self, call: CallKey, session: int, request: str, completion: Completion, cached: int = 0) -> ResultRow:
        """Return a result's row for the `RECORD` statement, with its checksum."""
        encoded = self._encoder.encode(completion)
        fields = (call.model, call.number, call.repeat, session, request, completion.outcome, cached)
        return ResultRow(*fields, seal_of(encoded, *fields), encoded)

    # Methods that read from the store.

    def batches(self, model: int | None = None, *, collected: bool = False) -> list[StoredBatch]:
        """Return the provider batches for one model or all models, in order of creation.

        Args:
            model: The model's number, or None for all models.
            collected: Whether to return collected batches instead of those in progress.

        Raises:
            DataError: The stored data of a batch are damaged.
        """
        found = []
        for key, text in self._meta(BATCH).items():
            try:
                found.append(msgspec.json.decode(text, type=StoredBatch))
            except msgspec.MsgspecError:
                raise self.damaged(f"batch {key[:20]}") from None
        wanted = [one for one in found if (one.state == "collected") == collected and model in (None, one.model)]
        return sorted(wanted, key=lambda batch: batch.created)

    def follow_ups(self, model: int | None = None) -> dict[tuple[int, int], FollowUp]:
        """Return the calls to send again in later batches, by case number and repeat.

        Raises:
            DataError: The stored data of a call are damaged.
        """
        found = {}
        for key, text in self._meta(FOLLOW_UP if model is None else f"{FOLLOW_UP}{model}.").items():
            try:
                number, repeat = map(int, key.split(".")[-2:])
                found[number, repeat] = msgspec.json.decode(text, type=FollowUp)
            except (msgspec.MsgspecError, ValueError):
                raise self.damaged(f"call {key[:20]}") from None
        return found

    def turns(self, model: int) -> dict[tuple[int, int], list[Called]]:
        """Return the turns of a model's unfinished cases, by case number and repeat.

        Raises:
            DataError: The stored data of a turn are damaged.
        """
        found: dict[tuple[int, int], list[Called]] = {}
        for key, text in sorted(self._meta(f"{TURN}{model}.").items()):
            try:
                number, repeat, turn = map(int, key.split("."))
                stored = msgspec.json.decode(text, type=Called)
            except (ValueError, *MALFORMED_JSON):
                raise self.damaged(f"turn {key[:40]}") from None
            turns = found.setdefault((number, repeat), [])
            if turn != len(turns):
                raise self.damaged(f"turn {key[:40]}")
            turns.append(stored)
        return found

    def models(self) -> dict[int, tuple[str, str]]:
        """Return the name and identity of every model, by model number."""
        models = {}
        for number, name, identity, seal in self.read("SELECT id, name, identity, seal FROM models ORDER BY id"):
            if not isinstance(number, int) or seal_of(name, number, identity) != seal:
                raise self.damaged(f"model {number}")
            models[number] = (str(name), str(identity))
        return models

    def pending(
        self, model: int, repeats: int, *, by_prompt: bool = False, by_question: bool = False
    ) -> Iterator[CallRequest]:
        """Yield the calls that have no result or that failed with an error, reading them in batches.

        Args:
            model: The model's number.
            repeats: The number of responses per case.
            by_prompt: Whether to sort by prompt (see `sort_by_prompt`) instead of using the plan order.
            by_question: Whether to shuffle by question (see `sort_by_question`) instead of using the plan order.
        """
        if by_question:
            with naming(self.path, "read"):
                sort_by_question(self.connection, model, repeats)
            return self._read_pending(_BY_QUESTION.format(question_order_table(model)), model, 1)
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
                for first in range(0, len(rows), _BATCH):
                    batch = rows[first : first + _BATCH]
                    cases = self._take_cases([number for _, number, _, _ in batch])
                    yield from [CallRequest(model, number, nth, cases[number], size) for _, number, nth, size in batch]

    def question_order(self, model: int) -> Iterator[tuple[int, int]]:
        """Yield the case number and repeat of each call in evaluation order, after `pending` with `by_question`."""
        table = question_order_table(model)
        yield from self.read(f"SELECT id, repeat FROM temp.{table} ORDER BY rowid")  # noqa: S608 - a name of ours

    def work(self, model: int, repeats: int, *, by_prompt: bool = False) -> tuple[int, int]:
        """Return the number of pending calls to a model and the sum of their sizes; call `pending` first."""
        parts = {"size": "LENGTH(c.line)", "table": "cases", "condition": "feasible"}
        if by_prompt:
            parts = {"size": "c.size", "table": f"temp.{prompt_order_table(model)}", "condition": "TRUE"}
        ((cases, size),) = self.read(_WORK.format(**parts))
        ((done, done_size),) = self.read(_WORK_DONE.format(**parts), {"model": model, "repeats": repeats})
        return cases * repeats - done, size * repeats - done_size

    def _take_cases(self, numbers: Sequence[int]) -> dict[int, Case]:
        """Return cases by number; those that were not planned in this session are read."""
        cases = {number: self._fresh.pop(number) for number in numbers if number in self._fresh}
        if absent := [number for number in numbers if number not in cases]:
            places = ",".join("?" * len(absent))
            query = f"SELECT id, name, feasible, seal, line FROM cases WHERE id IN ({places})"  # noqa: S608
            cases |= {number: self.rows.case(*columns) for number, *columns in self.read(query, absent)}
        return cases

    def cases(self, *, by_name: bool = False) -> Iterator[Case]:
        """Yield every case in the plan, including infeasible ones, in plan order or sorted by name."""
        order = "name" if by_name else "id"
        most = self._ledger_rows("cases")
        rows = self.read(f"SELECT name, feasible, seal, line FROM cases ORDER BY {order}")  # noqa: S608
        for number, columns in enumerate(rows, 1):
            if number > most:
                raise self.damaged("the list of cases")
            yield self.rows.case(*columns)

    def cases_after(self, number: int, limit: int) -> Iterator[tuple[int, Case]]:
        """Yield up to `limit` feasible cases after the given case number, with their numbers."""
        query = "SELECT id, name, feasible, seal, line FROM cases WHERE feasible AND id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, self._fresh.get(found) or self.rows.case(*columns)

    def planned_after(self, number: int, limit: int, kind: type[_Kind]) -> Iterator[tuple[int, _Kind]]:
        """Yield up to `limit` cases after the given case number, decoded as another type with fewer fields."""
        decode = msgspec.json.Decoder(kind).decode
        query = "SELECT id, name, feasible, seal, line FROM cases WHERE id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, decode(self.rows.line(*columns))

    def results(self, *, by_name: bool = False) -> Iterator[StoredResult]:
        """Yield every result with its case, sorted by model, case (in plan order or by name) and repeat.

        Raises:
            DataError: A row is damaged, or rows are missing according to the ledger (raised after the last row at the
                latest).
        """
        models = self.models()
        rows, seals = 0, 0
        with self.snapshot():
            most = self._ledger_rows("results")
            for number, (name, _) in sorted(models.items(), key=lambda pair: pair[1] if by_name else pair):
                for row in self.read(_BY_NAME if by_name else _BY_NUMBER, (number,)):
                    rows, seals = rows + 1, seals + self.rows.check(row)
                    if rows > most:
                        raise self.damaged("the list of results")
                    yield self.rows.stored(name, row)
            if not self.is_whole(rows, seals):
                raise self.damaged("the list of results")

    def rows_between(self, model: int, first: int, end: int) -> list[tuple[Any, ...]]:
        """Return the rows of a model's results for a range of cases, without checking the ledger."""
        return list(self.read(_BETWEEN, (model, first, end)))

    def results_after(self, row: int, limit: int) -> Iterator[tuple[int, StoredResult, int]]:
        """Yield up to `limit` results after a row, in the order written, each with its row number and checksum.

        The ledger is not checked.
        """
        models = self.models()
        for number, *columns in self.read(_AFTER, (row, limit)):
            seal = self.rows.check(tuple(columns))
            yield number, self.rows.stored(models[columns[0]][0], tuple(columns)), seal

    def results_of(self, case: str, limit: int) -> Iterator[StoredResult]:
        """Yield the results for one case, sorted by model and repeat, with at most `limit` results per model."""
        for number, (name, _) in self.models().items():
            for row in self.read(f"{_OF_CASE} LIMIT ?", (case, number, limit)):
                self.rows.check(row)
                yield self.rows.stored(name, row)

    def result(self, model: int, case: str, repeat: int) -> StoredResult | None:
        """Return a model's result for one case and repeat, or None if there is none."""
        row = next(self.read(_OF_CALL, (case, model, repeat)), None)
        if row is None:
            return None
        self.rows.check(row)
        return self.rows.stored("", row)

    def has_response(self, model: int, number: int, repeat: int) -> bool:
        """Return whether a call has a result that is not an error."""
        query = "SELECT 1 FROM results WHERE model = ? AND item = ? AND repeat = ? AND outcome != 'error'"
        return bool(list(self.read(query, (model, number, repeat))))

    def error_of(self, model: int, number: int, repeat: int) -> Completion | None:
        """Return a call's result if the call failed, otherwise None."""
        for row in self.rows_between(model, number, number + 1):
            if row[2] == repeat and row[5] == "error":
                self.rows.check(row)
                return self.rows.stored("", row).completion
        return None

    def billed_failures(self, model: int) -> Iterator[tuple[CallKey, int, Completion]]:
        """Yield the failed calls to a model that report their token usage, each with its session and its result."""
        query = "SELECT * FROM results WHERE model = ? AND outcome = 'error' AND cached = 0 AND INSTR(completion, ?)"
        for row in self.read(query, (model, b'"usage"')):
            self.rows.check(row)
            yield CallKey(model, row[1], row[2]), row[3], self.rows.completion(row)

    def replaced_usage(self) -> list[tuple[str, dict[str, int]]]:
        """Return the model string and the token usage of each billed call whose failure was replaced by a retry."""
        models, found = self.models(), self._meta(REPLACED)
        try:
            return [
                (models[int(key.partition(".")[0])][0], usage)
                for key, usages in found.items()
                for usage in msgspec.json.decode(usages, type=list[dict[str, int]])
            ]
        except (KeyError, ValueError) as error:
            raise self.damaged("the usage of replaced failures") from error

    def is_whole(self, rows: int, seals: int) -> bool:
        """Return whether the number of results and the sum of their checksums match the ledger."""
        return [(rows, seals)] == list(self.read("SELECT rows, seals FROM ledger WHERE what = 'results'"))

    def last_result(self) -> int:
        """Return the row number of the last result, or 0 if there are no results."""
        return self._number("SELECT COALESCE(MAX(rowid), 0) FROM results")

    def result_count(self) -> int:
        """Return the number of results in the ledger."""
        return self._ledger_rows("results")

    def last_case(self) -> int:
        """Return the highest case number, or 0 if there are no cases."""
        return self._number("SELECT COALESCE(MAX(id), 0) FROM cases")

    def size(self, repeats: int) -> int:
        """Return the planned number of calls to each model."""
        if self._number(COUNT_CASES) != self._ledger_rows("cases"):
            raise self.damaged("the list of cases")
        return self._number("SELECT COUNT(*) FROM cases WHERE feasible") * repeats

    def infeasible(self) -> int:
        """Return the number of infeasible cases."""
        return self._number("SELECT COUNT(*) FROM cases WHERE NOT feasible")

    def an_error(self) -> str | None:
        """Return the first error's message, or None if there are no errors."""
        query = "SELECT json_extract(CAST(completion AS TEXT), '$.error') FROM results WHERE outcome = 'error' LIMIT 1"
        return next((str(error) for (error,) in self.read(query)), None)

    def truncated(self) -> tuple[int, int | None]:
        """Return how many responses filled the context window, and the highest raised token limit of the others.

        Episodes of the `search` testbed, which have their own limits, do not count.
        """
        query = """SELECT TOTAL(finish = ?1), MAX(CASE WHEN finish IS NOT ?1 THEN max_tokens END) FROM (
        SELECT json_extract(content, '$.finish') AS finish, json_extract(content, '$.max_tokens') AS max_tokens FROM (
        SELECT CAST(completion AS TEXT) AS content FROM results JOIN cases ON cases.id = item
        WHERE outcome = 'truncated' AND name NOT GLOB '*/search@*'))"""
        ((full, highest),) = self.read(query, (CONTEXT_FULL,))
        return int(full), highest

    def cached(self, model: int | None = None) -> tuple[int, int | None]:
        """Return how many responses came from the cache, and when the oldest was received, in seconds since 1970.

        Args:
            model: The model's number, or None for all models.
        """
        query = """SELECT COUNT(*), MIN(at) FROM (
        SELECT COALESCE(json_extract(value, '$.cached'), 0) + (value IS NULL) * cached AS at
        FROM models m CROSS JOIN results r ON r.model = m.id
        LEFT JOIN json_each(CAST(completion AS TEXT), '$.steps') WHERE ?1 IS NULL OR m.id = ?1) WHERE at > 0"""
        ((count, oldest),) = self.read(query, (model,))
        return int(count), oldest

    def done(self, model: int) -> int:
        """Return how many of a model's results are not errors."""
        # Two queries are faster than one, because each uses only one index.
        errors = self._number("SELECT COUNT(*) FROM results WHERE model = ? AND outcome = 'error'", (model,))
        return self._number("SELECT COUNT(*) FROM results WHERE model = ?", (model,)) - errors

    def orphans(self) -> list[tuple[str, str, int]]:
        """Return (model, case, repeat) for each lost call, which may have been billed but has no stored result."""
        return self._calls("SELECT * FROM orphans")

    def open_calls(self) -> list[tuple[str, str, int]]:
        """Return the last session's calls without a response, which are in flight if the session is still running."""
        return self._calls(_OPEN_CALLS)

    def _calls(self, source: str) -> list[tuple[str, str, int]]:
        rows = self.read(
            f"""SELECT m.name, c.name, o.repeat FROM ({source}) o
            JOIN models m ON m.id = o.model JOIN cases c ON c.id = o.item ORDER BY o.session, m.id, c.id"""  # noqa: S608
        )
        return [(str(model), str(case), int(repeat)) for model, case, repeat in rows]

    def read(self, query: str, values: Sequence[object] | dict[str, object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a read-only query."""
        if self._limit is not None:
            self._limit.restart()
        with naming(self.path, "read"):
            # `yield from` would also close the cursor of an abandoned generator, which fails once the store is closed.
            for row in self.connection.execute(query, values):  # noqa: UP028
                yield row

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read a consistent snapshot, even while the run is being written."""
        with naming(self.path, "read"):
            self.connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # an abandoned generator may be closed after the store
                self.connection.rollback()

    def _number(self, query: str, values: Sequence[object] = ()) -> int:
        ((number,),) = self.read(query, values)
        return int(number)

    def fingerprint(self) -> str:
        """Return the numbers of cases and results with the sums of their checksums, which identify the content."""
        return " ".join(
            f"{rows}:{seals:x}" for rows, seals in self.read("SELECT rows, seals FROM ledger ORDER BY what")
        )

    def _ledger_rows(self, what: str) -> int:
        found = list(self.read("SELECT rows FROM ledger WHERE what = ?", (what,)))
        if len(found) != 1 or not isinstance(found[0][0], int) or found[0][0] < 0:
            raise self.damaged("the ledger")
        return int(found[0][0])

    def damaged(self, what: str) -> DataError:
        """Return the error for stored data that has changed since it was written."""
        return self.rows.damaged(what)


def open_store(folder: Path, *, create: bool) -> RunStore:
    """Open the run in a folder for reading or, if `create` is set, for writing, which requires the run's lock."""
    path = folder / NAME
    if create:
        return RunStore(path, open_for_writing(path))
    acknowledged = noted_commits(folder)
    try:
        connection = open_for_reading(path)
    except EmptyRun:
        if acknowledged:
            raise _lost_commits_error(path, acknowledged, acknowledged) from None
        raise
    store = RunStore(path, connection, StepLimit(path, connection))
    with naming(path, "read"):
        missing = lost_commits(acknowledged, store.connection)
    if missing:
        store.connection.close()
        raise _lost_commits_error(path, missing, acknowledged)
    return store


def _lost_commits_error(path: Path, missing: int, acknowledged: int) -> DataError:
    return DataError(
        path,
        (
            f"has lost the last {missing} of {acknowledged} commits: its log is damaged, or it is an older copy. To "
            "repeat the lost calls, rerun the command that created the run; to read the run as it is, delete the "
            "file `acknowledged` beside it"
        ),
    )
