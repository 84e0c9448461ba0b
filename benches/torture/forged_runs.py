"""Read maliciously crafted run folders, with hostile tables, values, links and special files."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from benches.torture.bounds import Tally
from benches.torture.runs import RUN, copy_sound, make_sound, try_reading
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Document
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

_BATCH = 20
_CANARY = "canary: this file must not change"
_ENDLESS = "WITH RECURSIVE endless(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM endless) SELECT {} FROM endless"
Forgery: TypeAlias = Callable[[Path], None]
"""A function that changes a run's folder."""


def _sql(*statements: str) -> Forgery:
    def forge(run: Path) -> None:
        with closing(sqlite3.connect(run / "run.sqlite", isolation_level=None)) as connection:
            for statement in ("PRAGMA writable_schema = ON", "PRAGMA journal_mode = DELETE", *statements):
                connection.execute(statement)

    return forge


def _drop(table: str) -> tuple[str, ...]:
    triggers = ("count_case", "count_result", "recount_result")
    return (*(f"DROP TRIGGER IF EXISTS {name}" for name in triggers), f"DROP TABLE {table}")


def _view(table: str, *columns: str) -> Forgery:
    """Replace a table with a view that never ends."""
    return _sql(*_drop(table), f"CREATE VIEW {table} ({', '.join(columns)}) AS " + _ENDLESS.format(_values(columns)))


def _values(columns: tuple[str, ...]) -> str:
    return ", ".join("n" if name in ("id", "number", "model", "item") else "n || ''" for name in columns)


def _case(**changes: object) -> Forgery:
    """Create a run with one well-formed, correctly sealed case that has hostile values."""
    return _cases(replace(make_case(1), **changes))


def _cases(*cases: Case, reply: str = "It is gold-1.", model: str = "scripted/majority") -> Forgery:
    def forge(run: Path) -> None:
        shutil.rmtree(run)
        write_run(run, cases, {model: [said(reply) for _ in cases]})

    return forge


def _completion(**fields: object) -> Forgery:
    def forge(run: Path) -> None:
        shutil.rmtree(run)
        completion = Completion(outcome="ok", reply="It is gold-1.", **fields)  # type: ignore[arg-type]
        write_run(run, [make_case(1)], {"scripted/majority": [completion]})

    return forge


def _settings(**settings: str) -> Forgery:
    def forge(run: Path) -> None:
        shutil.rmtree(run)
        run.mkdir()
        with open_store(run, create=True) as store:
            store.plan(settings, [make_case(1)])
            store.begin_session([("scripted/majority", "")])

    return forge


def _link(name: str, target: str = "") -> Forgery:
    """Replace a file with a link to a file outside the run, or to another target."""

    def forge(run: Path) -> None:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target or run.parent.parent / "canary")

    return forge


def _fifo(name: str) -> Forgery:
    def forge(run: Path) -> None:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return forge


def _file(name: str, content: bytes) -> Forgery:
    def forge(run: Path) -> None:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)

    return forge


def _long_line(name: str, size: int) -> Forgery:
    def forge(run: Path) -> None:
        _file(name, b'{"criterion": "' + b"x" * size)(run)

    return forge


def _both(*forgeries: Forgery) -> Forgery:
    def forge(run: Path) -> None:
        for one in forgeries:
            one(run)

    return forge


_DEEP = b'{"case": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n"
_DOCUMENT = Document(text="It is gold-1.", stance="supports", kind="related", source=0)
FORGERIES: dict[str, Forgery] = {
    # Tables whose contents do not match their names.
    "results as an endless view": _view(
        "results", "number", "model", "item", "repeat", "session", "request", "outcome", "cached", "seal", "completion"
    ),
    "cases as an endless view": _view("cases", "id", "name", "feasible", "seal", "line"),
    "models as an endless view": _view("models", "id", "name", "identity", "seal"),
    "meta as an endless view": _view("meta", "key", "value"),
    "ledger as an endless view": _view("ledger", "what", "rows", "seals"),
    "intents as an endless view": _view("intents", "model", "item", "repeat", "session", "at", "lost"),
    "endless trigger": _sql(
        "CREATE TRIGGER endless BEFORE INSERT ON meta BEGIN INSERT INTO intents "
        + _ENDLESS.format("n, n, n, n, n, n").replace("SELECT 1 UNION", "VALUES (1) UNION")
        + "; END"
    ),
    "generated column": _sql(
        *_drop("meta"), "CREATE TABLE meta (key TEXT, value TEXT AS (hex(zeroblob(400000000))) VIRTUAL)"
    ),
    "huge rows from a view": _sql(
        *_drop("meta"), "CREATE VIEW meta AS SELECT 'set.repeats' AS key, hex(zeroblob(450000000)) AS value"
    ),
    "virtual table": _sql(*_drop("meta"), "CREATE VIRTUAL TABLE meta USING fts5(key, value)"),
    "missing table": _sql(*_drop("models")),
    "missing index": _sql("DROP INDEX one_result"),
    "nonsense in the schema": _sql("UPDATE sqlite_master SET sql = 'CREATE TABLE x' WHERE name = 'results'"),
    "schema that refers to itself": _sql(*_drop("meta"), "CREATE VIEW meta AS SELECT * FROM meta"),
    "deep view": _sql(
        *_drop("meta"),
        "CREATE VIEW v0 AS SELECT '' AS key, '' AS value",
        *(f"CREATE VIEW v{n} AS SELECT a.* FROM v{n - 1} a, v{n - 1} b" for n in range(1, 40)),
        "CREATE VIEW meta AS SELECT * FROM v39",
    ),
    "table with other columns": _sql(*_drop("results"), "CREATE TABLE results (model, item, x)"),
    # Values of the wrong type or size.
    "negative version": _sql("PRAGMA user_version = -7"),
    "version of the future": _sql("PRAGMA user_version = 2147483647"),
    "version zero": _sql("PRAGMA user_version = 0"),
    "another program's file": _sql("PRAGMA application_id = 252006674"),
    "empty ledger": _sql("DELETE FROM ledger"),
    "ledger in words": _sql("UPDATE ledger SET rows = 'many', seals = x'00'"),
    "huge ledger": _sql("UPDATE ledger SET rows = 9223372036854775807, seals = -9223372036854775808"),
    "model number in words": _sql("UPDATE results SET model = 'one' WHERE rowid = 1"),
    "negative case numbers": _sql("UPDATE results SET item = -item"),
    "result of no case": _sql("UPDATE results SET item = item + 1000000"),
    "repeat of 2^63": _sql("UPDATE results SET repeat = 9223372036854775807 WHERE rowid = 1"),
    "completion in words": _sql("UPDATE results SET completion = 'It is gold-1.'"),
    "names that are not UTF-8": _sql("UPDATE models SET name = CAST(x'FFFE41' AS TEXT) WHERE id = 1"),
    "name with a NUL": _sql("UPDATE cases SET name = 'a' || char(0) || 'b' WHERE id = 1"),
    "settings that are not UTF-8": _sql("INSERT OR REPLACE INTO meta VALUES ('set.repeats', CAST(x'FF' AS TEXT))"),
    "repeats of 10^30": _settings(repeats=str(10**30)),
    "repeats of nan": _settings(repeats="nan"),
    "negative repeats": _settings(repeats="-5"),
    "repeats of 5,000 digits": _settings(repeats="9" * 5_000),
    "session in words": _sql("INSERT OR REPLACE INTO meta VALUES ('session', 'x')"),
    "negative k": _case(k=-5),
    "k of 10^18": _case(k=10**18),
    "noise of 1e308": _case(noise=1e308, noise_real=-1e308),
    "seed of 2^62": _case(seed=1 << 62),
    "20,000 documents": _case(documents=(_DOCUMENT,) * 20_000, slots=tuple(range(20_000)), k=20_000),
    "100,000 answer slots": _case(answer=(("gold-1",),) * 100_000),
    "no answer slots": _case(answer=()),
    "empty aliases": _case(answer=((), ("",))),
    "300,000 aliases": _case(answer=(("gold-1",) * 300_000,)),
    "slots out of range": _case(slots=(-1, 7, 10**9)),
    "question of 10 MB": _case(question="Why? " * 2_000_000),
    "unknown testbed": _case(testbed="__import__('os').system('true')"),
    "names that are markup": _cases(make_case(1), model="</script><script>alert(1)</script>"),
    "model name of 1 MB": _cases(make_case(1), model="m" * 1_000_000),
    "model name of escapes": _cases(make_case(1), model="\x1b]0;x\x07\x1b[2J../../etc/passwd"),
    "model name of a number": _cases(make_case(1), model="-0"),
    "response of 10 MB": _cases(make_case(1), reply="gold-1 is not gold-1, " * 450_000),
    "response of digits": _cases(replace(make_case(1), answer=(("9" * 50_000,),)), reply="9" * 100_000),
    "response of brackets": _cases(make_case(1), reply="(" * 300_000 + "not" * 3),
    "response of negations": _cases(make_case(1), reply="not " * 200_000 + "gold-1"),
    "usage of 2^62": _completion(usage={"in": 1 << 62, "out": 1 << 62}),
    "latency of 1e308": _completion(latency_s=1e308),
    "attempts of 2^62": _completion(attempts=1 << 62),
    # Files next to the run.
    "lock as a link": _both(_link("lock"), _file("run.sqlite", b"")),
    "lock as a FIFO": _fifo("lock"),
    "lock of an old version as a link": _both(_sql("PRAGMA user_version = 0"), _link("lock")),
    "lock of a process of 2^100": _file("lock", str(1 << 100).encode()),
    "run file as a FIFO": _fifo("run.sqlite"),
    "run file as an endless device": _link("run.sqlite", "/dev/zero"),
    "run file as a link to itself": _link("run.sqlite", "run.sqlite"),
    "log as a link": _link("run.sqlite-wal"),
    "log of noise": _file("run.sqlite-wal", random.Random(0).randbytes(100_000)),
    "journal of noise": _file("run.sqlite-journal", random.Random(1).randbytes(100_000)),
    "labels as a link": _link("labels.jsonl"),
    "labels as a FIFO": _fifo("labels.jsonl"),
    "labels as an endless device": _link("labels.jsonl", "/dev/zero"),
    "labels of great depth": _file("labels.jsonl", _DEEP),
    "labels of one long line": _long_line("labels.jsonl", 70_000_000),
    "diagnosis as a FIFO": _fifo("diagnose/diagnosis.jsonl"),
    "diagnosis as a link": _link("diagnose/diagnosis.jsonl"),
    "diagnosis of great depth": _file("diagnose/diagnosis.jsonl", _DEEP),
    "judge that is the run itself": _link("judge/loop", ".."),
    "judge as a FIFO": _fifo("judge/run.sqlite"),
    "index as a link": _link("view.sqlite"),
    "index as a FIFO": _fifo("view.sqlite"),
    "index of noise": _file("view.sqlite", random.Random(2).randbytes(50_000)),
}
COUNT = len(FORGERIES)


def torture(folder: Path, count: int, seed: int) -> bool:
    """Read malicious runs with every command; nothing outside them may change."""
    sound, tally = make_sound(folder), Tally("forged-runs")
    names = random.Random(seed).sample(list(FORGERIES), min(count, len(FORGERIES)))
    for first in range(0, len(names), _BATCH):
        places = [_forge(sound, name, tally) for name in names[first : first + _BATCH]]
        for _ in try_reading(places, tally):
            pass
        for place in places:
            if (place / "canary").read_text("utf-8") != _CANARY:
                tally.add("changes", place.name, ["changed: a file outside the run"])
            shutil.rmtree(place)
    return tally.close()


def _forge(sound: Path, name: str, tally: Tally) -> Path:
    place = copy_sound(sound, name.replace(" ", "-").replace("/", "-"))
    (place / "canary").write_text(_CANARY)
    FORGERIES[name](place / RUN)
    tally.add("files", name)
    return place
