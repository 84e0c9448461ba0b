"""What a diagnosis is: the types of an error, each with its evidence, and where the wrong answer came from."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragbed.schema import Lang, Record

ErrorType: TypeAlias = Literal["E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12", "E13"]

Source: TypeAlias = Literal["supports", "distracts", "contradicts", "parametric", "none"]
"""The stance of the document that gave the wrong answer; `parametric` if no document has it and the closed-book reply
does; `none` if it is nowhere."""

NAMES: dict[ErrorType, str] = {
    "E1": "long-distance information",
    "E2": "evidence uncertainty",
    "E3": "concept confusion",
    "E4": "merging",
    "E5": "ignoring",
    "E6": "misalignment",
    "E7": "noise-like error in integration",
    "E8": "not in the mandated words",
    "E9": "over-trust of false documents",
    "E10": "over-refusal",
    "E11": "metric false negative",
    "E12": "data error",
    "E13": "generation failure",
}
"""Paper's terms for E1 to E6; see docs/diagnose.md for all definitions."""


class Evidence(Record, frozen=True, kw_only=True):
    """Why an error is of a type; places are in characters of the text as it was sent or received."""

    type: ErrorType
    what: str
    what_zh: str
    """In plain words, in both languages of the pages."""
    document: int | None = None
    """Which one of the case, counted from 0."""
    start: int | None = None
    end: int | None = None
    """Of the sentence in the document or, where none is named, of the stretch of the reply."""
    sentence: str | None = None
    cue: str | None = None
    """The words that a rule turned on: a hedge, a pronoun."""
    asked: str | None = None
    found: str | None = None
    """A qualifier of the question and what stands in its place in the sentence."""
    distance: int | None = None
    """Words (characters in Chinese) between what is asked about and the answer."""
    part: int | None = None
    """The sub-question, counted from 0."""
    bound_to: int | None = None
    """The sub-question that its answer is given to."""
    confirmed: bool | None = None
    """Whether asking again without the cause gave what was wanted; None if it was not asked."""


class Diagnosis(Record, frozen=True, kw_only=True):
    """One trial that went wrong: a line of `RUN/diagnose/diagnosis.jsonl`."""

    case: str
    model: str
    repeat: int
    lang: Lang
    wrong: bool
    """False where only the paper's own scoring calls it wrong (E8, E11)."""
    types: tuple[ErrorType, ...]
    evidence: tuple[Evidence, ...]
    source: Source | None
    """None where there is no answer whose source could be looked for."""
    said: str | None = None
    """The wrong answer, as the reply has it."""
    document: int | None = None
    """The one it was found in, counted from 0."""
    hangs_on: tuple[int, ...] | None = None
    """Documents without which the reply no longer says it; None if that was not tried."""
