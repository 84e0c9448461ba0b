"""The table of a run's scored trials: one row per result, with its condition, question, outcome and scores.

It is derived from `run.sqlite` and stored beside it in `scores.sqlite`. It may be deleted at any time; the next command
scores the responses again. In a folder that cannot be written, it is a temporary file. `update` adds the results that
are not in the table yet, so a run fills it while it waits for responses, and a viewer reads it meanwhile.
"""

from __future__ import annotations

import secrets
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, TypeVar

import msgspec

from ragbed.io.locations import check_regular
from ragbed.runs.condition import Condition
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.lock import holder
from ragbed.runs.store import RunStore, StoredResult, kind_of_error, open_scored
from ragbed.schema import Answer, Count, Expectation, Share
from ragbed.scoring import SCORERS, Scorer, open_scorers, score_outcome
from ragbed.scoring.additional import score_additional
from ragbed.scoring.value import Value
from ragbed.scoring.version import SCORER_VERSION
from ragbed.testbeds import right_score

NAME = "scores.sqlite"
_ENDINGS = ("", "-wal", "-shm", "-journal")  # endings of the names of the file and of those that SQLite adds
_Found = TypeVar("_Found")
_LAYOUT = "3"  # version of the tables below; a file with another one is replaced
_ATTEMPTS = 3  # number of times to begin an update again if the table is replaced, damaged or cannot be written
_BATCH = 500  # number of results that are scored in one job and written in one transaction
# Every row ends with a checksum of its other columns, so that a damaged file is noticed and rebuilt.
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE conditions (
      id INTEGER PRIMARY KEY, data TEXT NOT NULL, lang TEXT NOT NULL, testbed TEXT NOT NULL, noise REAL,
      true_ratio REAL NOT NULL, k INTEGER NOT NULL, arm TEXT NOT NULL, profile TEXT NOT NULL,
      checksum INTEGER NOT NULL)""",
    """CREATE TABLE items (
      id INTEGER PRIMARY KEY, data TEXT NOT NULL, item TEXT NOT NULL, event TEXT, question TEXT NOT NULL,
      answer TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    # The ID of a case is its number in the run.
    """CREATE TABLE cases (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL, condition INTEGER NOT NULL, item INTEGER NOT NULL,
      rotation INTEGER NOT NULL, feasible INTEGER NOT NULL, slot INTEGER NOT NULL, seed INTEGER NOT NULL,
      headline TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    # Few combinations of an outcome and verdicts occur, so each is stored once.
    """CREATE TABLE scores (
      id INTEGER PRIMARY KEY, outcome TEXT NOT NULL, error TEXT, is_empty INTEGER NOT NULL, verdicts TEXT NOT NULL,
      checksum INTEGER NOT NULL)""",
    # `measures` are scores that are not verdicts. `usage` is the token usage in total and, if there
    # were several calls, of each call.
    """CREATE TABLE trials (
      id INTEGER PRIMARY KEY, model INTEGER NOT NULL, case_id INTEGER NOT NULL, repeat INTEGER NOT NULL,
      score INTEGER NOT NULL, measures TEXT, usage TEXT, checksum INTEGER NOT NULL,
      UNIQUE (model, case_id, repeat))""",
    "CREATE INDEX trials_of_case ON trials (case_id)",
    "CREATE INDEX items_by_name ON items (data, item)",
    "CREATE INDEX cases_of_item ON cases (item)",
    *(f"CREATE INDEX {table}_by_checksum ON {table} (checksum)" for table in ("conditions", "items", "scores")),
)


class ScoredRow(NamedTuple):
    """A scored result, as the tables `scores` and `trials` store it."""

    model: str
    number: int  # the case's number in the run
    repeat: int
    outcome: str
    error: str | None
    is_empty: bool  # whether an `ok` response has no text
    verdicts: str
    measures: str | None
    usage: str | None


class Rescored(NamedTuple):
    """How a table changed when its responses were scored with another version of the scorer."""

    old: str
    new: str
    changed: int  # number of trials with another verdict
    trials: int


class _PlannedCase(msgspec.Struct):
    """The fields of a stored case that the table needs. Decoding only these takes a tenth of the time."""

    case: str
    data: str
    item: str
    lang: str
    testbed: str
    question: str
    noise: Share | None
    k: Count
    true_ratio: Share
    arm: str
    profile: str
    seed: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
    feasible: bool
    slots: tuple[int, ...]
    answer: Answer
    expect: Expectation
    rotation: int = 0
    event: str | None = None


def score_result(stored: StoredResult, score: Scorer) -> dict[str, Value] | None:
    """Return all scores of a stored result, or None if there is no response."""
    values = score_outcome(stored.case, stored.completion, score)
    return None if values is None else values | score_additional(stored.case, stored.completion, values)


def to_row(stored: StoredResult, score: Scorer) -> ScoredRow:
    """Score a stored result."""
    completion = stored.completion
    values = score_result(stored, score) or {}
    measures = {name: value for name, value in values.items() if isinstance(value, float)}
    if completion.latency_s is not None:
        measures["seconds"] = completion.latency_s
    usages = [completion.usage, *(step.usage for step in completion.steps)]
    return ScoredRow(
        model=stored.model,
        number=stored.number,
        repeat=stored.repeat,
        outcome=completion.outcome,
        error=kind_of_error(completion),
        is_empty=completion.outcome == "ok" and not (completion.reply or "").strip(),
        verdicts=_to_json({name: value for name, value in values.items() if not isinstance(value, float)}),
        measures=_to_json(measures) if measures else None,
        usage=_to_json(usages) if any(usages) or completion.steps else None,
    )


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


class _Replaced(sqlite3.OperationalError):
    """Raised when another process has emptied the table in the meantime."""


def _score_batch(folder: Path, scorers: Sequence[str], after: int) -> tuple[list[ScoredRow], int, int]:
    """Return the scored results after a number, and the number and the checksum of the last one (see `add_rows`)."""
    score = open_scorers(scorers)
    with open_scored(folder) as store:
        found = list(store.results_after(after, _BATCH))
    return [to_row(stored, score) for _, stored, _ in found], *(found[-1][::2] if found else (0, 0))


class TrialTable:
    """The scored trials of one run.

    Args:
        folder: Folder of the run.
        scorers: Names of scorers whose scores are needed, besides the built-in ones, which the table always has.
        current: Whether the scores must be from the installed version of the scorer. By default, the verdicts with
            which a run was first reported are kept until it gets new results.
        place: The folder of the table's file; by default, the run's folder. The attribute is the folder that is used.

    The attribute `scorers` has the names of the scorers that are not built in.
    """

    def __init__(
        self, folder: Path, scorers: Iterable[str] = (), *, current: bool = False, place: Path | None = None
    ) -> None:
        self.scorers, self._current = sorted({*scorers} - SCORERS.keys()), current
        open_scorers(self.scorers)  # an unknown scorer is refused before anything is scored
        self.folder, self.place = folder, place or folder
        self.store: RunStore = open_scored(folder)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._numbers: dict[tuple[object, ...], int] = {}
        self._newest = 0  # number of the run's last result
        self._epoch = ""  # changes whenever a process empties the table
        try:
            self.connection = self._open()
        except BaseException:
            self.store.connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the run and the table."""
        self.connection.close()
        self.store.connection.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    @property
    def scorer(self) -> str:
        """The version of the scorer from which the verdicts are."""
        return self.read_meta("scorer") or ""

    def read_meta(self, key: str) -> str | None:
        """Return a note from the table, or None if there is none."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def write_meta(self, **notes: object) -> None:
        """Write notes as part of the open transaction."""
        rows = [(key, str(value)) for key, value in notes.items()]
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)

    # Opening

    def _open(self) -> sqlite3.Connection:
        """Open the table in the run's folder, or a temporary one if it cannot be written or must not change.

        The scores of plug-ins are never stored, because their code may change.
        """
        if self.scorers:
            return self._open_temporary()
        try:
            self._connect()
            # Reading a view or a trigger would run somebody else's code, e.g. a view that never ends.
            if self.connection.execute("SELECT 1 FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone():
                raise sqlite3.DatabaseError("the file has views or triggers")
            if not self._has_stamp():
                self._clear(keep_ours=True)
            self._epoch = self.read_meta("epoch") or ""
            if self._current and self.scorer != str(SCORER_VERSION):
                self.connection.close()
                return self._open_temporary()
        except (OSError, sqlite3.OperationalError):  # e.g. a read-only folder or a full disk
            return self._open_temporary()
        except sqlite3.DatabaseError:
            self._remake()
        return self.connection

    def _open_temporary(self) -> sqlite3.Connection:
        try:
            self._temporary = tempfile.TemporaryDirectory(prefix="ragbed-", ignore_cleanup_errors=True)
            self.place = Path(self._temporary.name)
            self._connect()
            self._clear()
        except (OSError, sqlite3.OperationalError):  # this disk is full, too
            self.connection = sqlite3.connect(":memory:", isolation_level=None)
            self._clear()
        return self.connection

    def _remake(self) -> None:
        """Replace a damaged file."""
        self.connection.close()
        for ending in _ENDINGS:
            (self.place / f"{NAME}{ending}").unlink(missing_ok=True)
        self._connect()
        self._clear()

    def _connect(self) -> None:
        for ending in _ENDINGS:
            check_regular(self.place / f"{NAME}{ending}")  # the file that a link leads to would be emptied
        self.connection = sqlite3.connect(self.place / NAME, isolation_level=None)
        # Readers never wait for the writer. A batch that is lost in a power failure is scored again.
        for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -32000"):
            self.connection.execute(f"PRAGMA {pragma}")

    def _has_stamp(self) -> bool:
        exists = self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
        return exists is not None and self.read_meta("stamp") == self._stamp()

    def _stamp(self) -> str:
        return f"{_LAYOUT} {self.store.planned_at()}"

    def _clear(self, *, keep_ours: bool = False) -> None:
        """Empty the table in one transaction, so that other readers see either the old content or the new one.

        With `keep_ours`, a table that another process has just made for this run is kept.
        """
        epoch = secrets.token_hex(8)
        with self._transaction():
            if keep_ours and self._has_stamp():
                return
            names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%shadow%'"
            for (name,) in self.connection.execute(names).fetchall():
                self.connection.execute(f'DROP TABLE IF EXISTS "{name}"')
            for statement in _TABLES:
                self.connection.execute(statement)
            self.write_meta(stamp=self._stamp(), scorer=SCORER_VERSION, epoch=epoch)
        self._numbers.clear()
        self._epoch = epoch

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction: either all of its changes are written, or none.

        Raises:
            sqlite3.OperationalError: Another process has emptied the table; the next transaction uses the new one.
        """
        with self._transaction():
            epoch, self._epoch = self._epoch, self.read_meta("epoch") or ""
            if epoch != self._epoch:
                raise _Replaced("another process has emptied the table")
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            self._numbers.clear()  # the rollback also removed new rows
            raise

    # Filling the table

    def update(self) -> None:
        """Score all results that are not in the table yet.

        Raises:
            DataError: Results are missing in the run.
        """
        for _ in range(_ATTEMPTS):
            try:
                self._update()
            except _Replaced:
                continue
            except sqlite3.OperationalError:  # e.g. a full disk, or a file that cannot be written
                self.connection.close()
                self._open_temporary()
            except sqlite3.DatabaseError:
                self._remake()
            else:
                return
        self._update()

    def _update(self) -> None:
        while self.add_cases():
            pass
        if self.is_behind():
            engine = LocalEngine()
            try:
                score = partial(_score_batch, self.folder, self.scorers)
                for batch in engine.spread(score, range(self.last, self._newest, _BATCH)):
                    self.add_rows(*batch)
            finally:
                engine.close()
        if holder(self.folder) is None and self.last == self.store.last_result():
            ((trials,),) = self.connection.execute("SELECT COUNT(*) FROM trials")
            if trials > self.store.result_count():  # results have been removed from the run
                self._clear()
                self._update()
            elif trials < self.store.result_count():
                raise self.store.damaged("the list of results")

    def step(self) -> bool:
        """Add some of the cases and results that are not in the table yet, and return whether there were any.

        Unlike `update`, this starts no processes and takes less than a second, so it can follow a run in progress.
        """
        if self.add_cases():
            return True
        if self.is_behind():
            self.add_rows(*_score_batch(self.folder, self.scorers, self.last))
            return True
        return False

    def is_behind(self) -> bool:
        """Return whether there are results to score.

        The table is emptied first if it has verdicts of another version of the scorer, which are never mixed, or
        results that the run no longer has, e.g. because its file was restored from a backup.
        """
        self._newest, last = self.store.last_result(), self.last
        is_outdated = self._newest > last and self.scorer != str(SCORER_VERSION)
        seals = list(self.store.read("SELECT seal FROM results WHERE number = ?", (last,)))
        if is_outdated or (last and seals != [(int(self.read_meta("seal") or 0),)]):
            self._clear()
            while self.add_cases():
                pass
        return self._newest > self.last

    def add_cases(self) -> bool:
        """Add some of the planned cases that are not in the table yet, and return whether there were any."""
        (last,) = self.connection.execute("SELECT COALESCE(MAX(id), 0) FROM cases").fetchone()
        found = list(self.store.cases_after(last, _BATCH, _PlannedCase))
        if found:
            with self.transaction():
                rows = [_sealed(number, *self._case_columns(case)) for number, case in found]
                self.connection.executemany(f"INSERT OR REPLACE INTO cases VALUES ({_marks(10)})", rows)  # noqa: S608
        return bool(found)

    def _case_columns(self, case: _PlannedCase) -> tuple[object, ...]:
        condition = (case.data, case.lang, case.testbed, case.noise, case.true_ratio, case.k, case.arm, case.profile)
        item = (case.data, case.item, case.event, case.question, _to_json(case.answer))
        slot = case.slots[0] if case.slots else -1
        numbers = self._number("conditions", condition), self._number("items", item)
        right = right_score(case.testbed, case.arm, case.expect)
        return case.case, *numbers, case.rotation, int(case.feasible), slot, case.seed, right

    @property
    def last(self) -> int:
        """The number of the last of the run's results that the table has."""
        return int(self.read_meta("last") or 0)

    def add_rows(self, rows: Iterable[ScoredRow], last: int, seal: int) -> None:
        """Add scored results.

        Args:
            rows: The results.
            last: The number of the last one in the run.
            seal: Its checksum in the run.
        """
        models = {name: number for number, (name, _) in self.store.models().items()}
        with self.transaction():
            written = [
                _sealed(
                    models[row.model], row.number, row.repeat,
                    self._number("scores", (row.outcome, row.error, int(row.is_empty), row.verdicts)),
                    row.measures, row.usage,
                )
                for row in rows
            ]  # fmt: skip
            # A later result may replace a failed one.
            self.connection.executemany(
                """INSERT INTO trials (model, case_id, repeat, score, measures, usage, checksum)
                VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET score = excluded.score,
                measures = excluded.measures, usage = excluded.usage, checksum = excluded.checksum""",
                written,
            )
            if last > self.last:
                self.write_meta(last=last, seal=seal)

    def _number(self, table: str, values: tuple[object, ...]) -> int:
        """Return the ID of a row with these values, which is added if it is new."""
        key = (table, *values)
        if key not in self._numbers:
            row = _sealed(*values)
            alike = self.connection.execute(f"SELECT * FROM {table} WHERE checksum = ?", row[-1:]).fetchall()  # noqa: S608
            numbers = [number for number, *found in alike if tuple(found) == row]
            statement = f"INSERT INTO {table} VALUES (NULL, {_marks(len(row))})"  # noqa: S608 - a name of ours
            self._numbers[key] = numbers[0] if numbers else self.connection.execute(statement, row).lastrowid or 0
        return self._numbers[key]

    def scored(
        self, *, by_name: bool = False, only: Container[int] | None = None
    ) -> Iterator[tuple[StoredResult, dict[str, Value] | None]]:
        """Yield the results of the run with their scores, or None if there is no response (see `RunStore.results`)."""
        self.update()
        models = {name: number for number, (name, _) in self.store.models().items()}
        verdicts = {number: found for number, *_, found in self.read(lambda: list(self.rows("scores")))}
        score = open_scorers(self.scorers)
        query = "SELECT * FROM trials WHERE model = ? AND case_id = ? AND repeat = ?"
        for stored in self.store.results(by_name=by_name, only=only):
            row = self.connection.execute(query, (models[stored.model], stored.number, stored.repeat)).fetchone()
            if stored.completion.outcome not in ("ok", "truncated"):
                yield stored, None
            elif row is None or row[4] not in verdicts or _sealed(*row[1:-1])[-1] != row[-1]:
                yield stored, score_result(stored, score)  # stored since the update, or damaged since
            else:
                values = msgspec.json.decode(verdicts[row[4]]) | msgspec.json.decode(row[5] or "{}")
                values.pop("seconds", None)  # the latency is not a score
                yield stored, values

    def plan(self, model: str) -> Iterator[tuple[Condition, int, int]]:
        """Yield the conditions for a model, with the numbers of feasible and infeasible cases."""
        query = """SELECT c.*, SUM(feasible), SUM(NOT feasible) FROM cases JOIN conditions c ON c.id = condition
            GROUP BY condition"""
        for _, *values, _, feasible, infeasible in self.connection.execute(query):
            yield Condition(model, *values), feasible, infeasible

    def cases_of(self, testbed: str) -> set[int]:
        """Return the numbers of the cases of a testbed."""
        query = "SELECT cases.id FROM cases JOIN conditions ON conditions.id = condition WHERE testbed = ?"
        return {number for (number,) in self.connection.execute(query, (testbed,))}

    def questions(self) -> dict[int, tuple[str, str, str]]:
        """Return the dataset, the language and the event or item of each case, by case number."""
        query = """SELECT cases.id, conditions.data, lang, COALESCE(items.event, items.item) FROM cases
            JOIN conditions ON conditions.id = condition JOIN items ON items.id = cases.item"""
        return {number: (data, lang, question) for number, data, lang, question in self.connection.execute(query)}

    def largest_cluster(self) -> int:
        """Return the maximum number of planned trials per cluster and condition of a monitored run, otherwise 0."""
        query = """SELECT COUNT(*) AS size FROM cases JOIN items ON items.id = cases.item WHERE feasible
            GROUP BY condition, event IS NULL, COALESCE(event, items.item) ORDER BY size DESC LIMIT 1"""
        row = self.connection.execute(query).fetchone() if self.store.is_monitored() else None
        return 0 if row is None else int(row[0]) * self.store.repeats()

    def finished(self, model: int) -> Iterator[tuple[int, int]]:
        """Yield the case number and repeat of each trial of a model that did not end in an error."""
        query = """SELECT case_id, repeat FROM trials t JOIN scores s ON s.id = t.score
            WHERE model = ? AND outcome != 'error' ORDER BY case_id, repeat"""
        yield from self.connection.execute(query, (model,)).fetchall()

    def rescore(self) -> Rescored | None:
        """Score all responses with the installed scorer, and return what changed, or None if it is the same version."""
        old = self.scorer
        if old == str(SCORER_VERSION):
            return None
        before = self._verdicts()
        self._clear()
        self.update()
        after = self._verdicts()
        changed = sum(before.get(call) != verdicts for call, verdicts in after.items())
        return Rescored(old, self.scorer, changed, len(after))

    def _verdicts(self) -> dict[tuple[int, int, int], str]:
        query = "SELECT model, case_id, repeat, verdicts FROM trials t JOIN scores s ON s.id = t.score"
        return {(model, case, repeat): verdicts for model, case, repeat, verdicts in self.connection.execute(query)}

    def read(self, function: Callable[[], _Found]) -> _Found:
        """Return the result of a function that reads the table, which is rebuilt if it is damaged.

        The function sees one state of the table, also while another process adds to it.
        """
        try:
            return self._read_snapshot(function)
        except sqlite3.DatabaseError:
            self._remake()
            self.update()
            return self._read_snapshot(function)

    def _read_snapshot(self, function: Callable[[], _Found]) -> _Found:
        if self.connection.in_transaction:
            return function()
        self.connection.execute("BEGIN")
        try:
            return function()
        finally:
            self.connection.rollback()

    def rows(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table in the order of their IDs, without the checksums.

        Raises:
            sqlite3.DatabaseError: A row is damaged.
        """
        start = 0 if table == "cases" else 1  # other IDs are not part of the checksum
        for row in self.connection.execute(f"SELECT * FROM {table} ORDER BY id"):  # noqa: S608
            if _checksum(row[start:-1]) != row[-1]:
                raise sqlite3.DatabaseError(f"a row of {table} is damaged")
            yield row[:-1]


def _sealed(*values: object) -> tuple[Any, ...]:
    """Return the values of a row with their checksum."""
    return *values, _checksum(values)


def _checksum(values: tuple[object, ...]) -> int:
    return zlib.crc32(repr(values).encode("utf-8", "surrogatepass"))


def _marks(count: int) -> str:
    return ", ".join("?" * count)
