"""The passages of all items of a dataset as one corpus, for systems that search by themselves.

A passage is known by a hash of its normalised text, and they are sorted by it: neither name nor place tells which
question a passage belongs to. The corpus is known by the hash of its lines, so that `sha256sum` of the exported file
begins with its id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from ragbed.data import Dataset
from ragbed.schema import Answer, Case, Item, Lang, Passage, Retrieved, Stance
from ragbed.text import bears_answer, squeezed

Edition: TypeAlias = Literal["corpus", "withheld-corpus"]
"""All passages; or without those that bear an answer, true or false."""
EDITIONS: dict[str, Edition] = {"corpus": "corpus", "withheld-corpus": "withheld-corpus"}
"""By the name that a user writes."""
_ID_DIGITS = 16
"""64 bits: among a million passages two share an id with a chance of 1 in 37 million."""
_NAMED_CHARS = 80
"""Kept of what a system names and the corpus does not have."""


class Named(NamedTuple):
    """A passage as a system names it: by its id, its text, or both."""

    id: str | None
    text: str | None


class _Use(NamedTuple):
    """Where in the dataset a passage stands."""

    item: str
    question: str
    event: str | None
    stance: Stance
    part: int | None


@dataclass
class _Pooled:
    text: str
    lang: Lang
    uses: list[_Use] = field(default_factory=list)

    @property
    def bears_an_answer(self) -> bool:
        """True or false, to any question of the dataset."""
        return any(use.stance != "distracts" for use in self.uses)


class Corpus:
    """A corpus in memory: who finds passages in it must be told what they are to the question.

    Args:
        dataset: Whose passages these are.
        edition: Which of them.
    """

    def __init__(self, dataset: Dataset, edition: Edition = "corpus") -> None:
        self._pooled: dict[str, _Pooled] = {}
        for item in dataset.items():
            for passage in item.passages:
                self._add(item, passage)
        if edition == "withheld-corpus":  # what bears the answer to one question may distract from another
            self._pooled = {name: pooled for name, pooled in self._pooled.items() if not pooled.bears_an_answer}

    def _add(self, item: Item, passage: Passage) -> None:
        pooled = self._pooled.setdefault(passage_id(passage.text), _Pooled(passage.text, item.lang))
        pooled.uses.append(_Use(item.id, item.question, item.event, passage.stance, passage.part))

    @cached_property
    def id(self) -> str:
        """What it is called in requests."""
        hasher = hashlib.sha256()
        for line in self.lines():
            hasher.update(line)
        return hasher.hexdigest()[:_ID_DIGITS]

    def lines(self) -> Iterator[bytes]:
        """The passages, one JSON object a line."""
        for name, pooled in sorted(self._pooled.items()):
            yield msgspec.json.encode({"id": name, "text": pooled.text, "lang": pooled.lang}) + b"\n"

    def resolve(self, named: Named, case: Case) -> Retrieved:
        """What a passage is to the question of a case; one that is not of the corpus keeps its name alone."""
        for name in (named.id, None if named.text is None else passage_id(named.text)):
            if name is not None and name in self._pooled:
                pooled = self._pooled[name]
                stance, part = _stance(pooled, case)
                return Retrieved(id=name, stance=stance, part=part, text=pooled.text)
        return Retrieved(id=(named.id or named.text or "")[:_NAMED_CHARS])


def passage_id(text: str) -> str:
    """The name of a text, however it is spaced and spelled in upper and lower case."""
    return hashlib.sha256(squeezed(text).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def _stance(pooled: _Pooled, case: Case) -> tuple[Stance, int | None]:
    """As the question's own item has it; from an item on the same event, if it bears this answer; else it distracts."""
    own = [use for use in pooled.uses if use.item == case.item]
    if own:
        use = min(own, key=lambda use: _FIRST.index(use.stance))
        return use.stance, use.part
    for use in pooled.uses:
        if use.question == case.question or (use.event is not None and use.event == case.event):
            wanted: dict[Stance, Answer | None] = {"supports": case.answer, "contradicts": case.fake}
            answer = wanted.get(use.stance)
            if answer is not None and (borne := _borne(pooled.text, answer, case.lang)) is not None:
                return use.stance, borne if len(answer) > 1 else None
    return "distracts", None


_FIRST: tuple[Stance, ...] = ("supports", "contradicts", "distracts")
"""If a text stands in a pool twice, under two labels."""


def _borne(text: str, answer: Answer, lang: Lang) -> int | None:
    """The first part of the answer that a text holds."""
    return next((part for part, aliases in enumerate(answer) if bears_answer(text, (aliases,), lang)), None)
