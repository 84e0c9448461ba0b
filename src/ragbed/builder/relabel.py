"""Relabel a dataset's passages as if they were search results, and compare the labels with the published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ragbed.builder.statements import STANCES, label_passage, label_plainly
from ragbed.data import kind_of
from ragbed.schema import Item, Label, Labelling, Passage, Question, Stance

Way: TypeAlias = Literal["plain", "support"]
# Description of each rule for relabelling passages.
WAYS: dict[Way, str] = {"plain": "contains the answer (RGB's rule)", "support": "gives the answer (ragbed's rule)"}
# If a passage has different labels for the parts of an answer, the label that comes first in this list is used.
_ORDER: tuple[Label, ...] = ("positive", "mention", "contradicting", "partial", "outdated", "related", "random")
_SHOWN = 60  # maximum number of characters to show from a passage
_STANCES: tuple[Stance, ...] = ("supports", "contradicts", "distracts")  # in the order used in RGB's items


class LabelDisagreement(Struct, frozen=True):
    """A passage whose new label differs from the published one."""

    way: Way
    item: str
    place: str  # position among the passages with the same label, e.g. `supports[4]`
    published: Stance
    label: Label
    rule: str
    reason: str
    text: str  # the beginning of the passage


class RelabelRow(Struct):
    """The agreement between the new labels and the published ones, by rule and relevance label."""

    way: Way
    published: Stance
    agree: int = 0
    of: int = 0
    labels: Counter[Label] = Counter()  # number of passages with each new label


class Relabelling:
    """A counter of agreements between new and published labels across all items."""

    def __init__(self) -> None:
        self.items = 0
        self.rebuilt = 0  # number of items whose published pools are reproduced by RGB's rule
        self._rows: dict[tuple[Way, Stance], RelabelRow] = {}

    @property
    def rows(self) -> list[RelabelRow]:
        """The rows, sorted by rule and then by relevance label."""
        places = [(way, stance) for way in WAYS for stance in _STANCES]
        return [self._rows[place] for place in places if place in self._rows]

    def add(self, item: Item) -> Iterator[LabelDisagreement]:
        """Relabel an item's passages, and yield the differences from the published labels."""
        self.items += 1
        self.rebuilt += rebuild(item).passages == item.passages
        for way in WAYS:
            counted: Counter[Stance] = Counter()
            for passage in item.passages:
                labelling = label_again(item, passage, way)
                row = self._rows.setdefault((way, passage.stance), RelabelRow(way, passage.stance, labels=Counter()))
                row.of += 1
                row.labels[labelling.label] += 1
                if _pool(labelling.label) == passage.stance:
                    row.agree += 1
                else:
                    place = f"{passage.stance}[{counted[passage.stance]}]"
                    start = " ".join(passage.text[:_SHOWN].split())
                    found = labelling.label, labelling.rule, labelling.reason
                    yield LabelDisagreement(way, item.id, place, passage.stance, *found, start)
                counted[passage.stance] += 1


def rebuild(item: Item) -> Item:
    """Rebuild an item's pools with the `plain` rule. Passages keep their order within a pool."""
    passages = []
    for passage in item.passages:
        stance = passage.stance
        if stance != "contradicts":  # edited passages contradict the answer by construction
            stance = _pool(label_again(item, passage, "plain").label) or "distracts"
        passages.append(replace(passage, stance=stance, part=None) if stance != passage.stance else passage)
    return replace(item, passages=tuple(sorted(passages, key=lambda passage: _STANCES.index(passage.stance))))


def label_again(item: Item, passage: Passage, way: Way) -> Labelling:
    """Relabel a passage for its item's question or, in an integration item, for the part that the passage fits best."""
    fake = item.fake if passage.stance == "contradicts" else None
    if way == "plain":
        return _label_plainly(item, passage.text, needs_all=kind_of(item) != "integration", is_edit=fake is not None)
    if kind_of(item) != "integration":
        return label_passage(item, passage.text, title=passage.title or "", fake=fake)
    # Integration items from a build have a subquestion for each part of the answer. RGB's items do not, so their main
    # question is used for every part.
    questions = item.sub_questions or (item.question,) * len(item.answer)
    parts = [
        Question(question=question, lang=item.lang, answer=(aliases,))
        for question, aliases in zip(questions, item.answer, strict=True)
    ]
    found = [label_passage(part, passage.text, title=passage.title or "") for part in parts]
    return min(found, key=lambda labelling: _ORDER.index(labelling.label))


def _label_plainly(item: Item, text: str, *, needs_all: bool, is_edit: bool) -> Labelling:
    labelling = label_plainly(item.answer, text)
    if not needs_all and labelling.parts:
        return replace(labelling, label="positive", reason="the passage contains a part of the answer")
    if is_edit and item.fake is not None and labelling.label != "positive":
        stripped = tuple(tuple(alias.strip() for alias in aliases) for aliases in item.fake)
        if label_plainly(stripped, text).label == "positive":
            return replace(labelling, label="contradicting", reason=f"the passage contains {stripped[0][0]}")
    return labelling


def _pool(label: Label) -> Stance | None:
    return "contradicts" if label == "contradicting" else STANCES[label]


def relabel(items: Iterable[Item]) -> tuple[Relabelling, list[LabelDisagreement]]:
    """Relabel all items in a dataset, and return the counts and the disagreements."""
    counts = Relabelling()
    return counts, [found for item in items for found in counts.add(item)]
