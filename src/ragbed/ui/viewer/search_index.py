"""Complete a run's table of trials for the viewer: texts for searching, diagnosed error types, and the overview.

The tables are in the same file as the scores (see `ragbed.analysis.trials.table`). They are filled in batches, each of
which starts where the previous one ended, so a viewer can be stopped at any time, and two viewers can share them.

Texts in English and Chinese are indexed by word, and each Chinese character is a word, so that single characters are
found too. A text matches a query if it contains all of the query's words. The last word can be incomplete. Chinese
characters that are adjacent in the query, and quoted words, must also be adjacent in the text.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

import msgspec

from ragbed.analysis.causes import describe_causes, summarise_causes
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics import measure
from ragbed.analysis.overview import tabulate
from ragbed.analysis.trials.columns import load_groups
from ragbed.analysis.trials.table import TrialTable
from ragbed.reporting.summary import group_findings, summarise
from ragbed.runs.display_names import read_row_names
from ragbed.runs.lock import holder
from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Lang
from ragbed.ui.viewer.annotations import read_diagnosed, stamp_of

_HAN = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_RUN = re.compile(rf"[{_HAN}]+")
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”|(\S+)')
_LETTER = rf"[^\W_{_HAN}]"
_WORD = re.compile(rf"[{_HAN}]|{_LETTER}+")


def spaced(text: str) -> str:
    """Put spaces around every Chinese character in a text, for SQLite's tokenizer."""
    return _HAN_RUN.sub(lambda run: f" {' '.join(run[0])} ", text)


def to_match(query: str) -> str | None:
    """Convert a query to an SQLite full-text expression, or return None if the query contains no words."""
    # Use only the words of the query, in quotation marks, so that SQLite does not treat any of them as an operator.
    parts = []
    for found in _QUOTED.finditer(query):
        words = _WORD.findall(found[1] or found[2] or found[3] or "")
        if words:
            is_open = found.end() == len(query) and found[3] is not None and not _HAN_RUN.match(words[-1])
            parts.append(f'"{" ".join(words)}"{"*" if is_open else ""}')
    return " AND ".join(parts) or None


_BATCH = 500  # number of results or cases per transaction; a run in progress may have to wait for it
# Maximum number of characters to index from a response and from a document. Longer texts could fill the disk.
_LONGEST_RESPONSE, _LONGEST_DOCUMENT = 20_000, 100_000
_MOST_FINDINGS = 2  # maximum number of findings to show for a model and a language, the biggest failures first
_REST_TIMES = 5  # minimum interval between two overviews, as a multiple of the time that one takes
_OPTIONS = "content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'"
# The row of a text in `words` is that of the result in the run. `passages` and `shown` record which cases show a
# document, so that each document is indexed only once.
_TABLES = (
    "CREATE TABLE texts (result INTEGER PRIMARY KEY, trial INTEGER NOT NULL UNIQUE)",
    f"CREATE VIRTUAL TABLE words USING fts5 (text, {_OPTIONS})",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE)",
    """CREATE TABLE shown (passage INTEGER NOT NULL, case_id INTEGER NOT NULL, PRIMARY KEY (passage, case_id))
      WITHOUT ROWID""",
    f"CREATE VIRTUAL TABLE documents USING fts5 (text, {_OPTIONS})",
    "CREATE TABLE diagnosed (trial INTEGER PRIMARY KEY, types TEXT NOT NULL, evidence TEXT NOT NULL)",
)


def add_tables(table: TrialTable) -> None:
    """Create the viewer's tables unless they exist. They are removed whenever all responses are scored again."""
    if table.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'diagnosed'").fetchone() is None:
        with table.transaction():
            _create_missing(table)


def _create_missing(table: TrialTable) -> None:
    for statement in _TABLES:
        table.connection.execute(statement.replace("TABLE", "TABLE IF NOT EXISTS", 1))


# The questions with the most wrong responses: one such response, their number, and the number of all responses.
_WORST = """WITH graded AS (SELECT t.id, c.item, s.outcome IN ('error', 'filtered')
    OR json_extract(s.verdicts, '$."' || c.headline || '"') IS FALSE AS wrong
    FROM trials t JOIN cases c ON c.id = t.case_id JOIN scores s ON s.id = t.score)
  SELECT MIN(CASE WHEN wrong THEN id END), SUM(wrong), COUNT(*) FROM graded GROUP BY item HAVING SUM(wrong)
  ORDER BY SUM(wrong) DESC, item LIMIT 5"""


class FirstScreen(msgspec.Struct, frozen=True):
    """What the viewer shows first: a verdict per model in both languages, and the questions with the most errors.

    A question is given by one of its wrong responses, their number, and the number of all responses.
    """

    verdicts: list[dict[str, str]] = []
    worst: list[tuple[int, int, int]] = []


class SearchIndex:
    """Keeps the table of one run up to date.

    Args:
        run: Folder of the run.
        place: Folder of the table's file.
    """

    def __init__(self, run: Path, place: Path) -> None:
        self._run = run
        self._table = TrialTable(run, place=place)
        self._store = self._table.store
        self._tabulate_at = 0.0

    def close(self) -> None:
        """Close the run and the table."""
        self._table.close()

    def step(self) -> bool:
        """Score or index a batch, and return whether there was anything to do."""
        done = time.monotonic() >= self._tabulate_at and self._tabulate()
        done = done or self._table.step() or self._add_texts() or self._add_documents() or self._add_types()
        done = done or (holder(self._run) is None and self._tabulate())
        if done and self._table.read_meta("problem"):
            self.note_problem("")
        return done

    def note_problem(self, problem: str) -> None:
        """Store the reason why indexing stopped, to be shown on the pages."""
        with self._transaction():
            self._table.write_meta(problem=problem)

    def _tabulate(self) -> bool:
        """Store the overview. This takes seconds for a large run, so the pages do not wait for it."""
        started = time.monotonic()
        notes = [self._table.read_meta(key) for key in ("stamp", "last", "agreement")]
        (cases,) = self._table.connection.execute("SELECT COUNT(*) FROM cases").fetchone()
        state = repr((cases, notes, self._store.models()))
        if self._table.read_meta("tabulated") == state:
            return False
        with read_snapshot(self._table):
            rows = tabulate(self._table, with_infeasible=True)
            worst = self._table.connection.execute(_WORST).fetchall()
            first = FirstScreen(self._read_verdicts(), worst)
        # A run can be merged from others, in which not every model was asked about all data.
        asked = {(row.condition.model, row.condition.data) for row in rows if row.asked}
        shown = [row for row in rows if (row.condition.model, row.condition.data) in asked]
        with self._transaction():
            texts = {"overview": msgspec.json.encode(shown).decode(), "first": msgspec.json.encode(first).decode()}
            self._table.write_meta(tabulated=state, **texts)
        now = time.monotonic()
        self._tabulate_at = now + _REST_TIMES * (now - started)
        return True

    def _read_verdicts(self) -> list[dict[str, str]]:
        """Return the report's first sentences about each model, in both languages."""
        names = read_row_names([self._run])
        groups = load_groups([self._table], names.labels)
        causes, cells = summarise_causes(groups), list(measure(groups, ["robust"]))
        found: dict[str, dict[str, str]] = {}
        for lang in get_args(Lang):
            told = [(one.key.model, describe_causes(one, lang)) for one in causes]
            words = read_words(lang)
            for model, by_lang in ({} if told else group_findings(summarise(cells, "robust", words))).items():
                heads = {of: words("summary.of", lang=of) if of else "" for of in by_lang}
                lines = (
                    f"{heads[of]} {text}".strip() for of, texts in by_lang.items() for text in texts[:_MOST_FINDINGS]
                )
                told.append((model, "\n".join(lines)))
            for place, (model, text) in enumerate(told):
                found.setdefault(f"{model} {place}", {"model": model})[lang] = text
        return list(found.values())

    def _add_texts(self) -> bool:
        last = self._count("texts")
        found = [row for row in self._store.results_after(last, _BATCH) if row[0] <= self._table.last]
        texts = [(number, _words(stored)) for number, stored, _ in found]
        if not found:
            return False
        models = {name: number for number, (name, _) in self._store.models().items()}
        calls = [(number, models[one.model], one.number, one.repeat) for number, one, _ in found]
        with self._transaction() as execute:
            # Meanwhile, another process may have indexed the same results or removed the tables.
            if self._count("texts") == last and self._table.last >= found[-1][0]:
                add = """INSERT OR REPLACE INTO texts SELECT ?, id FROM trials
                    WHERE model = ? AND case_id = ? AND repeat = ?"""
                execute.executemany(add, calls)
                execute.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
                self._table.write_meta(texts=found[-1][0])
        return True

    def _add_documents(self) -> bool:
        last = self._count("documents")
        found = list(self._store.cases_after(last, _BATCH, Case))
        texts = [(number, document.text) for number, case in found for document in case.documents]
        if not found:
            return False
        with self._transaction() as execute:
            if self._count("documents") == last:
                for number, text in texts:
                    execute.execute("INSERT OR IGNORE INTO shown VALUES (?, ?)", (self._passage(text), number))
                self._table.write_meta(documents=found[-1][0])
        return True

    def _passage(self, text: str) -> int:
        """Return a document's ID in the index, to which it is added if it is new."""
        execute = self._table.connection.execute
        hashed = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        found = execute("SELECT id FROM passages WHERE hash = ?", (hashed,)).fetchone()
        if found is not None:
            return int(found[0])
        number = execute("INSERT INTO passages (hash) VALUES (?)", (hashed,)).lastrowid
        execute("INSERT INTO documents (rowid, text) VALUES (?, ?)", (number, spaced(text[:_LONGEST_DOCUMENT])))
        return int(number or 0)

    def _add_types(self) -> bool:
        """Replace the error types and their evidence by those that `ragbed diagnose` stored with the run."""
        stamp = stamp_of(self._run)
        if stamp == (self._table.read_meta("diagnosed") or ""):
            return False
        rows = [
            (trial, msgspec.json.encode(found.types).decode(), msgspec.json.encode(found.evidence).decode())
            for found in read_diagnosed(self._run)
            for trial in self._trials_of(found.case, found.model, found.repeat)
        ]
        with self._transaction() as execute:
            execute.execute("DELETE FROM diagnosed")
            execute.executemany("INSERT OR REPLACE INTO diagnosed VALUES (?, ?, ?)", rows)
            self._table.write_meta(diagnosed=stamp)
        return True

    def _trials_of(self, case: str, model: str, repeat: int) -> Iterator[int]:
        """Yield the IDs of the trials of a case and repeat; an empty model string means all models."""
        models = [number for number, (name, _) in self._store.models().items() if model in ("", name)]
        for (number,) in self._store.read("SELECT id FROM cases WHERE name = ?", (case,)):
            for one in models:
                yield from find_trial(self._table, one, number, repeat)

    def _count(self, key: str) -> int:
        return int(self._table.read_meta(key) or 0)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._table.transaction():
            _create_missing(self._table)
            yield self._table.connection


@contextmanager
def read_snapshot(table: TrialTable) -> Iterator[None]:
    """Read one state of a table, even while another process changes it."""
    table.connection.execute("BEGIN")
    try:
        yield
    finally:
        table.connection.rollback()


def find_trial(table: TrialTable, model: int, case: int, repeat: int) -> list[int]:
    """Return the ID of the trial of a model, case and repeat, or an empty list if it is not in the table."""
    query = "SELECT id FROM trials WHERE model = ? AND case_id = ? AND repeat = ?"
    return [number for (number,) in table.connection.execute(query, (model, case, repeat))]


def _words(stored: StoredResult) -> str:
    case = stored.case
    answers = (alias for aliases in (*case.answer, *(case.fake or ())) for alias in aliases)
    response = (stored.completion.reply or "")[:_LONGEST_RESPONSE]
    return spaced("\n".join((case.question, *answers, response)))
