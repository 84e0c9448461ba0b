"""Import answers from other programs as a run; cases without an answer count as errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from ragbed.errors import UsageError, option
from ragbed.io.jsonl import read_lines
from ragbed.runs.lock import hold
from ragbed.runs.store import RECORD, CallRequest, RunStore, open_store
from ragbed.schema import Case, Completion
from ragbed.scoring import code

# The error kind for a case that is missing from a result file; the original code's files omit failed calls.
MISSING = "missing-result"
EntryT = TypeVar("EntryT")


@dataclass(frozen=True)
class Answer:
    """An answer from a file, matched to its case; `label` and `documents` are set if the file contains them."""

    case: Case
    completion: Completion
    label: tuple[int, ...] | None = None
    documents: tuple[str, ...] | None = None


class Unmatched(Exception):
    """Raised for a file entry that cannot be matched to a case; the message gives the reason."""


@dataclass
class AnswerSource(ABC):
    """One model's answers in one or more files; subclasses match entries to cases.

    `generate` is called once, and returns the cases that should have an answer.
    """

    paths: Sequence[Path]
    model: str
    identity: str
    generate: Callable[[], Iterable[Case]]
    _cases: dict[str, Case] = field(default_factory=dict, init=False)

    def cases(self) -> dict[str, Case]:
        """Return the cases that should have an answer, by name."""
        if not self._cases:
            self._cases = {case.case: case for case in self.generate()}
        return self._cases

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Yield a file's entries, each with its location; by default, each line is an entry with its line number."""
        for number, line in read_lines(path):
            yield str(number), line

    @abstractmethod
    def match(self, entry: bytes) -> Answer:
        """Return the answer in an entry, or raise Unmatched."""


@dataclass
class Imported:
    """The counts from an import.

    `failed`, `truncated` and `filtered` count matched entries with these outcomes. `labels` counts entries with a label
    from the original scorer, and `other_labels` counts those whose label differs from ours. `other_documents` counts
    responses to documents other than the profile's. `problems` lists the entries that were not matched, with their
    files and locations.
    """

    planned: int = 0
    matched: int = 0
    missing: int = 0
    failed: int = 0
    truncated: int = 0
    filtered: int = 0
    problems: list[str] = field(default_factory=list)
    labels: int = 0
    other_labels: int = 0
    other_documents: int = 0


def import_answers(sources: Sequence[AnswerSource], settings: dict[str, str], folder: Path) -> Imported:
    """Create a run from answer files in one transaction.

    Raises:
        UsageError: The folder already has a run, or two files contain one model's answer to the same case or its
            answers with different settings.
    """
    known: dict[str, AnswerSource] = {}
    for source in sources:
        other = known.setdefault(source.model, source)
        if source.identity != other.identity:
            raise UsageError(
                f"{other.paths[0]} has answers from {source.model} with {other.identity}, but {source.paths[0]} has "
                f"answers with {source.identity}. Import these files into separate runs."
            )
    with hold(folder), open_store(folder, create=True) as store:
        if store.is_planned():
            raise UsageError(f"{folder} already contains a run. Choose a new folder for {option('out')}.")
        imported = Imported()
        with store.transaction() as connection:
            cases: dict[str, Case] = {}
            for name, case in (pair for source in sources for pair in source.cases().items()):
                cases.setdefault(name, case)
            store.add_plan(settings, cases.values())
            connection.execute("INSERT INTO meta VALUES ('session', '1')")
            numbers = {str(name): int(number) for name, number in store.read("SELECT name, id FROM cases")}
            for source in sources:
                _import_source(store, source, numbers, imported)
    return imported


def _import_source(store: RunStore, source: AnswerSource, numbers: dict[str, int], imported: Imported) -> None:
    (model,) = store.add_models([(source.model, source.identity)])
    answers = dict(_read_answers(source, imported))
    missing = Completion(outcome="error", error=f"{MISSING}: {source.paths[0].name} has no entry for this case")
    for case in source.cases().values():
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
            imported.failed += completion.outcome == "error"
            imported.truncated += completion.outcome == "truncated"
            imported.filtered += completion.outcome == "filtered"
            _compare(answer, imported)
        row = store.row(CallRequest(model, numbers[case.case], 0, case), 1, "", completion)
        done = store.connection.execute("SELECT 1 FROM results WHERE model = ? AND item = ? AND repeat = 0", row[:2])
        if done.fetchone():
            raise UsageError(
                f"an answer to {case.case} from {source.model} appears both in {source.paths[0]} and in "
                "another file. Import only one of the two files."
            )
        store.connection.execute(RECORD, row)


def _read_answers(source: AnswerSource, imported: Imported) -> Iterator[tuple[str, Answer]]:
    """Yield the case name and the answer of each entry.

    A case that failed is yielded again if a later entry has an answer, e.g. in the log of a retry.
    """
    answered: dict[str, bool] = {}  # for each case, whether it has an answer; False if it failed
    for path in source.paths:
        for place, entry in source.entries(path):
            try:
                answer = source.match(entry)
                name, is_error = answer.case.case, answer.completion.outcome == "error"
                if name in answered and (is_error or answered[name]):
                    raise Unmatched(f"an earlier line already contains an answer to {name}")
                if not answer.case.feasible:
                    raise Unmatched(f"{name} is infeasible ({answer.case.reason})")
            except Unmatched as why:
                imported.problems.append(f"{path}:{place}: {why}")
                continue
            answered[name] = not is_error
            yield name, answer


def decode_entry(entry: bytes, kind: type[EntryT]) -> EntryT:
    """Decode a file entry, or raise Unmatched if it is invalid."""
    try:
        return msgspec.json.decode(entry, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unmatched(f"the line cannot be read: {error}") from None


def _compare(answer: Answer, imported: Imported) -> None:
    if answer.label is not None:
        imported.labels += 1
        imported.other_labels += code.label(answer.case, answer.completion.reply or "") != answer.label
    if answer.documents is not None:
        texts = tuple(document.text for document in answer.case.documents)
        imported.other_documents += texts != answer.documents
