"""Label a dataset's own pools again, as if they were search results, and compare with the published labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ragbed.builder.labelling import STANCES, label_passage, label_plainly
from ragbed.data import kind_of
from ragbed.schema import Item, Label, Labelling, Passage, Question, Stance

Way: TypeAlias = Literal["plain", "support"]
WAYS: dict[Way, str] = {
    "plain": "contains the answer (RGB's rule)",
    "support": "gives the answer (ours)",
}
"""How passages are labelled again."""

_ORDER: tuple[Label, ...] = ("positive", "mention", "contradicting", "partial", "outdated", "related", "random")
"""Of a several-part answer, the label of the part that a passage is nearest to giving."""
_SHOWN = 60
"""Characters of a passage that are shown: enough to know it again."""
_STANCES: tuple[Stance, ...] = ("supports", "contradicts", "distracts")
"""In the order of RGB's records."""


class LabelDisagreement(Struct, frozen=True):
    """A passage that is published under one label and gets another."""

    way: Way
    item: str
    place: str
    """Among the passages of its stance: `supports[4]`."""
    published: Stance
    label: Label
    rule: str
    reason: str
    text: str
    """Its beginning."""


class RelabelRow(Struct):
    """How often labels agree with the published ones."""

    way: Way
    published: Stance
    agree: int = 0
    of: int = 0
    labels: Counter[Label] = Counter()
    """What the passages are labelled now."""


class Relabelling:
    """Adds items up, one by one."""

    def __init__(self) -> None:
        self.items = 0
        self.rebuilt = 0
        """Items whose pools come out as they are published, by the plain rule."""
        self._rows: dict[tuple[Way, Stance], RelabelRow] = {}

    @property
    def rows(self) -> list[RelabelRow]:
        """Plain first; within a way by stance."""
        places = [(way, stance) for way in WAYS for stance in _STANCES]
        return [self._rows[place] for place in places if place in self._rows]

    def add(self, item: Item) -> Iterator[LabelDisagreement]:
        """Labels the passages of an item, and yields where that differs from what is published."""
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
                    yield _disagreement(way, item, place, passage, labelling)
                counted[passage.stance] += 1


def rebuild(item: Item) -> Item:
    """The item with its pools split again by the plain rule; within a pool passages keep their order."""
    split: dict[Stance, list[Passage]] = {stance: [] for stance in _STANCES}
    for passage in item.passages:
        stance = passage.stance
        if stance != "contradicts":  # edited passages are made, not found
            stance = _pool(label_again(item, passage, "plain").label) or "distracts"
        moved = replace(passage, stance=stance, part=None) if stance != passage.stance else passage
        split[stance].append(moved)
    return replace(item, passages=tuple(passage for stance in _STANCES for passage in split[stance]))


def label_again(item: Item, passage: Passage, way: Way) -> Labelling:
    """What a passage of an item is to its question; of an integration item, to the part it is nearest to giving."""
    fake = item.fake if passage.stance == "contradicts" else None
    if way == "plain":
        return _label_plainly(item, passage.text, needs_all=kind_of(item) != "integration", is_edit=fake is not None)
    if kind_of(item) != "integration":
        return label_passage(item, passage.text, title=passage.title or "", fake=fake)
    # Built items know the question of each part, whose words a passage about that part has; RGB's do not.
    asked = item.sub_questions or (item.question,) * len(item.answer)
    parts = [
        Question(question=question, lang=item.lang, answer=(aliases,))
        for question, aliases in zip(asked, item.answer, strict=True)
    ]
    found = [label_passage(part, passage.text, title=passage.title or "") for part in parts]
    return min(found, key=lambda one: _ORDER.index(one.label))


def _label_plainly(item: Item, text: str, *, needs_all: bool, is_edit: bool) -> Labelling:
    labelling = label_plainly(item.answer, text)
    if not needs_all and labelling.parts:
        return replace(labelling, label="positive", reason="it contains a part of the answer")
    if is_edit and item.fake is not None and labelling.label != "positive":
        stripped = tuple(tuple(alias.strip() for alias in aliases) for aliases in item.fake)
        if label_plainly(stripped, text).label == "positive":
            return replace(labelling, label="contradicting", reason=f"it contains {stripped[0][0]}")
    return labelling


def _pool(label: Label) -> Stance | None:
    return "contradicts" if label == "contradicting" else STANCES[label]


def _disagreement(way: Way, item: Item, place: str, passage: Passage, found: Labelling) -> LabelDisagreement:
    start = " ".join(passage.text[:_SHOWN].split())
    return LabelDisagreement(way, item.id, place, passage.stance, found.label, found.rule, found.reason, start)


def relabel(items: Iterable[Item]) -> tuple[Relabelling, list[LabelDisagreement]]:
    """All items of a dataset."""
    sums = Relabelling()
    return sums, [found for item in items for found in sums.add(item)]
