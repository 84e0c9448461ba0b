"""The review points of an item, one for each property that can be right or wrong independently of the others.

A review point has the name of its field, or its own name:

| Point | Accepted | Fixed by | Rejected |
|---|---|---|---|
| `question` | it is clear without context | another wording | the item is removed |
| `searchable` | a search finds pages that answer it (paper, Data construction) | – | the item is removed |
| `known` | the answer is or is not common knowledge, as the item's kind requires | – | the item is removed |
| `answer[0]` | it and all its aliases are right | other aliases | the item is removed |
| `fake[0]` | it is false, and of the same kind as the answer | other aliases | the item is removed |
| `passages[3].stance` | its relevance label is right | another label | the passage is removed |
| `passages[8].text` | edited passage: no trace of the true answer is left | another text | the passage is removed |
| `passages[8].edits[0]` | the false answer fits into the sentence | other words | the passage is removed |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbed.data import kind_of
from ragbed.errors import UsageError
from ragbed.schema import Item, Passage
from ragbed.ui.review.log import PointDecision

Kind: TypeAlias = Literal["question", "searchable", "known", "answer", "fake", "stance", "text", "edit"]
LONGEST_REASON = 500
LONGEST_FIX = 20_000
_STANCES = ("supports", "distracts", "contradicts")


@dataclass(frozen=True)
class ReviewPoint:
    """A review point; `index` identifies the answer part or passage, and `span` identifies the edited span."""

    name: str
    kind: Kind
    index: int = 0
    span: int = 0


def points_of(item: Item) -> list[ReviewPoint]:
    """Return an item's review points in reading order."""
    names: tuple[Kind, ...] = ("question", "searchable", "known")
    points = [ReviewPoint(name, name) for name in names]
    points += [ReviewPoint(f"answer[{part}]", "answer", part) for part in range(len(item.answer))]
    points += [ReviewPoint(f"fake[{part}]", "fake", part) for part in range(len(item.fake or ()))]
    for index, passage in enumerate(item.passages):
        name = f"passages[{index}]"
        if is_edit(passage):
            points.append(ReviewPoint(f"{name}.text", "text", index))
            points += [ReviewPoint(f"{name}.edits[{k}]", "edit", index, k) for k in range(len(passage.edits))]
        else:
            points.append(ReviewPoint(f"{name}.stance", "stance", index))
    return points


def is_edit(passage: Passage) -> bool:
    """Return whether a passage was made by inserting a false answer into a true passage."""
    return passage.edit_of is not None


def is_fatal(name: str) -> bool:
    """Return whether rejecting the point with this name removes the item, instead of a passage."""
    return not name.startswith("passages[")


def check_decisions(item: Item, decisions: Iterable[PointDecision]) -> None:
    """Check that the decisions on an item are valid.

    Raises:
        UsageError: The item has no such point, or the fix is not valid.
    """
    points = {point.name: point for point in points_of(item)}
    for decision in decisions:
        if decision.point not in points:
            raise UsageError(f"item {item.id} has no review point {decision.point!r}.")
        if problem := _find_problem(item, points[decision.point], decision):
            raise UsageError(f"{decision.point}: {problem}.")


def _find_problem(item: Item, point: ReviewPoint, decision: PointDecision) -> str | None:
    if len(decision.reason) > LONGEST_REASON:
        return f"a reason can have at most {LONGEST_REASON} characters; this one has {len(decision.reason)}"
    if decision.verdict == "reject" and not decision.reason.strip():
        return "a rejection requires a reason"
    if (decision.verdict == "fix") != (decision.fix is not None):
        return "a new value is required for a fix, and allowed only for a fix"
    return _wrong_fix(item, point, decision) if decision.verdict == "fix" else None


def _wrong_fix(item: Item, point: ReviewPoint, decision: PointDecision) -> str | None:
    if point.kind in ("searchable", "known"):
        return "this point cannot be fixed; accept or reject it"
    values = decision.fix if isinstance(decision.fix, tuple) else (decision.fix or "",)
    if not values or not all(value.strip() for value in values):
        return "the fix is empty; reject the point to remove it"
    if sum(map(len, values)) > LONGEST_FIX:
        return f"the fix is longer than {LONGEST_FIX} characters"
    if (point.kind in ("answer", "fake")) != isinstance(decision.fix, tuple):
        return "an answer must be fixed with a list of aliases, and anything else with a text"
    if point.kind == "stance":
        return _wrong_stance(item, values[0], decision.part)
    return None if decision.part is None else "only a relevance label can have a part"


def _wrong_stance(item: Item, stance: str, part: int | None) -> str | None:
    if stance not in _STANCES:
        return f"{stance!r} is not a relevance label; choose one of {', '.join(_STANCES)}"
    if stance == "contradicts" and item.fake is None:
        return "a passage can contradict the answer only if the item has a false answer"
    has_parts = stance == "supports" and kind_of(item) == "integration"
    if has_parts != (part is not None):
        return (
            "specify which part of the answer the passage supports"
            if has_parts
            else "only a supporting passage can have a part"
        )
    if part is not None and not 0 <= part < len(item.answer):
        return f"part {part} does not exist; parts are numbered from 0 to {len(item.answer) - 1}"
    return None
