"""The data types for diagnoses: error types with their evidence, and the source of the wrong answer."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragbed.schema import Lang, Record

# The subfolder of a run folder, and the file in it, where the run's diagnoses are stored.
FOLDER, FILE = "diagnose", "diagnosis.jsonl"

ErrorType: TypeAlias = Literal["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12"]

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
    "E7": "noise error in integration",
    "E8": "over-trust of false documents",
    "E9": "false refusal",
    "E10": "data error",
    "E11": "generation failure",
    "E12": "evidence not found",
}


class Evidence(Record, frozen=True, kw_only=True):
    """The evidence for an error type.

    `start` and `end` are character positions in the document or, if there is none, in the response. Documents and parts
    are numbered from 0.
    """

    type: ErrorType
    what: str
    what_zh: str
    document: int | None = None
    start: int | None = None
    end: int | None = None
    sentence: str | None = None
    cue: str | None = None  # the words that matched, e.g. a hedge or a pronoun
    asked: str | None = None  # a qualifier in the question
    found: str | None = None  # the word that `sentence` contains instead of the qualifier
    distance: int | None = None  # number of words (characters in Chinese) between the question's subject and the answer
    part: int | None = None  # index of the sub-question that the evidence is about
    bound_to: int | None = None  # index of a different sub-question, to which the response wrongly assigns the answer


class Diagnosis(Record, frozen=True, kw_only=True):
    """A trial with a wrong answer, stored as a line in `RUN/diagnose/diagnosis.jsonl`."""

    case: str
    model: str
    repeat: int
    lang: Lang
    event: str | None = None  # the item's event; items about the same event are not independent
    types: tuple[ErrorType, ...]
    evidence: tuple[Evidence, ...]
    source: Source | None  # None if the response has no answer
    said: str | None = None  # the wrong answer that the response gives
    document: int | None = None  # zero-based index of the document with the wrong answer
