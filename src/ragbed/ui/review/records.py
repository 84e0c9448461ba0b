"""The stored records of a review, one JSON object per line."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragbed.schema import Record

Verdict: TypeAlias = Literal["accept", "fix", "reject"]


class PointDecision(Record, frozen=True, kw_only=True):
    """A decision on one point of an item.

    `fix` is the new value: text, or the aliases of an answer part. `part` is the index, from 0, of the answer part that
    a passage of an integration item supports. `reason` says why the point is rejected.
    """

    point: str
    verdict: Verdict
    fix: str | tuple[str, ...] | None = None
    part: int | None = None
    reason: str = ""


class ReviewSettings(Record, frozen=True, kw_only=True, omit_defaults=False, tag="review", tag_field="line"):
    """The settings of a review; the last settings line in the log applies.

    `data` has the hash of each dataset, and `rater` is the name of the person who makes all decisions. `target` is the
    share of wrong items to rule out, and `seed` determines the random order.
    """

    at: str
    data: dict[str, str]
    rater: str
    target: float = 0.05
    seed: int = 0


class Decided(Record, frozen=True, kw_only=True, tag="decide", tag_field="line"):
    """Decisions on an item, submitted together.

    `act` is a unique ID, `item` is the dataset and the item's ID, and `digest` is the item's hash at that time.
    """

    act: str
    at: str
    item: str
    digest: str
    said: tuple[PointDecision, ...]


class Undone(Record, frozen=True, kw_only=True, tag="undo", tag_field="line"):
    """The withdrawal of a decision; `undoes` is its ID."""

    at: str
    undoes: str


Line: TypeAlias = ReviewSettings | Decided | Undone
