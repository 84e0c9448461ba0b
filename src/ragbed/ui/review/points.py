"""What there is to decide about an item: one point for each thing that can be right or wrong by itself.

A point is named by the field that it is about, or by a word for what no field says:

| Point | Accepted | Fixed by | Rejected |
|---|---|---|---|
| `question` | it is clear and can be asked by itself | another wording | the item goes |
| `searchable` | a search finds pages that answer it (paper, Data construction) | – | the item goes |
| `known` | known or unknown, as its kind requires | – | the item goes |
| `answer[0]` | it and all its aliases are right | other aliases | the item goes |
| `fake[0]` | it is false, and of the same kind | other aliases | the item goes |
| `passages[3].stance` | it stands so to the answer | another stance | the passage goes |
| `passages[8].text` | edited passage: nothing true is left in it | another text | the passage goes |
| `passages[8].edits[0]` | the false answer fits in here | other words there | the passage goes |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbed.data import kind_of
from ragbed.errors import UsageError
from ragbed.schema import Item, Passage
from ragbed.ui.review.records import PointDecision

Kind: TypeAlias = Literal["question", "searchable", "known", "answer", "fake", "stance", "text", "edit"]
FATAL: frozenset[Kind] = frozenset({"question", "searchable", "known", "answer", "fake"})
"""Without these an item is none; without a passage it may still be one."""
LONGEST_REASON = 500
LONGEST_FIX = 20_000
_STANCES = ("supports", "distracts", "contradicts")
_NAMES: dict[Kind, re.Pattern[str]] = {
    "question": re.compile("question"),
    "searchable": re.compile("searchable"),
    "known": re.compile("known"),
    "answer": re.compile(r"answer\[\d+\]"),
    "fake": re.compile(r"fake\[\d+\]"),
    "stance": re.compile(r"passages\[\d+\]\.stance"),
    "text": re.compile(r"passages\[\d+\]\.text"),
    "edit": re.compile(r"passages\[\d+\]\.edits\[\d+\]"),
}


@dataclass(frozen=True)
class ReviewPoint:
    """Something to decide."""

    name: str
    kind: Kind
    index: int = 0
    """Which part of the answer, or which passage."""
    span: int = 0
    """Which edited stretch of it."""


def points_of(item: Item) -> list[ReviewPoint]:
    """Everything to decide about an item, in the order in which it is read."""
    points = [
        ReviewPoint("question", "question"),
        ReviewPoint("searchable", "searchable"),
        ReviewPoint("known", "known"),
    ]
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
    """Whether a passage was made by putting a false answer into a true one."""
    return passage.edit_of is not None


def kind_of_point(name: str) -> Kind:
    """The kind of a point, by its name."""
    return next(kind for kind, pattern in _NAMES.items() if pattern.fullmatch(name))


def check_said(item: Item, said: Iterable[PointDecision]) -> None:
    """Refuses what cannot be said of an item.

    Raises:
        UsageError: There is no such point, or the fix is none.
    """
    points = {point.name: point for point in points_of(item)}
    for one in said:
        if one.point not in points:
            raise UsageError(f"{item.id} has no point {one.point!r}.")
        _check(item, points[one.point], one)


def _check(item: Item, point: ReviewPoint, said: PointDecision) -> None:
    if len(said.reason) > LONGEST_REASON:
        raise UsageError(f"a reason has at most {LONGEST_REASON} characters; {said.point} has {len(said.reason)}.")
    if said.verdict == "reject" and not said.reason.strip():
        raise UsageError(f"say why {said.point} is rejected.")
    if (said.verdict == "fix") != (said.fix is not None):
        raise UsageError(f"{said.point}: a fix, and nothing else, says what it should be.")
    if said.verdict == "fix" and (problem := _wrong_fix(item, point, said)):
        raise UsageError(f"{said.point}: {problem}.")


def _wrong_fix(item: Item, point: ReviewPoint, said: PointDecision) -> str | None:
    if point.kind in ("searchable", "known"):
        return "this is so or is not; accept it, or reject it"
    told = said.fix if isinstance(said.fix, tuple) else (said.fix or "",)
    if not told or not all(one.strip() for one in told):
        return "the fix is empty; reject what should go"
    if sum(map(len, told)) > LONGEST_FIX:
        return f"the fix is longer than {LONGEST_FIX} characters"
    if (point.kind in ("answer", "fake")) != isinstance(said.fix, tuple):
        return "answers are fixed by a list of aliases, everything else by a text"
    if point.kind == "stance":
        return _wrong_stance(item, told[0], said.part)
    return None if said.part is None else "only a stance has a part"


def _wrong_stance(item: Item, stance: str, part: int | None) -> str | None:
    if stance not in _STANCES:
        return f"{stance!r} is no stance; there are {', '.join(_STANCES)}"
    if stance == "contradicts" and item.fake is None:
        return "only items with a false answer have passages that contradict"
    has_parts = stance == "supports" and kind_of(item) == "integration"
    if has_parts != (part is not None):
        return "say which part of the answer it supports" if has_parts else "only what supports a part has one"
    if part is not None and not 0 <= part < len(item.answer):
        return f"there is no part {part}; they are counted from 0 to {len(item.answer) - 1}"
    return None
