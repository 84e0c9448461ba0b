"""Answers made elsewhere as a run: matched to cases one by one, with a denominator that does not depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ragbed.errors import UsageError
from ragbed.io.jsonl import read_lines
from ragbed.runs.lock import hold
from ragbed.runs.store import RECORD, CallRequest, RunStore, open_store
from ragbed.schema import Case, Completion
from ragbed.scoring import code

MISSING = "missing-result"
"""The kind of error of a case that its file says nothing of: the original code leaves failures out."""


@dataclass(frozen=True)
class Answer:
    """One entry of a file, found to belong to a case."""

    case: Case
    completion: Completion
    label: tuple[int, ...] | None = None
    """What the file says of the reply, where it does."""
    documents: tuple[str, ...] | None = None
    """What the model was handed, where the file says so."""


class Unmatched(Exception):
    """An entry that belongs to no case; says why."""


class AnswerSource(Protocol):
    """Answers by one model, in one file or several."""

    paths: Sequence[Path]
    model: str
    identity: str

    def cases(self) -> Iterable[Case]:
        """The cases that ought to be answered."""
        ...

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """What a file holds, piece by piece, each with its place."""
        ...

    def match(self, entry: bytes) -> Answer:
        """The case that an entry answers; raises Unmatched."""
        ...


@dataclass
class Imported:
    """What came of the files."""

    planned: int = 0
    matched: int = 0
    missing: int = 0
    failed: int = 0
    """Of the matched: those of which a file says that the call failed."""
    problems: list[str] = field(default_factory=list)
    """Every entry that could not be matched, by file and place."""
    labels: int = 0
    other_labels: int = 0
    """Replies whose label, by the file, is not what our reading of the original scorer gives."""
    other_documents: int = 0
    """Replies to other documents than the profile lays out."""


def import_answers(sources: Sequence[AnswerSource], settings: dict[str, str], folder: Path) -> Imported:
    """Writes a run from files, in one transaction.

    Raises:
        UsageError: The folder holds a run, or two files answer the same cases for one model.
    """
    with hold(folder), open_store(folder, create=True) as store:
        if store.is_planned():
            raise UsageError(f"{folder} holds a run already; name a new folder.")
        imported = Imported()
        with store.transaction() as connection:
            store.add_plan(settings, _all_cases(sources))
            connection.execute("INSERT INTO meta VALUES ('session', '1')")
            numbers = {str(name): int(number) for name, number in store.read("SELECT name, id FROM cases")}
            for source in sources:
                _import_one(store, source, numbers, imported)
    return imported


def _all_cases(sources: Sequence[AnswerSource]) -> Iterator[Case]:
    seen: set[str] = set()
    for source in sources:
        for case in source.cases():
            if case.case not in seen:
                seen.add(case.case)
                yield case


def _import_one(store: RunStore, source: AnswerSource, numbers: dict[str, int], imported: Imported) -> None:
    (model,) = store.add_models([(source.model, source.identity)])
    answers = dict(_read_answers(source, imported))
    missing = Completion(outcome="error", error=f"{MISSING}: {source.paths[0].name} says nothing of it")
    for case in source.cases():
        if not case.feasible:
            continue
        imported.planned += 1
        answer = answers.pop(case.case, None)
        if answer is None:
            completion = missing
            imported.missing += 1
        else:
            completion = answer.completion
            imported.matched += 1
            imported.failed += completion.outcome != "ok"
            _compare(answer, imported)
        row = store.row(CallRequest(model, numbers[case.case], 0, case), 1, "", completion, cached=False)
        done = store.connection.execute("SELECT 1 FROM results WHERE model = ? AND item = ? AND repeat = 0", row[:2])
        if done.fetchone():
            raise UsageError(f"{source.paths[0]}: another file answers {case.case} for {source.model} too.")
        store.connection.execute(RECORD, row)


def _read_answers(source: AnswerSource, imported: Imported) -> Iterator[tuple[str, Answer]]:
    seen: set[str] = set()
    for path in source.paths:
        for place, entry in source.entries(path):
            try:
                answer = source.match(entry)
                name = answer.case.case
                if name in seen:
                    raise Unmatched(f"{name} is answered on an earlier line")
                if not answer.case.feasible:
                    raise Unmatched(f"{name} cannot be laid out ({answer.case.reason})")
            except Unmatched as why:
                imported.problems.append(f"{path}:{place}: {why}")
                continue
            seen.add(name)
            yield name, answer


def numbered_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of a file, with their numbers as places."""
    for number, line in read_lines(path):
        yield str(number), line


def _compare(answer: Answer, imported: Imported) -> None:
    if answer.label is not None:
        imported.labels += 1
        imported.other_labels += code.label(answer.case, answer.completion.reply or "") != answer.label
    if answer.documents is not None:
        laid = tuple(document.text for document in answer.case.documents)
        imported.other_documents += laid != answer.documents
