"""Locate the answer in a document and measure its distance from the event's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ragbed.synth.document_plan import Act, Statement
from ragbed.synth.events import TRUE, Event
from ragbed.synth.language import LanguageRules

Attributes: TypeAlias = dict[str, int | float | str | bool]

_KINDS = ("hedge", "sibling", "outdated", "partial", "contradiction", "random", "refusal")
NO_DISTANCE = -1  # recorded for a document that contains no value for the relation


class Trace(NamedTuple):
    """A statement as written in a document, with the words that name its event and state its value."""

    statement: Statement
    event_words: str
    value_words: str


Line: TypeAlias = tuple[str, Trace | None]  # a sentence and its statement, which is None for padding


class ValueLocation(NamedTuple):
    """The location of a relation's value in a document.

    Attributes:
        words: The value, or an empty string if the document has none.
        distance: The number of tokens between the value and the name of its event.
        answer_span: The start and end of the sentence that contains the value, if the value is the answer.
    """

    words: str = ""
    distance: int = NO_DISTANCE
    answer_span: tuple[int, int] | None = None


def locate_value(
    text: str, lines: list[Line], asked: tuple[Event, str], count_tokens: Callable[[str], int]
) -> ValueLocation:
    """Locate the answer if the document states it; otherwise, locate the first value of the relation.

    The distance is measured from the event's last full name before the value. If there is none, it is measured to a
    name later in the same sentence or, if there is none there either, from the start of the document.
    """
    name_ends: dict[tuple[Event, int], int] = {}
    found = ValueLocation()
    at = 0
    for line, trace in lines:
        start = text.find(line, at)
        at = start + len(line)
        if trace is None:
            continue
        key = (trace.statement.event, trace.statement.family)
        if trace.value_words and trace.statement.relation == asked[1]:
            stated = trace.statement
            is_answer = stated.event == asked[0] and (stated.act, stated.family, stated.role) == (Act.FACT, 0, TRUE)
            if is_answer or not found.words:
                first, last = _gap(line, trace, start, name_ends.get(key, 0))
                distance = count_tokens(text[first:last])
                found = ValueLocation(trace.value_words, distance, (start, at) if is_answer else None)
            if is_answer:
                break
        if trace.event_words:
            name_ends[key] = _position(line, trace.event_words, start) + len(trace.event_words)
    return found


def _gap(line: str, trace: Trace, start: int, name_end: int) -> tuple[int, int]:
    """Return the start and end of the text between the event's name and the value."""
    value_at = _position(line, trace.value_words, start)
    if not trace.event_words:
        return name_end, value_at
    name_at = _position(line, trace.event_words, start)
    if name_at < value_at:
        return name_at + len(trace.event_words), value_at
    return value_at + len(trace.value_words), name_at


def _position(line: str, words: str, start: int) -> int:
    # Known limitation: words at the start of a sentence are not found if their first letter was capitalised.
    return start + max(line.find(words), 0)


def measure_attributes(voice: str, text: str, question_words: tuple[str, ...], rules: LanguageRules) -> Attributes:
    """Return all attributes to record for a document, including those measured from its text.

    Args:
        voice: The style of the document.
        text: The document.
        question_words: The question's content words; the overlap is the share of them that the document contains.
        rules: The conventions of the language.
    """
    lowered = text.lower()
    shared = sum(word in lowered for word in question_words) / max(len(question_words), 1)
    return {
        "voice": voice,
        "length_tokens": rules.count_tokens(text),
        "distance_tokens": NO_DISTANCE,
        "overlap": round(shared, 2),
        "states": "",
        "agreeing_sources": 0,
        **dict.fromkeys(_KINDS, False),
    }
