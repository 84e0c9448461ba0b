"""Where in a document the answer stands, and how far from what the question names."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ragbed.worlds.model import TRUE, Event
from ragbed.worlds.plan import Act, Statement
from ragbed.worlds.tongue import Tongue

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
        if trace is not None:
            statement = trace.statement
            told = (statement.event, statement.relation) == asked and statement.abroad == 0
            if told and statement.act is Act.FACT and statement.role == TRUE:
                start = text.find(line)
                return start, start + len(line)
    return None


def measure_distance(text: str, lines: list[Line], relation: str, count_tokens: Callable[[str], int]) -> int:
    """Tokens between a value of the relation asked about and the nearest earlier full name of its event.

    Where the name follows in the same sentence the tokens between them count; where the document
    never names the event, all that precede the value do.
    """
    anchors: dict[tuple[Event, int], int] = {}
    at = 0
    for line, trace in lines:
        start = text.find(line, at)
        at = start + len(line)
        if trace is None:
            continue
        key = (trace.statement.event, trace.statement.abroad)
        name_at = _place(line, trace.event_words, start)
        if trace.value_words and trace.statement.relation == relation:
            value_at = _place(line, trace.value_words, start)
            if trace.event_words:
                first, last = sorted((name_at, value_at))
                first += len(trace.event_words if first == name_at else trace.value_words)
            else:
                first, last = anchors.get(key, 0), value_at
            return count_tokens(text[first:last])
        if trace.event_words:
            anchors[key] = name_at + len(trace.event_words)
    return NO_DISTANCE


def _place(line: str, words: str, start: int) -> int:
    """Where words stand in the text; the first letter of a sentence may have become a capital."""
    return start + max(line.find(words), 0)


def base_dials(voice: str, text: str, content: tuple[str, ...], tongue: Tongue) -> Dials:
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
        "agreeing_sources": 0,
        **dict.fromkeys(_KINDS, False),
    }
