"""The data types for diagnoses: error types with their evidence, and the source of the wrong answer."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragbed.schema import Lang, Record

# The subfolder of a run folder, and the file in it, where the run's diagnoses are stored.
FOLDER, FILE = "diagnose", "diagnosis.jsonl"

ErrorType: TypeAlias = Literal["E1", "E2", "E3", "E4", "E5", "E6", "E8", "E9", "E11", "E12", "E13"]

# The relevance label of the document with the wrong answer, `parametric` if only the closed-book response contains the
# answer, or `none` if neither a document nor that response contains it.
Source: TypeAlias = Literal["supports", "distracts", "contradicts", "parametric", "none"]

# The paper's terms for E1 to E6, and ours for the other types. All are defined in docs/reference/error-types.md.
NAMES: dict[ErrorType, str] = {
    "E1": "long-distance information",
    "E2": "evidence uncertainty",
    "E3": "concept confusion",
    "E4": "merging",
    "E5": "ignoring",
    "E6": "misalignment",
    "E8": "over-trust of false documents",
    "E9": "false refusal",
    "E11": "generation failure",
    "E12": "evidence not found",
    "E13": "instruction followed",
}


class Evidence(Record, frozen=True, kw_only=True):
    """The evidence for an error type.

    `start` and `end` are the character positions of a sentence in the document or, if there is none, of an answer in
    the response. Documents and parts are numbered from 0.
    """

    type: ErrorType
    document: int | None = None
    start: int | None = None
    end: int | None = None
    sentence: str | None = None
    cue: str | None = None  # what the type is based on, e.g. a hedge, two qualifiers that differ, or the search queries
    part: int | None = None  # index of the sub-question that the evidence is about


class Diagnosis(Record, frozen=True, kw_only=True):
    """A trial with a wrong answer, stored as a line in `RUN/diagnose/diagnosis.jsonl`."""

    case: str
    model: str
    repeat: int
    lang: Lang
    event: str | None = None  # the item's event; items about the same event are not independent
    types: tuple[str, ...]  # error types, or the cause for the testbed `own-rag`
    evidence: tuple[Evidence, ...]
    source: Source | None  # None if the response has no answer
    said: str | None = None  # the wrong answer that the response gives; the response if `types` has its cause
    document: int | None = None  # zero-based index of the document with the wrong answer
