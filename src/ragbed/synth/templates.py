"""Templates: text with slots and choices, parsed once and written out many times.

`{slot}` is filled by the writer, `[one|two|]` is a choice that may be empty and may hold slots and
further choices. Nothing else is special, so the banks stay plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ragbed.synth.hash_random import HashRandom

Fill: TypeAlias = Callable[[str], str]


class TemplateSlot(NamedTuple):
    """A place that the writer fills."""

    name: str


class Choice(NamedTuple):
    """A place where one of several wordings is taken."""

    options: tuple[tuple[Part, ...], ...]


class LiteralText(NamedTuple):
    """A choice among plain words: by far the most frequent one, and written without going deeper."""

    options: tuple[str, ...]


Part: TypeAlias = "str | TemplateSlot | Choice | LiteralText"


class Template:
    """One line of a bank.

    Attributes:
        parts: What it is made of, in order.
        slots: The names of all slots, also those inside choices.
        source: The line as it stands in the bank.
    """

    __slots__ = ("parts", "slots", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts = _parse(source)
        self.slots = frozenset(_slot_names(self.parts))

    def expansions(self) -> list[str] | None:
        """Everything it can say, or None if that depends on slots."""
        texts = [""]
        for part in self.parts:
            if isinstance(part, str):
                texts = [text + part for text in texts]
            elif isinstance(part, LiteralText):
                texts = [text + word for text in texts for word in part.options]
            else:
                return None
        return texts

    def write(self, fill: Fill, draw: HashRandom) -> str:
        """The text with its slots filled and its choices made."""
        return _write(self.parts, fill, draw)


def _write(parts: tuple[Part, ...], fill: Fill, draw: HashRandom) -> str:
    text = ""
    for part in parts:
        if type(part) is str:
            text += part
        elif type(part) is TemplateSlot:
            text += fill(part.name)
        elif type(part) is LiteralText:
            text += draw.pick(part.options)
        elif type(part) is Choice:
            text += _write(draw.pick(part.options), fill, draw)
    return text


def _slot_names(parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TemplateSlot):
            yield part.name
        elif isinstance(part, Choice):
            for option in part.options:
                yield from _slot_names(option)


def _parse(source: str) -> tuple[Part, ...]:
    parts, end = _parse_parts(source, 0, inside=False)
    if end != len(source):
        raise ValueError(f"stray {source[end]!r} in {source!r}")
    return parts


def _parse_parts(source: str, start: int, *, inside: bool) -> tuple[tuple[Part, ...], int]:
    """Reads to the end, or inside a choice to its next '|' or ']'; returns where it stopped."""
    parts: list[Part] = []
    literal, at = "", start
    part: Part
    stops = "|]" if inside else "]"
    while at < len(source) and source[at] not in stops:
        if source[at] in "{[":
            if literal:
                parts.append(literal)
            literal = ""
            part, at = _parse_slot(source, at) if source[at] == "{" else _parse_choice(source, at)
            parts.append(part)
        else:
            literal += source[at]
            at += 1
    if literal:
        parts.append(literal)
    return tuple(parts), at


def _parse_slot(source: str, at: int) -> tuple[TemplateSlot, int]:
    end = source.find("}", at)
    if end < 0:
        raise ValueError(f"'{{' without '}}' in {source!r}")
    return TemplateSlot(source[at + 1 : end]), end + 1


def _parse_choice(source: str, at: int) -> tuple[Choice | LiteralText, int]:
    options: list[tuple[Part, ...]] = []
    while at < len(source) and source[at] in "[|":
        option, at = _parse_parts(source, at + 1, inside=True)
        options.append(option)
    if at >= len(source):
        raise ValueError(f"'[' without ']' in {source!r}")
    words = ["".join(part for part in option if isinstance(part, str)) for option in options]
    if all(len(option) == bool(word) for option, word in zip(options, words, strict=True)):
        return LiteralText(tuple(words)), at + 1
    return Choice(tuple(options)), at + 1
