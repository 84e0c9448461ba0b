"""Store a run on disk: settings, cases, a record of each call before it is made, and its result afterwards."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError, UsageError, option
from ragbed.runs.call_order import order_calls
from ragbed.runs.database import NAME, close_written, naming, open_for_reading, open_for_writing, seal_of
from ragbed.runs.prices import Price, own_price
from ragbed.schema import Case, Completion

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
FINISHED_SESSION = 1  # session number of results from files or other runs, whose own session numbers do not apply
FORGET_TURNS = "DELETE FROM meta WHERE key > ? AND key < ?"
REPLACED = "replaced."  # prefix of the keys under which the usage of replaced failures is stored
TURN = "turn."  # prefix of the keys under which the turns of unfinished cases are stored

# A call has an answer if it has a result from the same or a later session.
_IS_ANSWERED = """EXISTS (SELECT 1 FROM results r WHERE (r.model, r.item, r.repeat) = (i.model, i.item, i.repeat)
  AND r.session >= i.session)"""
_CASE = "SELECT name, feasible, seal, line FROM cases"
_RESULT = """r.model, r.item, r.repeat, r.session, r.request, r.outcome, r.cached, r.seal, r.completion,
  c.name, c.feasible, c.seal, c.line"""
_RESULTS = f"{_RESULT} FROM results r LEFT JOIN cases c ON c.id = r.item"
_BY_CASE = f"SELECT {_RESULT} FROM cases c CROSS JOIN results r ON r.item = c.id"  # noqa: S608 - names of ours

_T = TypeVar("_T")


class StoredResult(msgspec.Struct, frozen=True):
    """A stored result with its case."""

    case: Case
    model: str
    repeat: int
    completion: Completion
    request: str = ""  # the request's key in the response cache
    cached: int = 0  # when the response was received, in seconds since 1970, if it came from the cache
    number: int = 0  # the case's number in the run


def kind_of_error(completion: Completion) -> str | None:
    """Return the kind of a result's error (`kind: message`), or None if there is no error."""
    return None if completion.error is None else completion.error.partition(":")[0]


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
    """A call to make."""

    case: Case


class RunStore:
    """An open run, for planning and reading. While models are being called, `Writer` writes to the run.

    Args:
        path: The file.
        connection: A connection to it.
        writes: Whether the connection may write.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, writes: bool) -> None:
        self.path, self.connection, self._writes = path, connection, writes
        self._encoder = msgspec.json.Encoder()
        self._last_case: tuple[tuple[object, ...], Case] | None = None
        self.wanted: set[str] | None = None  # names of the cases to call; None for all

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writes:
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

    def add_finished(self, settings: dict[str, str]) -> None:
        """Write the settings of results from files or other runs, which form one session, in the open transaction."""
        self.add_plan(settings, ())
        self.connection.execute(NOTE, ("session", str(FINISHED_SESSION)))

    def add_result(self, model: int, result: StoredResult) -> None:
        """Write a result from a file or another run in the open transaction. It replaces another one if that failed."""
        call = CallKey(model, self.number_of(result.case.case), result.repeat)
        row = self.row(call, FINISHED_SESSION, result.request, result.completion, result.cached)
        self.connection.execute(RECORD, row)

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
        return {key: self._decode(kind, text, f"{what}{key[:40]}") for key, text in self.meta(prefix).items()}

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
            numbers = [int(part) if part.isdecimal() else -1 for part in key.split(".")]
            turns = found.setdefault((numbers[0], numbers[1]), [])
            if numbers[2:] != [len(turns)]:
                raise self.damaged(f"turn {key[:40]}")
            turns.append(stored)
        return found

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
            order = order_calls(self.connection, repeats, by_prompt=by_prompt, by_question=by_question)
        done = self.done(model)
        return self._read_calls(model, (call for call in order if call not in done))

    def _read_calls(self, model: int, calls: Iterator[tuple[int, int]]) -> Iterator[CallRequest]:
        while some := list(islice(calls, _BATCH)):
            numbers = sorted({number for number, _ in some})
            places = ",".join("?" * len(numbers))
            found = self.read(f"{_CASE.replace('name', 'id, name')} WHERE id IN ({places})", numbers)
            cases = {number: self._case(*columns) for number, *columns in found}
            yield from [CallRequest(model, number, repeat, cases[number]) for number, repeat in some]

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
        self.size(1)  # checks the number of cases
        for columns in self.read(f"{_CASE} ORDER BY {'name' if by_name else 'id'}"):
            yield self._case(*columns)

    def cases_after(self, number: int, limit: int, kind: type[_T]) -> Iterator[tuple[int, _T]]:
        """Yield up to `limit` cases after the given case number, with their numbers, decoded as the given type."""
        query = f"{_CASE.replace('name', 'id, name')} WHERE id > ? ORDER BY id LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, self._decode(kind, self._line(*columns), f"case {columns[0]}")

    def size(self, repeats: int) -> int:
        """Return the planned number of calls to each model."""
        if self._number(COUNT_CASES) != self._ledger_rows("cases"):
            raise self.damaged("the list of cases")
        return self._number("SELECT COUNT(*) FROM cases WHERE feasible") * repeats

    def number_of(self, case: str) -> int:
        """Return the number of a case."""
        ((number,),) = self.read("SELECT id FROM cases WHERE name = ?", (case,))
        return int(number)

    def infeasible(self) -> int:
        """Return the number of infeasible cases."""
        return self._number("SELECT COUNT(*) FROM cases WHERE NOT feasible")

    # Methods that read results.

    def results(self, *, by_name: bool = False, only: Container[int] | None = None) -> Iterator[StoredResult]:
        """Yield the results of all or some cases, sorted by model, case (in plan order or by name) and repeat.

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
                    if only is None or row[1] in only:
                        yield self._stored(name, row)
                    rows, seals = rows + 1, seals + row[7]
                    if rows > most:
                        break
            if [(rows, seals)] != list(self.read("SELECT rows, seals FROM ledger WHERE what = 'results'")):
                raise self.damaged("the list of results")

    def results_after(self, number: int, limit: int) -> Iterator[tuple[int, StoredResult, int]]:
        """Yield up to `limit` results after a number, in the order stored, each with its number and checksum.

        Every stored result gets the next number. A result that replaces a failed one also does, and the number of the
        failed one is no longer used. The ledger is not checked.
        """
        models = self.models()
        query = f"SELECT r.number, {_RESULTS} WHERE r.number > ? ORDER BY r.number LIMIT ?"
        for found, *columns in self.read(query, (number, limit)):
            yield found, self._stored(models.get(columns[0], ("",))[0], tuple(columns)), columns[7]

    def results_of(self, case: str, limit: int) -> Iterator[StoredResult]:
        """Yield the results for one case, sorted by model and repeat, with at most `limit` results per model."""
        for number, (name, _) in self.models().items():
            query = f"{_BY_CASE} WHERE c.name = ? AND r.model = ? ORDER BY r.repeat LIMIT ?"
            yield from (self._stored(name, row) for row in self.read(query, (case, number, limit)))

    def result(self, model: int, case: str, repeat: int) -> StoredResult | None:
        """Return a model's result for one case and repeat, or None if there is none."""
        query = f"{_BY_CASE} WHERE c.name = ? AND r.model = ? AND r.repeat = ?"
        return next((self._stored("", row) for row in self.read(query, (case, model, repeat))), None)

    def failures(self, model: int) -> Iterator[tuple[CallKey, int, Completion]]:
        """Yield the failed calls to a model, each with its session and its result."""
        query = f"SELECT {_RESULTS} WHERE r.model = ? AND r.outcome = 'error' ORDER BY r.item, r.repeat"
        for row in self.read(query, (model,)):
            yield CallKey(model, row[1], row[2]), row[3], self._completion(row)

    def completions(self, model: int) -> Iterator[tuple[Completion, bool]]:
        """Yield the content of each of a model's results, and whether it came from the cache."""
        for row in self.read(f"SELECT {_RESULTS} WHERE r.model = ?", (model,)):
            yield self._completion(row), row[6] > 0

    def last_result(self) -> int:
        """Return the number of the last stored result (see `results_after`), or 0 if there are no results."""
        return self._number("SELECT COALESCE(MAX(number), 0) FROM results")

    def result_count(self) -> int:
        """Return the number of results in the ledger."""
        return self._ledger_rows("results")

    def done(self, model: int) -> set[tuple[int, int]]:
        """Return the case number and repeat of each of a model's results that are not errors."""
        return set(self.read("SELECT item, repeat FROM results WHERE model = ? AND outcome != 'error'", (model,)))

    def fingerprint(self) -> str:
        """Return the numbers of cases and results with the sums of their checksums, which identify the content."""
        return " ".join(
            f"{rows}:{seals:x}" for rows, seals in self.read("SELECT rows, seals FROM ledger ORDER BY what")
        )

    def read(self, query: str, values: Sequence[object] | dict[str, object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a read-only query."""
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

    # Methods that validate and decode rows.

    def _stored(self, model: str, row: tuple[Any, ...]) -> StoredResult:
        """Validate and decode a result and its case."""
        _, number, repeat, _, request, _, cached, _, _, *case = row
        return StoredResult(self._case(*case), model, repeat, self._completion(row), str(request), cached, number)

    def _completion(self, row: tuple[Any, ...]) -> Completion:
        *fields, seal, completion = row[:9]
        if not isinstance(seal, int) or seal_of(completion, *fields) != seal:
            raise self.damaged(f"the result of case {row[1]}")
        return self._decode(Completion, completion, f"the result of case {row[1]}")

    def _case(self, *columns: object) -> Case:
        if self._last_case is not None and columns == self._last_case[0]:  # often repeats of the same case
            return self._last_case[1]
        case = self._decode(Case, self._line(*columns), f"case {columns[0]}")
        self._last_case = columns, case
        return case

    def _line(self, name: object, feasible: object, seal: object, line: object) -> bytes:
        """Validate a case and return its JSON."""
        if not isinstance(line, bytes) or seal_of(line, name, feasible) != seal:
            raise self.damaged(f"case {name}")
        return line

    def _decode(self, kind: type[_T], content: bytes | str, what: str) -> _T:
        try:
            return cast("_T", _decoder(cast("Any", kind)).decode(content))
        except MALFORMED_JSON as error:
            raise self.damaged(what, error) from error

    def damaged(self, what: str, error: Exception | None = None) -> DataError:
        """Return the error for stored data that has changed since it was written."""
        cause = f" ({error})" if error else ""
        return DataError(self.path, f"{what} is damaged{cause}; restore the file from a backup")


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - any type
    return msgspec.json.Decoder(kind)


def open_store(folder: Path, *, create: bool) -> RunStore:
    """Open the run in a folder for reading or, if `create` is set, for writing, which requires the run's lock."""
    path = folder / NAME
    return RunStore(path, open_for_writing(path) if create else open_for_reading(path), writes=create)


def open_scored(folder: Path) -> RunStore:
    """Open a run whose responses can be scored.

    Raises:
        UsageError: The run is a judge's, whose responses are verdicts.
    """
    store = open_store(folder, create=False)
    if "criterion" not in store.settings():
        return store
    store.connection.close()
    judged = folder.absolute().parent.parent  # judges' runs are in RUN/judge/CRITERION
    where = f": {judged}" if (judged / NAME).is_file() else ""
    raise UsageError(
        f"{folder} contains a judge's model calls, not an evaluation run. Choose the run that was judged{where}."
    )
