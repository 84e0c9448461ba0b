"""Parse text templates once and fill them many times.

`{slot}` is filled by the caller. `[one|two|]` is a choice, whose options may be empty and may contain slots and further
choices. No other characters are special, so the phrase banks remain plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ragbed.synth.hash_random import HashRandom

Fill: TypeAlias = Callable[[str], str]
_TOKEN = re.compile(r"\{([^}]*)\}|[\[|\]{]|[^\[|\]{]+")


class TemplateSlot(NamedTuple):
    """A position in a template that the caller fills with text."""

    name: str


class Choice(NamedTuple):
    """A choice between options, each of which is a plain text or a sequence of parts."""

    options: tuple[str | tuple[Part, ...], ...]


Part: TypeAlias = "str | TemplateSlot | Choice"


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
        tokens = list(_TOKEN.finditer(source))
        try:
            (self.parts,) = _parse(iter(tokens), is_choice=False)
        except ValueError:
            raise ValueError(f"the template {source!r} contains a bracket without its counterpart") from None
        self.slots = frozenset(token[1] for token in tokens if token[1] is not None)

    def expansions(self) -> list[str] | None:
        """Return all texts that the template can produce, or None if the template has slots."""
        texts = [""]
        for part in self.parts:
            options = part.options if isinstance(part, Choice) else (part,)
            plain = [option for option in options if isinstance(option, str)]
            if len(plain) < len(options):
                return None
            texts = [text + option for text in texts for option in plain]
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
        elif type(part) is Choice:
            option = draw.pick(part.options)
            text += option if isinstance(option, str) else _write(option, fill, draw)
    return text


def _parse(tokens: Iterator[re.Match[str]], *, is_choice: bool) -> list[tuple[Part, ...]]:
    """Return the options of a choice up to its closing bracket, or the whole template as the only option."""
    options: list[tuple[Part, ...]] = [()]
    for token in tokens:
        part: Part = token[0]
        if token[1] is not None:
            part = TemplateSlot(token[1])
        elif part == "[":
            choices = _parse(tokens, is_choice=True)
            part = Choice(tuple("".join(map(str, each)) if _is_plain(each) else each for each in choices))
        elif part == "]" and is_choice:
            return options
        elif part == "|" and is_choice:
            options.append(())
            continue
        elif part in ("]", "{"):
            raise ValueError(part)
        options[-1] += (part,)
    if is_choice:
        raise ValueError("[")
    return options


def _is_plain(parts: tuple[Part, ...]) -> bool:
    return all(isinstance(part, str) for part in parts)
