"""Pack a report's cases into compressed blocks, which the page unpacks on demand, and an index for its filters.

A document occurs in many cases and in their prompts, so it is stored only once per question.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from ragbed.analysis.diagnosis.records import Diagnosis, Evidence
from ragbed.analysis.diagnosis.summary import RunDiagnosis
from ragbed.reporting.case_view import ShownCase, ShownTrial, show_case, show_trial
from ragbed.runs.display_names import RowNames, read_row_names
from ragbed.runs.store import StoredResult, open_scored

MOST_BYTES = 8_000_000  # Maximum total size of the blocks, so that a report stays below 10 MB.
MOST_TRIALS = 20_000  # Maximum number of trials to read into memory.
_BLOCK_TRIALS = 200  # Number of trials per block; a browser unpacks a block in a few milliseconds.


# A function that returns the judgements on a response in the format that `case.js` expects.
Votes: TypeAlias = Callable[[Path, StoredResult], Sequence[object]]


class PackedQuestion(NamedTuple):
    """A question whose cases, from all runs, are in one block."""

    data: str
    item: str


@dataclass
class Packed:
    """The packed cases. `questions` counts all questions with a response, including those that did not fit."""

    index: dict[str, object]
    blocks: list[str]
    questions: int


@dataclass
class _Group:
    """A question with its texts, the cases that refer to the texts, and the trials that refer to the cases."""

    texts: dict[str, int] = field(default_factory=dict)
    spans: list[object] = field(default_factory=list)
    cases: dict[tuple[object, ...], int] = field(default_factory=dict)
    shown: list[object] = field(default_factory=list)
    trials: list[tuple[int, ShownTrial]] = field(default_factory=list)
    judged: list[Sequence[object]] = field(default_factory=list)
    heads: list[ShownCase] = field(default_factory=list)
    types: list[tuple[str, ...]] = field(default_factory=list)
    evidence: list[tuple[Evidence, ...]] = field(default_factory=list)

    def add(self, stored: StoredResult, diagnosis: Diagnosis | None, votes: Sequence[object], name: str) -> None:
        place = self.cases.get(_name(stored))
        if place is None:
            place = self.cases[_name(stored)] = len(self.cases)
            case = show_case(stored.case)
            self.heads.append(case)
            self.shown.append(self._brief(case))
        trial = msgspec.structs.replace(show_trial(stored), model=name)
        self.trials.append((place, trial))
        self.types.append(() if diagnosis is None else diagnosis.types)
        self.evidence.append(() if diagnosis is None else diagnosis.evidence)
        self.judged.append(votes)

    def _brief(self, case: ShownCase) -> dict[str, object]:
        documents = []
        for one in case.documents:
            place = self.texts.setdefault(one.text, len(self.texts))
            if place == len(self.spans):
                self.spans.append(one.spans)
            rest = {"stance": one.stance, "kind": one.kind} | ({} if one.item is None else {"item": one.item})
            documents.append({"text": place, **rest})
        own = [one.text for one in case.documents]
        messages = [{"role": one.role, "content": [*self._pieces(one.content, own)]} for one in case.messages]
        fields: dict[str, object] = msgspec.to_builtins(case)
        return fields | {"documents": documents, "messages": messages}

    def _pieces(self, content: str, documents: Iterable[str]) -> Iterator[str | int]:
        """Yield the segments of a prompt as text, with document numbers in place of the documents."""
        start = 0
        for text in documents:
            found = content.find(text, start) if text else -1
            if found >= 0:
                yield content[start:found]
                yield self.texts[text]
                start = found + len(text)
        yield content[start:]


def pack_cases(
    runs: Sequence[Path],
    diagnoses: Sequence[RunDiagnosis],
    votes: Votes | None = None,
    most_bytes: int = MOST_BYTES,
    *,
    names: RowNames | None = None,
) -> Packed:
    """Pack the trials from runs. If not all trials fit, pack only the trials for a fixed random sample of questions."""
    known = {(run, diagnosis.case, diagnosis.model, diagnosis.repeat): diagnosis for run, diagnosis, *_ in diagnoses}
    names = names or read_row_names(runs)
    groups: dict[PackedQuestion, _Group] = {question: _Group() for question in _choose(runs)}
    asked: set[PackedQuestion] = set()
    for folder in runs:
        with open_scored(folder) as store:
            for stored in store.results():
                question = PackedQuestion(stored.case.data, stored.case.item)
                asked.add(question)
                group = groups.get(question)
                if group is not None:
                    diagnosis = known.get((folder, stored.case.case, stored.model, stored.repeat))
                    judged = () if votes is None else votes(folder, stored)
                    group.add(stored, diagnosis, judged, names.of(folder, stored.model))
    packer = _Packer(most_bytes)
    for group in groups.values():
        if not packer.take(group):
            break
    return Packed(packer.index(), packer.blocks, len(asked))


def _choose(runs: Sequence[Path]) -> list[PackedQuestion]:
    """Return questions in a fixed random order, up to the trial limit."""
    counts: dict[PackedQuestion, int] = {}
    for folder in runs:
        with open_scored(folder) as store:
            models = len(store.models())
            repeats = store.repeats()
            for case in store.cases():
                question = PackedQuestion(case.data, case.item)
                counts[question] = counts.get(question, 0) + models * repeats * case.feasible
    order = sorted(counts, key=lambda one: blake2b(f"{one.data}\n{one.item}".encode(errors="surrogatepass")).digest())
    chosen, left = [], MOST_TRIALS
    for question in order:
        if counts[question] <= left:
            left -= counts[question]
            chosen.append(question)
    return chosen


class _Packer:
    """Writes the blocks and the index for packed cases."""

    def __init__(self, most_bytes: int) -> None:
        self.blocks: list[str] = []
        self._left = most_bytes
        self._names: dict[str, dict[str, int]] = {
            name: {} for name in ("models", "data", "testbeds", "verdicts", "types", "langs")
        }
        self._questions: list[object] = []
        self._trials: list[tuple[object, ...]] = []
        self._firsts: list[int] = []
        self._open: list[object] = []
        self._waiting: list[tuple[object, ...]] = []

    def take(self, group: _Group) -> bool:
        """Add a question; return False if it completed a block that was omitted because of the size limit."""
        if not group.trials:
            return True
        head = group.heads[0]
        place = len(self._questions)
        self._questions.append(
            (self._number("data", head.data), head.item, self._number("langs", head.lang), head.question)
        )
        texts = [*zip(group.texts, group.spans, strict=True)]
        trials = {"trials": group.trials, "types": group.types, "evidence": group.evidence, "judged": group.judged}
        self._open.append({"texts": texts, "cases": group.shown, **trials})
        for (case, trial), types in zip(group.trials, group.types, strict=True):
            self._waiting.append(self._row(place, group.heads[case], trial, types))
        return len(self._waiting) < _BLOCK_TRIALS or self._close()

    def index(self) -> dict[str, object]:
        """Close the last block, and return the index for the filters."""
        if self._waiting:
            self._close()
        last = max((int(str(row[0])) for row in self._trials), default=-1)
        names: Mapping[str, list[str]] = {name: [*known] for name, known in self._names.items()}
        kept = self._questions[: last + 1]
        return {**names, "questions": kept, "trials": self._trials, "firsts": self._firsts}

    def _close(self) -> bool:
        packed = b64encode(gzip.compress(msgspec.json.encode(self._open), 9, mtime=0)).decode()
        fits = len(packed) <= self._left
        if fits:
            self._left -= len(packed)
            self._firsts.append(len(self._trials))
            self.blocks.append(packed)
            self._trials += self._waiting
        self._open, self._waiting = [], []
        return fits

    def _row(self, question: int, case: ShownCase, trial: ShownTrial, types: Sequence[str]) -> tuple[object, ...]:
        verdict = trial.verdict or trial.outcome
        return (
            question,
            self._number("models", trial.model),
            self._number("testbeds", case.testbed),
            case.noise,
            self._number("verdicts", verdict),
            [self._number("types", name) for name in types],
        )

    def _number(self, name: str, value: str) -> int:
        return self._names[name].setdefault(value, len(self._names[name]))


def _name(stored: StoredResult) -> tuple[object, ...]:
    """Return a key that distinguishes a question's cases, including those that differ only in instructions."""
    return (stored.case.case, stored.case.rotation, stored.case.messages)
