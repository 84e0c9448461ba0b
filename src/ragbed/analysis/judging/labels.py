"""What people said of replies: read from a file, one line a label, and brought to one value a reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.io.jsonl import read_lines
from ragbed.schema import Record


class Label(Record, frozen=True, kw_only=True):
    """One line of a label file; `ragbed judge --sample` writes them without a label, for people to fill in."""

    criterion: str
    model: str
    case: str
    repeat: int = 0
    label: bool | None = None
    """What the rater says; None until somebody did."""
    rater: str = ""
    probability: float | None = None
    """With which the reply was chosen to be labelled; none if all were equally likely."""
    question: str | None = None
    answer: str | None = None
    documents: tuple[str, ...] = ()
    reply: str | None = None


class LabelledUnit(NamedTuple):
    """The reply that a label is about."""

    criterion: str
    model: str
    case: str
    repeat: int


class AgreedLabel(NamedTuple):
    """What people agreed on."""

    value: bool
    probability: float | None


@dataclass
class Labels:
    """A label file, settled; what could not be used is counted by reason."""

    said: dict[LabelledUnit, AgreedLabel] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def keep(self, known: set[LabelledUnit]) -> None:
        """Leaves out labels of replies that are not there, or not judged now."""
        criteria = {unit.criterion for unit in known}
        for unit in self.said.keys() - known:
            del self.said[unit]
            is_judged = unit.criterion in criteria
            self.left_out["of a reply that the run does not hold" if is_judged else "on what is not judged now"] += 1


def read_labels(path: Path) -> Labels:
    """Reads a label file.

    Raises:
        DataError: A line is no label; it is named.
    """
    decoder = msgspec.json.Decoder(Label)
    lines = []
    for number, line in read_lines(path):
        try:
            label = decoder.decode(line)
        except MALFORMED_JSON as error:
            raise DataError(path, f"no label: {error}", line=number) from error
        if label.probability is not None and not 0 < label.probability <= 1:
            raise DataError(path, "must be above 0 and at most 1", line=number, field="probability")
        lines.append(label)
    return settle_labels(lines)


def settle_labels(lines: Iterable[Label]) -> Labels:
    """One value a reply: that of most raters. A rater counts once; who said both, and a tie, say nothing."""
    by_unit: dict[LabelledUnit, dict[str, set[bool]]] = {}
    chances: dict[LabelledUnit, float | None] = {}
    labels = Labels()
    for line in lines:
        unit = LabelledUnit(line.criterion, line.model, line.case, line.repeat)
        if line.label is None:
            labels.left_out["not filled in"] += 1
            continue
        raters = by_unit.setdefault(unit, {})
        if line.rater in raters:
            labels.left_out["by a rater who had labelled the reply before"] += 1
        raters.setdefault(line.rater, set()).add(line.label)
        chances[unit] = line.probability
    for unit, raters in by_unit.items():
        votes = Counter(value for said in raters.values() if len(said) == 1 for value in said)
        if votes[True] == votes[False]:
            labels.left_out["on which raters do not agree"] += 1
        else:
            labels.said[unit] = AgreedLabel(votes[True] > votes[False], chances[unit])
    return labels
