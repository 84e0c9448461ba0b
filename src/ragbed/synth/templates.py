"""Parse text templates once and fill them many times.

`{slot}` is filled by the caller. `[one|two|]` is a choice, whose options may be empty and may contain slots and further
choices. No other characters are special, so the phrase banks remain plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ragbed.synth.hash_random import HashRandom

Fill: TypeAlias = Callable[[str], str]
_SLOT = re.compile(r"\{([^}]*)\}")


class TemplateSlot(NamedTuple):
    """A position in a template that the caller fills with text."""

    name: str


class Choice(NamedTuple):
    """A choice between options that contain slots or further choices."""

    options: tuple[tuple[Part, ...], ...]


class LiteralText(NamedTuple):
    """A choice between plain texts. This is the most common type, and it needs no recursion."""

    options: tuple[str, ...]


Part: TypeAlias = "str | TemplateSlot | Choice | LiteralText"


class Template:
    """One line of a phrase bank.

    Attributes:
        source: The line.
        parts: Its parsed parts, in order.
        slots: The names of all slots, including those inside choices.
    """

    __slots__ = ("parts", "slots", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.parts, end = _parse_parts(source, 0, "]")
        if end != len(source):
            raise ValueError(f"the template {source!r} contains {source[end]!r} without a matching '['")
        self.slots = frozenset(_SLOT.findall(source))

    def expansions(self) -> list[str] | None:
        """Return all texts that the template can produce, or None if the template has slots."""
        texts = [""]
        for part in self.parts:
            if isinstance(part, TemplateSlot | Choice):
                return None
            options = (part,) if isinstance(part, str) else part.options
            texts = [text + option for text in texts for option in options]
        return texts

    def write(self, fill: Fill, draw: HashRandom) -> str:
        """Return the text, with the slots filled and random options chosen."""
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


def _parse_parts(source: str, at: int, stops: str) -> tuple[tuple[Part, ...], int]:
    """Parse a template up to its end or the next stop character, and return the parts and the end position."""
    parts: list[Part] = []
    while at < len(source) and source[at] not in stops:
        part: Part
        if slot := _SLOT.match(source, at):
            part, at = TemplateSlot(slot[1]), slot.end()
        elif source[at] == "{":
            raise ValueError(f"the template {source!r} contains '{{' without a matching '}}'")
        elif source[at] == "[":
            part, at = _parse_choice(source, at)
        else:
            start = at
            while at < len(source) and source[at] not in stops + "{[":
                at += 1
            part = source[start:at]
        parts.append(part)
    return tuple(parts), at


def _parse_choice(source: str, at: int) -> tuple[Choice | LiteralText, int]:
    options: list[tuple[Part, ...]] = []
    while at < len(source) and source[at] in "[|":
        option, at = _parse_parts(source, at + 1, "|]")
        options.append(option)
    if at >= len(source):
        raise ValueError(f"the template {source!r} contains '[' without a matching ']'")
    texts = ["".join(part for part in option if isinstance(part, str)) for option in options]
    if all(len(option) == bool(text) for option, text in zip(options, texts, strict=True)):
        return LiteralText(tuple(texts)), at + 1
    return Choice(tuple(options)), at + 1
