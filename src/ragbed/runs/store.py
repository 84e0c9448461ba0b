"""Store a run on disk: settings, cases, a record of each call before it is made, and its result afterwards."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, UsageError, option
from ragbed.runs.call_order import order_calls
from ragbed.runs.checksum import seal_of
from ragbed.runs.database import NAME, StepLimit, close_written, naming, open_for_reading, open_for_writing
from ragbed.runs.prices import Price, own_price
from ragbed.runs.rows import Rows, StoredResult
from ragbed.schema import Case, Completion

__all__ = [
    "ANSWERED",
    "COUNT_CASES",
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
    "RunStore",
    "StoredResult",
    "open_store",
]

_BATCH = 32  # number of cases to read in one step
_MAX_DIGITS = 9  # maximum number of digits in a stored integer
_ADD_CASE = "INSERT INTO cases (name, feasible, seal, line) VALUES (?, ?, ?, ?)"
# Do not use COUNT(*): SQLite runs it in one step, so a step limit could not interrupt it on a malicious file.
COUNT_CASES = "SELECT COUNT(id) FROM cases"
INTEND = "INSERT INTO intents VALUES (?, ?, ?, ?, ?, 0)"
# This statement records a lost call, e.g. one whose worker died. The call may have been billed and will be repeated.
LOSE = "INSERT INTO intents VALUES (?, ?, ?, ?, ?, 1)"
# This statement removes the intent of a call whose response is stored as a turn.
ANSWERED = """DELETE FROM intents WHERE rowid = (SELECT rowid FROM intents
  WHERE model = ? AND item = ? AND repeat = ? AND NOT lost ORDER BY rowid DESC LIMIT 1)"""
# A result may replace an error, because later sessions retry errors. It never replaces another result.
RECORD = """INSERT INTO results (model, item, repeat, session, request, outcome, cached, seal, completion)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (model, item, repeat) DO UPDATE SET number = (SELECT MAX(number) + 1 FROM results),
  session = excluded.session, request = excluded.request, outcome = excluded.outcome, cached = excluded.cached,
  seal = excluded.seal, completion = excluded.completion WHERE results.outcome = 'error'"""
NOTE = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
FORGET = "DELETE FROM meta WHERE key = ?"
FORGET_TURNS = "DELETE FROM meta WHERE key > ? AND key < ?"
REPLACED = "replaced."  # prefix of the keys under which the usage of replaced failures is stored
TURN = "turn."  # prefix of the keys under which the turns of unfinished cases are stored

# A call has an answer if it has a result from the same or a later session.
_IS_ANSWERED = """EXISTS (SELECT 1 FROM results r WHERE (r.model, r.item, r.repeat) = (i.model, i.item, i.repeat)
  AND r.session >= i.session)"""
# The conditions read only indexes, so that even a run with a million results can be resumed within seconds.
_IS_PENDING = """(NOT EXISTS (SELECT 1 FROM results WHERE (model, item, repeat) = (:model, p.id, p.repeat))
  OR EXISTS (SELECT 1 FROM results WHERE (model, outcome, item, repeat) = (:model, 'error', p.id, p.repeat)))"""
_CASE = "SELECT name, feasible, seal, line FROM cases"
_RESULT = """r.model, r.item, r.repeat, r.session, r.request, r.outcome, r.cached, r.seal, r.completion,
  c.name, c.feasible, c.seal, c.line"""
_RESULTS = f"{_RESULT} FROM results r LEFT JOIN cases c ON c.id = r.item"
_BY_CASE = f"SELECT {_RESULT} FROM cases c CROSS JOIN results r ON r.item = c.id"  # noqa: S608 - names of ours

_T = TypeVar("_T")


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
        lost: The number of commits that were lost because the write-ahead log is damaged.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, limit: StepLimit | None = None, lost: int = 0
    ) -> None:
        self.path, self.connection, self._limit, self.lost = path, connection, limit, lost
        self.rows = Rows(path)
        self._encoder = msgspec.json.Encoder()
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
                raise

    def plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Write settings and cases in one transaction."""
        with self.transaction():
            self.add_plan(settings, cases)

    def add_plan(self, settings: dict[str, str], cases: Iterable[Case]) -> None:
        """Write settings and cases as part of the open transaction."""
        self.add_cases(cases)
        rows = [(f"set.{name}", value) for name, value in settings.items()]
        self.connection.executemany("INSERT INTO meta VALUES (?, ?)", [*rows, ("planned", f"{time.time():.3f}")])

    def add_cases(self, cases: Iterable[Case]) -> None:
        """Write cases as part of the open transaction."""
        for case in cases:
            try:
                self.connection.execute(_ADD_CASE, self._case_row(case))
            except sqlite3.IntegrityError:
                raise UsageError(f"two cases are named {case.case}. Give the datasets different names.") from None

    def add_missing(self, cases: Iterable[Case]) -> None:
        """Add the cases that are not yet in the plan. Other cases in the plan are not called in this session."""
        self.wanted = set()
        with self.transaction() as connection:
            for case in cases:
                self.wanted.add(case.case)
                connection.execute(f"{_ADD_CASE} ON CONFLICT (name) DO NOTHING", self._case_row(case))

    def _case_row(self, case: Case) -> tuple[str, int, int, bytes]:
        feasible, line = int(case.feasible), self._encoder.encode(case)
        return case.case, feasible, seal_of(line, case.case, feasible), line

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
                    f"{name} was {old} when {self.path.parent} was created. {now}. Choose a new folder for "
                    f"{option('out')}."
                )
            # Accept an identity that was unknown in the first session and is reported now.
            row = (number, name, identity, seal_of(name, number, identity))
            self.connection.execute("INSERT OR REPLACE INTO models VALUES (?, ?, ?, ?)", row)
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
            connection.executemany(NOTE, [(f"name.{model}", name) for model, name in names.items()])

    def begin_session(self, models: Sequence[tuple[str, str]]) -> tuple[int, list[int]]:
        """Start a session, record the lost calls of earlier sessions, and return the session and model numbers."""
        with self.transaction() as connection:
            numbers = self.add_models(models)
            session = self.sessions() + 1
            connection.execute(NOTE, ("session", str(session)))
            connection.execute(f"DELETE FROM intents AS i WHERE NOT lost AND {_IS_ANSWERED}")  # noqa: S608
            connection.execute("UPDATE intents SET lost = 1")
        return session, numbers

    def row(
        self, call: CallKey, session: int, request: str, completion: Completion, cached: int = 0
    ) -> tuple[int, int, int, int, str, str, int, int, bytes]:
        """Return a result's row for the `RECORD` statement; the last two values are its checksum and its content."""
        encoded = self._encoder.encode(completion)
        fields = (call.model, call.number, call.repeat, session, request, completion.outcome, cached)
        return (*fields, seal_of(encoded, *fields), encoded)

    # Methods that read what is known about the run.

    def notes(self, prefix: str, kind: type[_T], what: str) -> dict[str, _T]:
        """Return the JSON values stored under keys with a prefix, by the rest of the key.

        Args:
            prefix: The prefix.
            kind: The type of the values.
            what: What to write before the rest of the key in the message of an error.

        Raises:
            DataError: A value is damaged.
        """
        found, decoder = {}, msgspec.json.Decoder(kind)
        for key, text in self.meta(prefix).items():
            try:
                found[key] = decoder.decode(text)
            except MALFORMED_JSON:
                raise self.damaged(f"{what}{key[:40]}") from None
        return found

    def meta(self, prefix: str) -> dict[str, str]:
        """Return the texts stored under keys with a prefix, by the rest of the key."""
        rows = self.read("SELECT key, value FROM meta WHERE key GLOB ? ORDER BY key", (f"{prefix}*",))
        return {str(key).removeprefix(prefix): str(value) for key, value in rows}

    def is_planned(self) -> bool:
        """Return whether settings and cases have been written."""
        return "" in self.meta("planned")

    def planned_at(self) -> float:
        """Return the time at which settings and cases were written, in seconds since 1970, or 0 if it is unknown."""
        with suppress(ValueError):
            return float(self.meta("planned").get("", "0"))
        return 0.0

    def settings(self) -> dict[str, str]:
        """Return the run's settings, which are empty if the run was never planned."""
        return self.meta("set.")

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
        return self._integer("set.repeats", "1")

    def sessions(self) -> int:
        """Return the number of sessions.

        Raises:
            DataError: The file contains something other than a number.
        """
        return self._integer("session", "0")

    def _integer(self, key: str, default: str) -> int:
        value = self.meta(key).get("", default)
        if not (value.isdecimal() and len(value) <= _MAX_DIGITS):
            raise self.damaged(f"the number {key.removeprefix('set.')} = {value[:20]!r}")
        return int(value)

    def models(self) -> dict[int, tuple[str, str]]:
        """Return the name and identity of every model, by model number."""
        models = {}
        for number, name, identity, seal in self.read("SELECT id, name, identity, seal FROM models ORDER BY id"):
            if not isinstance(number, int) or seal_of(name, number, identity) != seal:
                raise self.damaged(f"model {number}")
            models[number] = (str(name), str(identity))
        return models

    def names(self) -> dict[str, str]:
        """Return the display names set by the user, by model string."""
        return self.meta("name.")

    def prices(self) -> dict[str, Price]:
        """Return the prices set by the user, by model string."""
        return {model: own_price(amounts) for model, amounts in self.meta("price.").items()}

    def served(self) -> dict[str, list[str]]:
        """Return the model names that servers reported for each model string, in order of first appearance."""
        return self.notes("served.", list[str], "the list of served models of ")

    def turns(self, model: int) -> dict[tuple[int, int], list[Called]]:
        """Return the turns of a model's unfinished cases, by case number and repeat."""
        found: dict[tuple[int, int], list[Called]] = {}
        for key, stored in self.notes(f"{TURN}{model}.", Called, "turn ").items():
            *call, turn = self.numbers(key)
            turns = found.setdefault((call[0], call[1]), [])
            if turn != len(turns):
                raise self.damaged(f"turn {key[:40]}")
            turns.append(stored)
        return found

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return the numbers in the key of a note."""
        try:
            return tuple(map(int, key.split(".")))
        except ValueError:
            raise self.damaged(f"the key {key[:40]}") from None

    def replaced_usage(self) -> list[tuple[str, dict[str, int]]]:
        """Return the model string and the token usage of each billed call whose failure was replaced by a retry."""
        models, found = self.models(), self.notes(REPLACED, list[dict[str, int]], "the usage of replaced failures ")
        try:
            return [(models[int(key.partition(".")[0])][0], usage) for key, usages in found.items() for usage in usages]
        except (KeyError, ValueError) as error:
            raise self.damaged("the usage of replaced failures") from error

    # Methods that read calls and cases.

    def pending(
        self, model: int, repeats: int, *, by_prompt: bool = False, by_question: bool = False
    ) -> Iterator[CallRequest]:
        """Yield the calls that have no result or that failed with an error (see `order_calls` for their order).

        Args:
            model: The model's number.
            repeats: The number of responses per case.
            by_prompt: Whether to sort by prompt instead of using the plan order.
            by_question: Whether to shuffle by question instead of using the plan order.
        """
        with naming(self.path, "read"):
            table = order_calls(self.connection, model, repeats, by_prompt=by_prompt, by_question=by_question)
        return self._read_pending(table, model)

    def _read_pending(self, table: str, model: int) -> Iterator[CallRequest]:
        query = f"""SELECT p.rowid, p.id, p.repeat, p.size FROM temp.{table} p WHERE p.rowid > :last AND {_IS_PENDING}
          ORDER BY p.rowid LIMIT {_BATCH}"""  # noqa: S608 - names of ours
        last = 0
        while calls := list(self.read(query, {"last": last, "model": model})):
            last = calls[-1][0]
            numbers = {number for _, number, _, _ in calls}
            places = ",".join("?" * len(numbers))
            found = self.read(f"{_CASE.replace('name', 'id, name')} WHERE id IN ({places})", tuple(numbers))
            cases = {number: self.rows.case(*columns) for number, *columns in found}
            yield from [CallRequest(model, number, repeat, cases[number], size) for _, number, repeat, size in calls]

    def work(self, model: int) -> tuple[int, int]:
        """Return the number of pending calls to a model and the sum of their sizes; call `pending` first."""
        query = f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM temp.calls_{model} p WHERE {_IS_PENDING}"  # noqa: S608
        ((calls, size),) = self.read(query, {"model": model})
        return calls, size

    def question_order(self, model: int) -> Iterator[tuple[int, int]]:
        """Yield the case number and repeat of each call in evaluation order, after `pending` with `by_question`."""
        yield from self.read(f"SELECT id, repeat FROM temp.calls_{model} ORDER BY rowid")  # noqa: S608 - a name of ours

    def orphans(self) -> list[tuple[str, str, int]]:
        """Return (model, case, repeat) for each lost call, which may have been billed but has no stored result."""
        return self._calls("lost")

    def open_calls(self) -> list[tuple[str, str, int]]:
        """Return the last session's calls without a response, which are in flight if the session is still running."""
        return self._calls(f"NOT lost AND NOT {_IS_ANSWERED}")

    def _calls(self, condition: str) -> list[tuple[str, str, int]]:
        rows = self.read(
            f"""SELECT m.name, c.name, i.repeat FROM intents i JOIN models m ON m.id = i.model
            JOIN cases c ON c.id = i.item WHERE {condition} ORDER BY i.session, m.id, c.id"""  # noqa: S608
        )
        return [(str(model), str(case), int(repeat)) for model, case, repeat in rows]

    def cases(self, *, by_name: bool = False) -> Iterator[Case]:
        """Yield every case in the plan, including infeasible ones, in plan order or sorted by name."""
        most = self._ledger_rows("cases")
        for number, columns in enumerate(self.read(f"{_CASE} ORDER BY {'name' if by_name else 'id'}"), 1):
            if number > most:
                raise self.damaged("the list of cases")
            yield self.rows.case(*columns)

    def cases_after(self, number: int, limit: int) -> Iterator[tuple[int, Case]]:
        """Yield up to `limit` feasible cases after the given case number, with their numbers."""
        query = f"{_CASE.replace('name', 'id, name')} WHERE feasible AND id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, self.rows.case(*columns)

    def planned_after(self, number: int, limit: int, kind: type[_T]) -> Iterator[tuple[int, _T]]:
        """Yield up to `limit` cases after the given case number, decoded as another type with fewer fields."""
        decode = msgspec.json.Decoder(kind).decode
        query = f"{_CASE.replace('name', 'id, name')} WHERE id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            try:
                yield found, decode(self.rows.line(*columns))
            except MALFORMED_JSON as error:
                raise self.rows.damaged(f"case {columns[0]}", error) from error

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

    # Methods that read results.

    def results(self, *, by_name: bool = False) -> Iterator[StoredResult]:
        """Yield every result with its case, sorted by model, case (in plan order or by name) and repeat.

        Raises:
            DataError: A row is damaged, or rows are missing according to the ledger (raised after the last row at the
                latest).
        """
        query = f"SELECT {_RESULTS} WHERE r.model = ? ORDER BY r.item, r.repeat"
        if by_name:
            query = f"{_BY_CASE} WHERE r.model = ? ORDER BY c.name, r.repeat"
        models, rows, seals = self.models(), 0, 0
        with self.snapshot():
            most = self._ledger_rows("results")
            for number, (name, _) in sorted(models.items(), key=lambda pair: pair[1] if by_name else pair):
                for row in self.read(query, (number,)):
                    rows, seals = rows + 1, seals + self.rows.check(row)
                    if rows > most:
                        raise self.damaged("the list of results")
                    yield self.rows.stored(name, row)
            if not self.is_whole(rows, seals):
                raise self.damaged("the list of results")

    def results_after(self, number: int, limit: int) -> Iterator[tuple[int, StoredResult, int]]:
        """Yield up to `limit` results after a number, in the order stored, each with its number and checksum.

        Every stored result gets the next number. A result that replaces a failed one also does, and the number of the
        failed one is no longer used. The ledger is not checked.
        """
        models = self.models()
        query = f"SELECT r.number, {_RESULTS} WHERE r.number > ? ORDER BY r.number LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            row = tuple(columns)
            seal = self.rows.check(row)
            yield found, self.rows.stored(models[row[0]][0], row), seal

    def results_of(self, case: str, limit: int) -> Iterator[StoredResult]:
        """Yield the results for one case, sorted by model and repeat, with at most `limit` results per model."""
        for number, (name, _) in self.models().items():
            query = f"{_BY_CASE} WHERE c.name = ? AND r.model = ? ORDER BY r.repeat LIMIT ?"
            for row in self.read(query, (case, number, limit)):
                self.rows.check(row)
                yield self.rows.stored(name, row)

    def result(self, model: int, case: str, repeat: int) -> StoredResult | None:
        """Return a model's result for one case and repeat, or None if there is none."""
        query = f"{_BY_CASE} WHERE c.name = ? AND r.model = ? AND r.repeat = ?"
        for row in self.read(query, (case, model, repeat)):
            self.rows.check(row)
            return self.rows.stored("", row)
        return None

    def has_response(self, model: int, number: int, repeat: int) -> bool:
        """Return whether a call has a result that is not an error."""
        query = "SELECT 1 FROM results WHERE model = ? AND item = ? AND repeat = ? AND outcome != 'error'"
        return bool(list(self.read(query, (model, number, repeat))))

    def failures(self, model: int) -> Iterator[tuple[CallKey, int, Completion]]:
        """Yield the failed calls to a model, each with its session and its result."""
        query = f"SELECT {_RESULTS} WHERE r.model = ? AND r.outcome = 'error' ORDER BY r.item, r.repeat"
        for row in self.read(query, (model,)):
            self.rows.check(row)
            yield CallKey(model, row[1], row[2]), row[3], self.rows.completion(row)

    def is_whole(self, rows: int, seals: int) -> bool:
        """Return whether the number of results and the sum of their checksums match the ledger."""
        return [(rows, seals)] == list(self.read("SELECT rows, seals FROM ledger WHERE what = 'results'"))

    def last_result(self) -> int:
        """Return the number of the last stored result (see `results_after`), or 0 if there are no results."""
        return self._number("SELECT COALESCE(MAX(number), 0) FROM results")

    def result_count(self) -> int:
        """Return the number of results in the ledger."""
        return self._ledger_rows("results")

    def outcomes(self, model: int) -> dict[str, int]:
        """Return the number of a model's results by outcome, without reading the results."""
        return dict(self.read("SELECT outcome, COUNT(*) FROM results WHERE model = ? GROUP BY outcome", (model,)))

    def done(self, model: int) -> int:
        """Return how many of a model's results are not errors."""
        return sum(count for outcome, count in self.outcomes(model).items() if outcome != "error")

    def fingerprint(self) -> str:
        """Return the numbers of cases and results with the sums of their checksums, which identify the content."""
        return " ".join(
            f"{rows}:{seals:x}" for rows, seals in self.read("SELECT rows, seals FROM ledger ORDER BY what")
        )

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

    def _number(self, query: str) -> int:
        ((number,),) = self.read(query)
        return int(number)

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
        connection, lost = open_for_writing(path)
        return RunStore(path, connection, lost=lost)
    connection = open_for_reading(path)
    return RunStore(path, connection, StepLimit(path, connection))
