"""Types for rules, their findings, and the view of an item that rules check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.schema import Item, Stance
from ragbed.text import contains_slot

# error: `ragbed run` refuses the dataset; warning: scores may be wrong.
Severity: TypeAlias = Literal["error", "warning"]
# For each dataset checked so far, the first item with each question, by the question's hash, and the other item
# of its minimal pair.
Questions: TypeAlias = dict[str, dict[int, tuple[str, str | None]]]

_CONTEXT_CHARS = 12  # number of characters to show on each side of a match; an excerpt then fits on one line
_RGB_FIELDS: dict[Stance, str] = {"supports": "positive", "contradicts": "positive_wrong", "distracts": "negative"}


class LintFinding(Struct, frozen=True):
    """A problem and its location.

    `item` is None if the line could not be read. `where` is the name of a field in the file, e.g. `negative[3]`,
    `passages[12]` or `answer[0]`. `document` is set if the finding is about one document.
    """

    data: str
    item: str | None
    line: int | None
    rule: str
    severity: Severity
    where: str
    message: str
    fix: str
    document: bool = False


class Fault(Struct, frozen=True):
    """The result of a rule: a finding without its rule and item."""

    where: str
    message: str
    document: bool = False


class View:
    """An item with its documents by relevance label, its lower-case texts, and its field names.

    Args:
        data: The name of the dataset.
        line: The line number in the file.
        item: The item.
        spelling: The format of the file, which determines the field names.
        questions: The questions of the items checked before.
    """

    def __init__(
        self, data: str, line: int, item: Item, spelling: str = "native", questions: Questions | None = None
    ) -> None:
        self.data, self.line, self.item = data, line, item
        self.questions = {} if questions is None else questions
        self.is_rgb = spelling == "rgb"
        self.pools: dict[Stance, list[int]] = {"supports": [], "distracts": [], "contradicts": []}
        for index, passage in enumerate(item.passages):
            self.pools[passage.stance].append(index)

    @cached_property
    def lowered(self) -> tuple[str, ...]:
        """Return all passages' texts in lower case."""
        return tuple(passage.text.lower() for passage in self.item.passages)

    def contains(self, text: str, aliases: tuple[str, ...]) -> bool:
        """Return whether a lower-case text contains an alias as a whole term."""
        return contains_slot(text, aliases, self.item.lang)

    def fault(self, index: int, message: str) -> Fault:
        """Create a fault that refers to one passage."""
        return Fault(self.name(index), message, document=True)

    def name(self, index: int) -> str:
        """Return a passage's name: `negative[3]` or `positive[1][0]` in RGB's files, otherwise `passages[12]`."""
        return self._rgb_names[index] if self.is_rgb else f"passages[{index}]"

    @cached_property
    def _rgb_names(self) -> list[str]:
        counted: Counter[str] = Counter()
        names = []
        for passage in self.item.passages:
            pool = _RGB_FIELDS[passage.stance] + ("" if passage.part is None else f"[{passage.part}]")
            names.append(f"{pool}[{counted[pool]}]")
            counted[pool] += 1
        return names

    def field(self, name: Literal["fake", "question"]) -> str:
        """Return the name that the file uses for a field."""
        return {"fake": "fakeanswer", "question": "query"}[name] if self.is_rgb else name


Find: TypeAlias = Callable[[View], Iterable[Fault]]


@dataclass(frozen=True)
class Rule:
    """A rule for checking items, and the function that yields an item's faults."""

    name: str
    severity: Severity
    meaning: str
    fix: str
    find: Find


# All rules by name. `Dataset.lines` checks the records; this rule only describes their errors.
RECORD = Rule(
    "record",
    "error",
    "a line is not a valid record, or its id is not unique",
    "Correct the line; docs/reference/file-formats.md lists the fields.",
    lambda _: (),
)
RULES: dict[str, Rule] = {RECORD.name: RECORD}


def rule(name: str, meaning: str, *, fix: str) -> Callable[[Find], Find]:
    """Register a function as a rule whose faults are warnings."""

    def register(find: Find) -> Find:
        RULES[name] = Rule(name, "warning", meaning, fix, find)
        return find

    return register


def quote(text: str, start: int, end: int) -> str:
    """Return a span of a text with some context, on one line."""
    left, right = max(0, start - _CONTEXT_CHARS), end + _CONTEXT_CHARS
    around = " ".join(text[left:right].split())
    return f"‘{'…' * (left > 0)}{around}{'…' * (right < len(text))}’"
