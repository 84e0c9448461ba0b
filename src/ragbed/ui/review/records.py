"""What is kept of a review: one JSON object a line, of three kinds; frozen records, no logic."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragbed.schema import Record

Verdict: TypeAlias = Literal["accept", "fix", "reject"]


class PointDecision(Record, frozen=True, kw_only=True):
    """What somebody says of one point of an item."""

    point: str
    """As `points` names it: `question`, `answer[0]`, `passages[3].stance`, …"""
    verdict: Verdict
    fix: str | tuple[str, ...] | None = None
    """What it should be: a text, or the aliases of a part of an answer."""
    part: int | None = None
    """Of a passage that is to support one part of an integration item: which, counted from 0."""
    reason: str = ""
    """Why it is rejected."""


class Begun(Record, frozen=True, kw_only=True, omit_defaults=False, tag="review", tag_field="line"):
    """How a review is done; the last such line holds."""

    at: str
    data: dict[str, str]
    """Each dataset's name and the hash of its file."""
    raters: Literal[1, 2] = 1
    """Two: every item is decided by both, neither seeing what the other said."""
    target: float = 0.05
    """The share of wrong items that the sample is to rule out."""
    seed: int = 0
    """Of the order in which items that nothing is known against are drawn."""


class Decided(Record, frozen=True, kw_only=True, tag="decide", tag_field="line"):
    """One act of one person on one item: some points, decided together."""

    act: str
    """Unlike that of any other act."""
    at: str
    rater: str
    item: str
    """Dataset and id: `en_base/en-base-0`."""
    digest: str
    """Of the item as it was when this was said."""
    said: tuple[PointDecision, ...]
    final: bool = False
    """Settles what two raters disagree on."""


class Undone(Record, frozen=True, kw_only=True, tag="undo", tag_field="line"):
    """An act taken back."""

    act: str
    at: str
    rater: str
    undoes: str


Line: TypeAlias = Begun | Decided | Undone
