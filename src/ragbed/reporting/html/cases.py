"""Pack a report's cases into compressed blocks, which the page unpacks on demand, and an index for its filters.

A document occurs in many cases and in their prompts, so it is stored only once per question.
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice, tee
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ragbed.analysis.diagnosis.summary import RunDiagnosis
from ragbed.reporting.case_view import ShownCase, show_case, show_trial
from ragbed.runs.display_names import RowNames, read_row_names
from ragbed.runs.engines.local import LocalEngine
from ragbed.runs.store import StoredResult, open_scored
from ragbed.testbeds.own_rag import NAME as OWN_RAG

MOST_BYTES = 8_000_000  # Maximum total size of the blocks, so that a report stays below 10 MB.
MOST_TRIALS = 10_000  # Maximum number of trials to read into memory and to score again for their highlights.
_BLOCK_TRIALS = 200  # Number of trials per block; a browser unpacks a block in a few milliseconds.

# A function that returns the judgements on a response in the format that `case.js` expects.
Votes: TypeAlias = Callable[[Path, StoredResult], Sequence[object]]
_Question: TypeAlias = tuple[str, str]  # The dataset and the item; all cases of a question are in one block.
_LISTS = ("models", "data", "testbeds", "verdicts", "types", "langs")


@dataclass
class Packed:
    """The packed cases. `index` has a row per trial, in which names are positions in the index's lists of names.

    `asked` counts all questions with a response, including those that did not fit.
    """

    asked: int = 0
    blocks: list[str] = field(default_factory=list)
    index: dict[str, list[Any]] = field(
        default_factory=lambda: {name: [] for name in (*_LISTS, "questions", "trials", "firsts")}
    )

    def add(self, groups: Sequence[_Group], block: str) -> None:
        """Add a block with the trials of some questions."""
        self.blocks.append(block)
        self.index["firsts"].append(len(self.index["trials"]))
        for group in groups:
            cases = [*group.cases.values()]
            head = cases[0]
            data, lang = self._number("data", head.data), self._number("langs", head.lang)
            self.index["questions"].append((data, head.item, lang, head.question))
            for case, trial in ((cases[place], trial) for place, trial in group.trials):
                self.index["trials"].append((
                    len(self.index["questions"]) - 1,
                    self._number("models", trial["model"]),
                    self._number("testbeds", " ".join((case.testbed, case.arm)[: 1 + (case.testbed == OWN_RAG)])),
                    case.noise,
                    self._number("verdicts", trial["verdict"] or trial["outcome"]),
                    [self._number("types", name) for name in trial["types"]],
                ))  # fmt: skip

    def _number(self, name: str, value: str) -> int:
        if value not in self.index[name]:
            self.index[name].append(value)
        return self.index[name].index(value)


@dataclass
class _Group:
    """A question with its texts and their spans, the cases that refer to the texts, and the trials of the cases."""

    texts: dict[str, tuple[int, object]] = field(default_factory=dict)
    cases: dict[tuple[object, ...], ShownCase] = field(default_factory=dict)
    trials: list[tuple[int, dict[str, Any]]] = field(default_factory=list)

    def add(self, stored: StoredResult, trial: dict[str, Any]) -> None:
        """Add a trial and its fields."""
        # Cases of a question can differ only in their instructions.
        key = (stored.case.case, stored.case.rotation, stored.case.messages)
        if key not in self.cases:
            self.cases[key] = show_case(stored.case)
            for one in self.cases[key].documents:
                self.texts.setdefault(one.text, (len(self.texts), one.spans))
        self.trials.append(([*self.cases].index(key), trial))

    def as_json(self) -> dict[str, object]:
        """Return the question as the page's script reads it, with numbers in place of the documents' texts."""
        texts = [(text, spans) for text, (_, spans) in self.texts.items()]
        return {"texts": texts, "cases": [self._brief(case) for case in self.cases.values()], "trials": self.trials}

    def _brief(self, case: ShownCase) -> dict[str, object]:
        fields: dict[str, Any] = msgspec.to_builtins(case)
        own = [one.text for one in case.documents]
        for document in fields["documents"]:
            document["text"] = self.texts[document["text"]][0]
            del document["spans"]
        for message in fields["messages"]:
            message["content"] = [*self._pieces(message["content"], own)]
        return fields

    def _pieces(self, content: str, documents: Iterable[str]) -> Iterator[str | int]:
        """Yield the segments of a prompt as text, with document numbers in place of the documents."""
        start = 0
        for text in documents:
            found = content.find(text, start) if text else -1
            if found >= 0:
                yield content[start:found]
                yield self.texts[text][0]
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
    asked, chosen = _choose(runs)
    groups: dict[_Question, _Group] = {question: _Group() for question in chosen}
    jobs, batches = tee(_read_batches(runs, groups.keys()))
    engine = LocalEngine()
    try:
        for (folder, batch), shown in zip(batches, engine.spread(_show_batch, jobs), strict=True):
            for stored, trial in zip(batch, shown, strict=True):
                found = known.get((folder, stored.case.case, stored.model, stored.repeat))
                trial |= {
                    "model": names.of(folder, stored.model),
                    "types": [] if found is None else found.types,
                    "evidence": [] if found is None else found.evidence,
                    "judged": [] if votes is None else votes(folder, stored),
                }
                groups[stored.case.data, stored.case.item].add(stored, trial)
    finally:
        engine.close()
    packed = Packed(asked)
    for some in _batches(group for group in groups.values() if group.trials):
        block = b64encode(gzip.compress(msgspec.json.encode([group.as_json() for group in some]), 9, mtime=0)).decode()
        most_bytes -= len(block)
        if most_bytes < 0:
            break
        packed.add(some, block)
    return packed


_Batch: TypeAlias = tuple[Path, list[StoredResult]]


def _read_batches(runs: Sequence[Path], chosen: Container[_Question]) -> Iterator[_Batch]:
    """Yield the results for the chosen questions in batches."""
    for folder in runs:
        with open_scored(folder) as store:
            cases = {number for number, case in enumerate(store.cases(), 1) if (case.data, case.item) in chosen}
            results = store.results(only=cases)
            while batch := list(islice(results, _BLOCK_TRIALS)):
                yield folder, batch


def _show_batch(job: _Batch) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(show_trial(stored)) for stored in job[1]]


def _choose(runs: Sequence[Path]) -> tuple[int, list[_Question]]:
    """Return the number of questions with a result, and questions in a fixed random order up to the trial limit."""
    counts, asked = Counter[_Question](), set[_Question]()
    for folder in runs:
        with open_scored(folder) as store:
            models, repeats = len(store.models()), store.repeats()
            finished = {number for (number,) in store.read("SELECT DISTINCT item FROM results")}
            for number, case in enumerate(store.cases(), 1):
                question = case.data, case.item
                counts[question] += models * repeats * case.feasible
                asked |= {question} if number in finished else set()
    order = sorted(counts, key=lambda one: blake2b("\n".join(one).encode(errors="surrogatepass")).digest())
    chosen, left = [], MOST_TRIALS
    for question in order:
        if counts[question] <= left:
            left -= counts[question]
            chosen.append(question)
    return len(asked), chosen


def _batches(groups: Iterable[_Group]) -> Iterator[list[_Group]]:
    """Yield lists of questions that have enough trials for a block."""
    batch: list[_Group] = []
    for group in groups:
        batch.append(group)
        if sum(len(one.trials) for one in batch) >= _BLOCK_TRIALS:
            yield batch
            batch = []
    if batch:
        yield batch
