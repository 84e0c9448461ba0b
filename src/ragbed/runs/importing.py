"""Import answers from other programs as a run; cases without an answer count as errors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ragbed.data import Dataset
from ragbed.data.rgb import to_slots
from ragbed.errors import UsageError, option
from ragbed.io.jsonl import read_lines
from ragbed.models.base import completed
from ragbed.runs.lock import hold
from ragbed.runs.store import RunStore, StoredResult, open_store
from ragbed.schema import Case, Completion, RawAnswer
from ragbed.scoring import code
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, parse_ratio

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


@dataclass(frozen=True)
class AnswerSource:
    """One model's answers in one or more files.

    Attributes:
        cases: The cases that should have an answer, by name.
        match: A function that returns the answer in an entry, or raises Unmatched.
        entries: A function that returns a file's entries, each with its location; by default, each line is an entry.
    """

    paths: Sequence[Path]
    model: str
    identity: str
    cases: Mapping[str, Case]
    match: Callable[[Any], Answer]
    entries: Callable[[Path], Iterable[tuple[int, Any]]] = read_lines


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
        with store.transaction():
            cases: dict[str, Case] = {}
            for source in sources:
                cases |= source.cases
            store.add_cases(cases.values())
            store.add_finished(settings)
            for source in sources:
                _import_source(store, source, imported)
    return imported


def _import_source(store: RunStore, source: AnswerSource, imported: Imported) -> None:
    (model,) = store.add_models([(source.model, source.identity)])
    answers = _read_answers(source, imported)
    missing = Completion(outcome="error", error=f"{MISSING}: {source.paths[0].name} has no entry for this case")
    for case in source.cases.values():
        if not case.feasible:
            continue
        imported.planned += 1
        answer = answers.get(case.case)
        if answer is None:
            completion = missing
            imported.missing += 1
        else:
            completion = answer.completion
            imported.matched += 1
            imported.failed += completion.outcome == "error"
            imported.truncated += completion.outcome == "truncated"
            imported.filtered += completion.outcome == "filtered"
            if answer.label is not None:
                imported.labels += 1
                imported.other_labels += code.label(answer.case, answer.completion.reply or "") != answer.label
            if answer.documents is not None:
                texts = tuple(document.text for document in answer.case.documents)
                imported.other_documents += texts != answer.documents
        if store.result(model, case.case, 0) is not None:
            raise UsageError(
                f"an answer to {case.case} from {source.model} appears both in {source.paths[0]} and in "
                "another file. Import only one of the two files."
            )
        store.add_result(model, StoredResult(case, source.model, 0, completion))


def _read_answers(source: AnswerSource, imported: Imported) -> dict[str, Answer]:
    """Return the answers by the name of their case; a later answer replaces a failure, e.g. that of a retry."""
    answers: dict[str, Answer] = {}
    for path in source.paths:
        for place, entry in source.entries(path):
            try:
                answer = source.match(entry)
                name = answer.case.case
                has_failed = name in answers and answers[name].completion.outcome == "error"
                if name in answers and (answer.completion.outcome == "error" or not has_failed):
                    raise Unmatched(f"an earlier line already contains an answer to {name}")
                if not answer.case.feasible:
                    raise Unmatched(f"{name} is infeasible ({answer.case.reason})")
            except Unmatched as why:
                imported.problems.append(f"{path}:{place}: {why}")
            else:
                answers[name] = answer
    return answers


def decode_entry(entry: bytes, kind: type[EntryT]) -> EntryT:
    """Decode a file entry, or raise Unmatched if it is invalid."""
    try:
        return msgspec.json.decode(entry, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unmatched(f"the line cannot be read: {error}") from None


# Result files of the original code, and JSON Lines files.

_PATTERN = re.compile(
    r"prediction_(?P<rest>.+)_temp(?P<temp>[0-9.]+|none)_noise(?P<noise>[0-9.]+)_passage(?P<docs>[0-9]+)"
    r"_correct(?P<correct>[0-9.]+)(?:_chatgpt)?\.json"
)
_ORIGINAL = ("noise", "rejection", "integration", "counterfactual")  # the testbeds of the original code with documents
_PUBLISHED = ("en", "zh", "en_int", "zh_int", "en_fact", "zh_fact", "en_refine", "zh_refine")


class _Prediction(msgspec.Struct):
    id: int | str
    query: str
    ans: RawAnswer
    prediction: str
    label: list[int] | None = None
    docs: list[str] | None = None


class _Reply(msgspec.Struct):
    reply: str | None
    case: str | None = None
    item: int | str | None = None
    noise: float | None = None
    data: str | None = None
    testbed: str | None = None
    # As in trials that `ragbed export` writes.
    outcome: object = None
    finish: object = None
    error: object = None

    def completion(self) -> Completion:
        """Return the response with the outcome of the exported trial, or raise Unmatched if there is none."""
        finish = self.finish if isinstance(self.finish, str) else None
        if self.outcome == "error" and isinstance(self.error, str):
            return Completion(outcome="error", error=self.error)
        if self.outcome == "filtered":
            return Completion(outcome="filtered", reply=self.reply, finish=finish)
        if self.reply is None:
            raise Unmatched("the line has no response: its `reply` field is null")
        completion = completed(self.reply, finish, None)
        is_truncated = self.outcome == "truncated"
        return msgspec.structs.replace(completion, outcome="truncated") if is_truncated else completion


def _match_prediction(cases: Mapping[str, Case], entry: bytes) -> Answer:
    """Match a prediction of the original code to a case by ID, question and answer."""
    found = decode_entry(entry, _Prediction)
    case = cases.get(str(found.id))
    if case is None:
        raise Unmatched(f"the dataset has no item with the ID {found.id}")
    for name, ours, theirs in (
        ("question", case.question, found.query),
        ("answer", case.answer, to_slots(found.ans)),
    ):
        if ours != theirs:
            raise Unmatched(f"item {found.id} has the {name} {theirs!r} in this file, but {ours!r} in the dataset")
    label = None if found.label is None else tuple(found.label)
    docs = None if found.docs is None else tuple(found.docs)
    return Answer(case, Completion(outcome="ok", reply=found.prediction), label, docs)


def _match_reply(
    cases: Mapping[str, Case], by_item: Mapping[tuple[str, float | None], Sequence[Case]], entry: bytes
) -> Answer:
    """Match a line to a case by case name, or else by item, noise ratio and, if given, dataset and testbed."""
    line = decode_entry(entry, _Reply)
    completion = line.completion()
    if line.case is not None:
        if line.case not in cases:
            raise Unmatched(f"no case named {line.case} exists with these settings")
        return Answer(cases[line.case], completion)
    if line.item is None:
        raise Unmatched("the line has neither a `case` nor an `item` field")
    found = [
        case
        for case in by_item.get((str(line.item), line.noise), ())
        if line.data in (None, case.data) and line.testbed in (None, case.testbed)
    ]
    if len(found) != 1:
        which = f"{len(found)} cases (specify data and testbed, or the case)" if found else "no case"
        raise Unmatched(f"with these settings, item {line.item} (noise {line.noise}) matches {which}")
    return Answer(found[0], completion)


def open_replies(paths: Sequence[Path], model: str, cases: Iterable[Case]) -> AnswerSource:
    """Open one model's JSON Lines files; a line has the fields `case` and `reply`, or `item`, `noise` and `reply`."""
    by_name, by_item = dict[str, Case](), defaultdict[tuple[str, float | None], list[Case]](list)
    for case in cases:
        by_name[case.case] = case
        by_item[case.item, case.noise].append(case)
    return AnswerSource(paths, model, "imported", by_name, partial(_match_reply, by_name, by_item))


def open_rgb(path: Path, datasets: Sequence[Dataset], settings: Settings) -> AnswerSource:
    """Open a result file named `prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json`.

    Raises:
        UsageError: The file name has a different form, or its dataset is not given.
    """
    found = _PATTERN.fullmatch(path.name)
    if found is None:
        raise UsageError(
            f"{path.name} does not match the naming pattern of the original code's result files. Rename it to "
            "prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json."
        )
    dataset, model = _split(found["rest"], path, datasets)
    docs = int(found["docs"])
    condition = replace(
        settings,
        noise=(parse_ratio(found["noise"], "noise"),),
        num_docs=(max(docs, 1),),
        correct=(parse_ratio(found["correct"], "correct"),),
    )
    cases = list(_generate(dataset, condition, docs))
    match = partial(_match_prediction, {case.item: case for case in cases})
    return AnswerSource([path], f"rgb/{model}", f"temp {found['temp']}", {case.case: case for case in cases}, match)


def _split(rest: str, path: Path, datasets: Sequence[Dataset]) -> tuple[Dataset, str]:
    """Split a file name after the longest known dataset name; dataset and model names may contain the separator."""
    by_name = {dataset.name: dataset for dataset in datasets}
    for name in sorted({*by_name, *_PUBLISHED}, key=len, reverse=True):
        if rest.startswith(f"{name}_") and len(rest) > len(name) + 1:
            # The original code accepts only six dataset names, so users have to run `en_refine` under the name `en`.
            dataset = by_name.get(name) or by_name.get(f"{name}_refine")
            if dataset is not None:
                return dataset, rest[len(name) + 1 :]
    raise UsageError(
        f"{path.name} contains answers for a dataset that is not one of {', '.join(by_name)}. Add "
        f"that dataset with {option('data', 'NAME=FILE')}."
    )


def _generate(dataset: Dataset, settings: Settings, docs: int) -> Iterable[Case]:
    (noise,) = settings.noise or (Fraction(0),)
    for testbed in TESTBEDS.values():
        if docs == 0:
            fits = testbed.name == "closed-book"
        else:
            fits = testbed.name in _ORIGINAL and isinstance(testbed, Ability) and testbed.allows(noise, original=True)
        if fits:
            yield from testbed.cases(dataset, settings)
