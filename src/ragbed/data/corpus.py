"""Combine all passages of a dataset into one corpus, for systems that search it with a tool.

A passage's ID is a hash of its normalised text, and passages are sorted by ID, so neither the ID nor the order reveals
which question a passage belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from ragbed.data import Dataset
from ragbed.schema import Answer, Case, Item, Lang, Passage, Retrieved, Stance
from ragbed.text import bears_answer, squeezed

_ID_DIGITS = 16  # number of hexadecimal digits per ID; for a million IDs, the collision probability is 1 in 37 million
_MAX_NAME_CHARS = 80  # maximum length of the stored ID or text if a system returns a passage from outside the corpus
# If a text has several labels in one item, the first one in this tuple applies.
_PRIORITY: tuple[Stance, ...] = ("supports", "contradicts", "distracts")


class Named(NamedTuple):
    """A passage that a system retrieved, identified by an ID, a text, or both."""

    id: str | None
    text: str | None


class _Use(NamedTuple):
    item: str
    question: str
    event: str | None
    stance: Stance
    part: int | None


class _Pooled(NamedTuple):
    text: str
    lang: Lang
    uses: list[_Use]


class Corpus:
    """An in-memory corpus with the label of each passage for each question.

    Args:
        dataset: The dataset of the passages.
        choose: A function that selects passages of an item; None to include all passages.
        withheld: Whether to leave out the passages that contain a true or a false answer.
    """

    def __init__(
        self,
        dataset: Dataset,
        choose: Callable[[Item], Iterable[Passage]] | None = None,
        *,
        withheld: bool = False,
    ) -> None:
        self._pooled: dict[str, _Pooled] = {}
        for item in dataset.items():
            for passage in item.passages if choose is None else choose(item):
                pooled = self._pooled.setdefault(passage_id(passage.text), _Pooled(passage.text, item.lang, []))
                pooled.uses.append(_Use(item.id, item.question, item.event, passage.stance, passage.part))
        if withheld:  # a passage that answers one question may be a distractor for another
            self._pooled = {
                name: pooled
                for name, pooled in self._pooled.items()
                if all(use.stance == "distracts" for use in pooled.uses)
            }

    @cached_property
    def id(self) -> str:
        """The corpus ID used in requests."""
        hasher = hashlib.sha256()
        for line in self.lines():
            hasher.update(line)
        return hasher.hexdigest()[:_ID_DIGITS]

    def texts(self) -> list[str]:
        """Return the passages in the order of their IDs."""
        return [pooled.text for _, pooled in sorted(self._pooled.items())]

    def lines(self) -> Iterator[bytes]:
        """Yield the passages, one JSON object per line."""
        for name, pooled in sorted(self._pooled.items()):
            yield msgspec.json.encode({"id": name, "text": pooled.text, "lang": pooled.lang}) + b"\n"

    def resolve(self, named: Named, case: Case) -> Retrieved:
        """Return a passage with its label for a case's question, or only its ID or text if it is not in the corpus."""
        for name in (named.id, None if named.text is None else passage_id(named.text)):
            if name is not None and name in self._pooled:
                pooled = self._pooled[name]
                stance, part = _stance(pooled, case)
                return Retrieved(id=name, stance=stance, part=part, text=pooled.text)
        return Retrieved(id=(named.id or named.text or "")[:_MAX_NAME_CHARS])


class PassageLabeller(Protocol):
    """A corpus that labels the passages that a system returns."""

    def resolve(self, named: Named, case: Case, /) -> Retrieved:
        """Return a passage with its label for a case's question."""


# A run's corpora by dataset name and corpus ID. Datasets with the same passages share the ID, but label the passages
# differently.
Corpora: TypeAlias = Mapping[tuple[str, str], PassageLabeller]


def passage_id(text: str) -> str:
    """Return the ID of a text; differences in white space and case are ignored."""
    return hashlib.sha256(squeezed(text).encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]


def _stance(pooled: _Pooled, case: Case) -> tuple[Stance, int | None]:
    """Look up a passage's label for a case in the case's own item, or else in other items about the same event."""
    own = [use for use in pooled.uses if use.item == case.item]
    if own:
        use = min(own, key=lambda use: _PRIORITY.index(use.stance))
        return use.stance, use.part
    answers: dict[Stance, Answer | None] = {"supports": case.answer, "contradicts": case.fake}
    for use in pooled.uses:
        if use.question == case.question or (use.event is not None and use.event == case.event):
            for part, aliases in enumerate(answers.get(use.stance) or ()):
                if bears_answer(pooled.text, (aliases,), case.lang):
                    return use.stance, part if len(answers[use.stance] or ()) > 1 else None
    return "distracts", None
