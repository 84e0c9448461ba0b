"""Where in a document the answer stands, and how far from what the question names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ragbed.synth.document_plan import Act, Statement
from ragbed.synth.events import TRUE, Event
from ragbed.synth.language import LanguageRules

Dials: TypeAlias = dict[str, int | float | str | bool]

_KINDS = ("hedge", "sibling", "outdated", "partial", "contradiction", "random", "refusal")
NO_DISTANCE = -1
"""Distance in a document that says nothing of the relation asked about."""


class Trace(NamedTuple):
    """What a written sentence says, and with which words it names the event and the value."""

    statement: Statement
    event_words: str
    value_words: str


Line: TypeAlias = tuple[str, Trace | None]
"""A sentence and what it says; padding says nothing."""


def find_support(text: str, lines: list[Line], asked: tuple[Event, str]) -> tuple[int, int] | None:
    """Start and end of the sentence that states what is asked."""
    for line, trace in lines:
        if trace is not None and _states(trace.statement, asked):
            start = text.find(line)
            return start, start + len(line)
    return None


def measure_value(
    text: str, lines: list[Line], asked: tuple[Event, str], count_tokens: Callable[[str], int]
) -> tuple[int, str]:
    """The value that a document gives for the relation asked about, and how far it is from its event's name.

    That is the answer if it is there, otherwise the first value of that relation. The distance is in
    tokens from the nearest earlier full name of the event; where the name follows in the same
    sentence the tokens between them count, and where it never comes all that precede the value.
    """
    anchors: dict[tuple[Event, int], int] = {}
    found = (NO_DISTANCE, "")
    at = 0
    for line, trace in lines:
        start = text.find(line, at)
        at = start + len(line)
        if trace is None:
            continue
        key = (trace.statement.event, trace.statement.abroad)
        if trace.value_words and trace.statement.relation == asked[1]:
            is_answer = _states(trace.statement, asked)
            if is_answer or not found[1]:
                first, last = _between(line, trace, start, anchors.get(key, 0))
                found = count_tokens(text[first:last]), trace.value_words
            if is_answer:
                break
        if trace.event_words:
            anchors[key] = _place(line, trace.event_words, start) + len(trace.event_words)
    return found


def _states(statement: Statement, asked: tuple[Event, str]) -> bool:
    """Whether a statement is the answer."""
    is_asked = (statement.event, statement.relation) == asked and statement.abroad == 0
    return is_asked and statement.act is Act.FACT and statement.role == TRUE


def _between(line: str, trace: Trace, start: int, anchor: int) -> tuple[int, int]:
    """Where the stretch between the event's name and the value begins and ends."""
    value_at = _place(line, trace.value_words, start)
    if not trace.event_words:
        return anchor, value_at
    name_at = _place(line, trace.event_words, start)
    if name_at < value_at:
        return name_at + len(trace.event_words), value_at
    return value_at + len(trace.value_words), name_at


def _place(line: str, words: str, start: int) -> int:
    """Where words stand in the text; the first letter of a sentence may have become a capital."""
    return start + max(line.find(words), 0)


def base_dials(voice: str, text: str, content: tuple[str, ...], tongue: LanguageRules) -> Dials:
    """The dials of a document, all of them, with what can be read off the text filled in.

    Args:
        voice: The outlet's voice.
        text: The document.
        content: The question's content words; the overlap is the share of them that it holds.
        tongue: The language.
    """
    lowered = text.lower()
    shared = sum(word in lowered for word in content) / max(len(content), 1)
    return {
        "voice": voice,
        "length_tokens": tongue.count_tokens(text),
        "distance_tokens": NO_DISTANCE,
        "overlap": round(shared, 2),
        "states": "",
        "agreeing_sources": 0,
        **dict.fromkeys(_KINDS, False),
    }
