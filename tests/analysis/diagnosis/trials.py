"""Real responses with a known cause: labelled errors and minimal pairs of synthetic data, and how well they are found.

`labelled/{dev,held,test}.jsonl`: errors of Qwen2.5-Coder-0.5B, -1.5B and SmolLM2-135M on the fictional world and on
well-known facts, labelled in two passes, those of `test` in one. `rare`: errors
of Qwen2.5-Coder-1.5B drawn by testbed, in one pass; `parts`: its other errors of integration, labelled for E4 and E6.
`twins/*.jsonl`: wrong replies to items with one dial turned on whose twin, with the dial off, the model answers: of
SmolLM2-135M in English, of Qwen2.5-Coder-1.5B in both languages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragbed.analysis.diagnosis.records import NAMES, Diagnosis
from ragbed.analysis.diagnosis.trial import KnownAnswer
from ragbed.runs.store import StoredResult
from ragbed.schema import Answer, Completion
from ragbed.scoring.robust.verdict import judge
from tests.analysis.diagnosis.printed import diagnose_stored, make_case

FOLDER = Path(__file__).parent
CAUSES = {"distance": "E1", "hedge": "E2", "outdated": "E2", "sibling": "E3", "contradiction": None, "agreement": None}
"""The type that a dial makes; a plain false statement is of none: nothing in the document shows that it is false."""

TWINS = ("smollm2-en", "qwen-en", "qwen-zh")
"""The models and languages."""

_ENDS = re.compile(r"[.!?。！？”\"’')）》]\s*$")
_CUT_WORDS = 14
"""From which on a reply that does not end was cut, where how it ended was not kept: the limit was 32 to 60 tokens."""


class Found(NamedTuple):
    """The true types of a trial, and those that were found."""

    true: frozenset[str]
    found: frozenset[str]


def read_labelled(part: str) -> list[dict[str, Any]]:
    """Return the labelled errors of one part."""
    lines = (FOLDER / "labelled" / f"{part}.jsonl").read_text("utf-8").splitlines()
    return [msgspec.json.decode(line) for line in lines]


def read_twins(which: str) -> list[dict[str, Any]]:
    """Return the wrong responses to perturbed items, for one of TWINS."""
    return [msgspec.json.decode(line) for line in (FOLDER / "twins" / f"{which}.jsonl").read_text("utf-8").splitlines()]


def compare_twins(lines: Iterable[dict[str, Any]]) -> Iterator[Found]:
    """Yield the type that the perturbation causes, and the types that were found."""
    for line in lines:
        diagnosis, cause = diagnose_line(line), CAUSES[line["dial"]]
        found = frozenset(diagnosis.types if diagnosis else ()) & {"E1", "E2", "E3"}
        yield Found(frozenset({cause} if cause else ()), found)


def diagnose_line(line: dict[str, Any]) -> Diagnosis | None:
    """Return the diagnosis of one response."""
    fake = _answer(line["fake"]) if line.get("fake") else None
    documents = tuple((stance, text) for stance, text in line["documents"])
    answer, lang = _answer(line["answer"]), line.get("lang", "en")
    case = make_case(
        line["question"], answer, documents, lang, line.get("expect", "answer"), fake, line.get("testbed", "noise")
    )
    closed_book = None
    if (said := line.get("closed_book")) is not None:
        alone = msgspec.structs.replace(case, documents=(), expect="answer")
        closed_book = KnownAnswer(bool(judge(alone, said).correct), said)
    reply = line["reply"]
    finish = line.get("finish") or (
        "length"
        if (not _ENDS.search(reply) and len(re.findall(r"[A-Za-z0-9]+|[\u4e00-\u9fff]", reply)) >= _CUT_WORDS)
        else "stop"
    )
    completion = Completion(outcome="ok", reply=reply, finish=finish)
    return diagnose_stored(StoredResult(case, line.get("model", "smollm2-135m"), 0, completion), closed_book)


def compare(lines: Iterable[dict[str, Any]]) -> Iterator[Found]:
    """Yield the labelled types of errors, and the types that were found."""
    for line in lines:
        diagnosis = diagnose_line(line)
        yield Found(frozenset(line["types"]) & NAMES.keys(), frozenset(diagnosis.types if diagnosis else ()))


class Counts(NamedTuple):
    """How often a type was found correctly, found wrongly, and missed."""

    hit: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        """Share of the found that are true."""
        return self.hit / (self.hit + self.false) if self.hit + self.false else 1.0

    @property
    def recall(self) -> float:
        """Share of the true that are found."""
        return self.hit / (self.hit + self.missed) if self.hit + self.missed else 1.0


def count(pairs: Iterable[Found]) -> dict[str, Counts]:
    """Count every type that occurs."""
    hit: Counter[str] = Counter()
    false: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for true, found in pairs:
        hit.update(true & found)
        false.update(found - true)
        missed.update(true - found)
    names = sorted(hit | false | missed, key=lambda name: int(name[1:]))
    return {name: Counts(hit[name], false[name], missed[name]) for name in names}


def kappa(lines: Iterable[dict[str, Any]], name: str) -> float | None:
    """Return Cohen's kappa of the two passes for one type; None if both never or always have it."""
    pairs = [(name in line["first"], name in line["second"]) for line in lines]
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    first, second = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    chance = first * second + (1 - first) * (1 - second)
    return None if chance == 1 else (agreed - chance) / (1 - chance)


def _answer(slots: list[list[str]]) -> Answer:
    return tuple(tuple(aliases) for aliases in slots)
