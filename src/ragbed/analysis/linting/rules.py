"""What a rule is, what it finds, and an item as rules look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.data import Dataset
from ragbed.schema import Item, Stance
from ragbed.testbeds.settings import Settings
from ragbed.text import plain, spaceless

Severity: TypeAlias = Literal["error", "warning", "note"]
"""error: a score will be wrong; warning: it may be; note: worth knowing."""

PLAIN = "plain"
"""Both sides lower-cased, nothing else: how RGB's documents were labelled."""
SPACELESS = "spaceless"
"""As the original scorer reads a Chinese reply: lower-cased, ASCII spaces removed from the text, not from the gold."""

_CONTEXT_CHARS = 12
"""How much is quoted on either side of a place: enough to find it again, short enough for one line."""
_RGB_FIELDS: dict[Stance, str] = {"supports": "positive", "contradicts": "positive_wrong", "distracts": "negative"}


class LintFinding(Struct, frozen=True):
    """One thing that is wrong, and where."""

    data: str
    item: str | None
    """Id of the item; None where the line could not be read as one."""
    line: int | None
    rule: str
    severity: Severity
    where: str
    """The field, spelled as in the file: `negative[3]`, `passages[12]`, `answer[0]`; or a condition."""
    message: str
    fix: str
    definitions: tuple[str, ...] = ()
    """In which of its senses the rule fires, where it has several."""
    document: bool = False
    """Whether it is about one document."""


class Fault(Struct, frozen=True):
    """What a rule yields: a finding before it knows its rule and item."""

    where: str
    message: str
    definitions: tuple[str, ...] = ()
    document: bool = False


class View:
    """An item as the rules look at it: its pools, its texts folded once, the names of its fields.

    Args:
        data: Name of the dataset.
        line: Where it stands in the file.
        item: The item.
        spelling: The format of the file, whose names for fields are used.
    """

    def __init__(self, data: str, line: int, item: Item, spelling: str = "native") -> None:
        self.data, self.line, self.item = data, line, item
        self.is_rgb = spelling == "rgb"
        self.pools: dict[Stance, list[int]] = {"supports": [], "distracts": [], "contradicts": []}
        for index, passage in enumerate(item.passages):
            self.pools[passage.stance].append(index)

    @property
    def groups(self) -> set[int]:
        """The sub-questions that have passages of their own; none for other kinds of item."""
        parts = (self.item.passages[index].part for index in self.pools["supports"])
        return {part for part in parts if part is not None}

    @cached_property
    def folded(self) -> dict[str, tuple[str, ...]]:
        """All passages, folded, by definition: `plain`, and in Chinese also `spaceless`."""
        texts = {PLAIN: tuple(plain(passage.text) for passage in self.item.passages)}
        if self.item.lang == "zh":
            texts[SPACELESS] = tuple(spaceless(passage.text) for passage in self.item.passages)
        return texts

    def senses(self, index: int, test: Callable[[str], bool]) -> tuple[str, ...]:
        """The definitions under which a test holds for a passage."""
        return tuple(name for name, texts in self.folded.items() if test(texts[index]))

    def fault(self, index: int, message: str, definitions: tuple[str, ...] = ()) -> Fault:
        """A fault of one passage."""
        return Fault(self.name(index), message, definitions, document=True)

    def name(self, index: int) -> str:
        """A passage as its file spells it: `negative[3]` or `positive[1][0]` in RGB's, else `passages[12]`."""
        return self._rgb_names[index] if self.is_rgb else f"passages[{index}]"

    @cached_property
    def _rgb_names(self) -> list[str]:
        counted: Counter[str] = Counter()
        names = []
        for passage in self.item.passages:
            part = "" if passage.part is None else f"[{passage.part}]"
            pool = f"{_RGB_FIELDS[passage.stance]}{part}"
            names.append(f"{pool}[{counted[pool]}]")
            counted[pool] += 1
        return names

    def pool(self, stance: Stance) -> str:
        """A list of passages as its file spells it."""
        return _RGB_FIELDS[stance] if self.is_rgb else "passages"

    def field(self, name: Literal["fake", "question"]) -> str:
        """A field of the item as its file spells it."""
        return {"fake": "fakeanswer", "question": "query"}[name] if self.is_rgb else name


@dataclass(frozen=True)
class Survey:
    """What a rule may need to know beyond one item."""

    dataset: Dataset
    settings: Settings
    questions: dict[str, dict[int, str]] = field(default_factory=dict)
    """For each dataset looked at so far: hash of a question to the item that asks it."""
    sums: dict[str, object] = field(default_factory=dict)
    """What rules add to the statistics of the dataset."""


Find: TypeAlias = Callable[[View], Iterable[Fault]]


@dataclass(frozen=True)
class Rule:
    """One thing that can be wrong with an item."""

    name: str
    severity: Severity
    meaning: str
    fix: str
    bind: Callable[[Survey], Find]
    """Makes the function that looks at items, for one dataset."""
    definitions: tuple[str, ...] = ()
    """Its senses, each counted apart."""
    optional: bool = False
    """Runs only when it is named, because it costs more."""


def rule(
    name: str, severity: Severity, meaning: str, *, fix: str, definitions: tuple[str, ...] = ()
) -> Callable[[Find], Rule]:
    """Turns a function of one item into a rule."""

    def register(find: Find) -> Rule:
        return Rule(name, severity, meaning, fix, lambda survey: find, definitions)  # noqa: ARG005

    return register


def dataset_rule(
    name: str, severity: Severity, meaning: str, *, fix: str, definitions: tuple[str, ...] = (), optional: bool = False
) -> Callable[[Callable[[Survey], Find]], Rule]:
    """Turns a function that prepares for a dataset, and returns one of an item, into a rule."""

    def register(bind: Callable[[Survey], Find]) -> Rule:
        return Rule(name, severity, meaning, fix, bind, definitions, optional)

    return register


def quote(text: str, start: int, end: int) -> str:
    """A place in a text with a little around it, on one line."""
    left, right = max(0, start - _CONTEXT_CHARS), end + _CONTEXT_CHARS
    around = " ".join(text[left:right].split())
    return f"‘{'…' * (left > 0)}{around}{'…' * (right < len(text))}’"


def quote_alias(folded_text: str, aliases: Sequence[str]) -> str:
    """The first alias that stands in a folded text, with what is around it."""
    for alias in aliases:
        at = folded_text.find(alias.lower())
        if at >= 0:
            return quote(folded_text, at, at + len(alias))
    return "‘’"
