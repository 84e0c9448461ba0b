"""The items under review, from a build or a single dataset, with their flags and the points to decide.

A review point is a property that can be right or wrong independently of the others:

| Point | Accepted | Fixed by | Rejected |
|---|---|---|---|
| `question` | it is clear without context | another wording | the item is removed |
| `answer[0]` | it and all its aliases are right | other aliases | the item is removed |
| `fake[0]` | it is false, and of the same kind as the answer | other aliases | the item is removed |
| `passages[3].stance` | its relevance label is right | another label | the passage is removed |
| `passages[8].text` | edited passage: it gives only the false answer | another text | the passage is removed |
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from ragbed.analysis.linting import DatasetCheck, choose_rules
from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.statements import STANCES, label_again
from ragbed.data import Dataset, kind_of
from ragbed.data.native import to_line
from ragbed.errors import UsageError
from ragbed.io.locations import place_inside
from ragbed.schema import Item, Passage
from ragbed.text import storable_name
from ragbed.ui.review.log import Decided, PointDecision

# The `ragbed lint` rules that a reviewer can confirm or overrule; all other rules concern the file format.
LINTED = (
    "gold-in-negative", "gold-part-in-negative", "positive-without-gold", "gold-in-edit", "edit-without-fake",
    "cross-label-duplicate", "duplicate-question",
)  # fmt: skip
_DIGITS = 16
_STANCES = ("supports", "distracts", "contradicts")

Kind: TypeAlias = Literal["question", "answer", "fake", "stance", "text"]
State: TypeAlias = Literal["open", "begun", "accepted", "fixed", "rejected"]
DECIDED: frozenset[State] = frozenset({"accepted", "fixed", "rejected"})


class Flag(Struct, frozen=True):
    """A possible error in an item; `where` names the field, as in `ragbed lint`, or is empty for the whole item."""

    rule: str
    where: str
    message: str


class ReviewPoint(Struct, frozen=True):
    """A review point; `index` identifies the answer part or passage."""

    name: str
    kind: Kind
    index: int = 0


@dataclass
class ReviewItem:
    """An item under review.

    Attributes:
        data: Name of its dataset.
        place: Its position in the files.
        decisions: The decisions on it, in the order in which they were made.
    """

    data: str
    place: int
    item: Item
    flags: tuple[Flag, ...]
    decisions: list[Decided] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The dataset and the item's ID."""
        return f"{self.data}/{self.item.id}"

    @cached_property
    def digest(self) -> str:
        """A hash of the item."""
        return hashlib.sha256(to_line(self.item)).hexdigest()[:_DIGITS]

    @property
    def sheet(self) -> dict[str, PointDecision]:
        """The decisions in effect, by point."""
        return {one.point: one for decided in self.decisions for one in decided.said}

    @property
    def state(self) -> State:
        """The state that follows: an item is decided if every point is, or if a decision removes the item."""
        sheet = self.sheet
        if not sheet:
            return "open"
        if any(one.verdict == "reject" and is_fatal(point) for point, one in sheet.items()):
            return "rejected"
        if any(point.name not in sheet for point in points_of(self.item)):
            return "begun"
        return "accepted" if all(one.verdict == "accept" for one in sheet.values()) else "fixed"


def find_datasets(path: Path) -> tuple[list[Dataset], Path]:
    """Return the datasets at a path, and the folder next to them in which their review is stored.

    Raises:
        UsageError: There is no dataset, or the review's folder is a symbolic link.
    """
    if path.is_file():
        return [Dataset(storable_name(path.stem), path)], place_inside(path.parent, f"{path.stem}.review")
    if not path.is_dir():
        raise UsageError(f"{path} does not exist. Choose a build folder or a dataset (*.jsonl).")
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{path} contains no dataset (*.jsonl). Choose a build folder or a dataset.")
    return [Dataset(storable_name(file.stem), file) for file in files], place_inside(path, "review")


def read_items(datasets: Sequence[Dataset], watch: Callable[[str, int], None]) -> dict[str, ReviewItem]:
    """Return the items by key in review order: flagged ones, then random ones from each dataset in turn.

    A dataset's random order depends only on its own items. Its first n items are a simple random sample of the
    unflagged items, as the bound on wrong items requires.

    Args:
        datasets: Datasets to review.
        watch: Called with the name of a dataset and the number of items checked for flags so far.
    """
    rules = choose_rules(LINTED, ())
    flagged: list[ReviewItem] = []
    drawn: list[list[ReviewItem]] = []
    count = 0
    for dataset in datasets:
        # Each dataset is checked separately, because a build contains some questions twice, with different passages.
        linted: dict[str | None, list[Flag]] = defaultdict(list)
        for finding in DatasetCheck(dataset, rules).findings():
            linted[finding.item].append(Flag(finding.rule, finding.where, finding.message))
        plain: list[ReviewItem] = []
        for number, item in enumerate(dataset.items(), 1):
            if item.expect is not None:
                raise UsageError(f"{dataset.path} has given documents, which `ragbed review` cannot change.")
            count += 1
            flags = (*linted.get(item.id, ()), *flag_item(item))
            (flagged if flags else plain).append(ReviewItem(dataset.name, count, item, flags))
            watch(dataset.name, number)
        drawn.append(sorted(plain, key=lambda one: hashlib.sha256(f"0\0{one.key}".encode()).digest()))
    return {one.key: one for one in (*flagged, *chain.from_iterable(zip_longest(*drawn))) if one is not None}


def flag_item(item: Item) -> Iterator[Flag]:
    """Yield the problems that the builder's rules find in an item's labels, false answers and edits."""
    if item.fake is not None:
        for fault in check_fake(item, item.fake):
            yield Flag("false-answer", "fake", fault)
    for index, passage in enumerate(item.passages):
        where = f"passages[{index}]"
        if item.fake is not None and passage.edit_of is not None:
            for fault in check_edit(item, item.fake, item.passages[passage.edit_of].text, passage.text):
                yield Flag("edit", where, fault)
        elif passage.stance != "contradicts":
            found = label_again(item, passage)
            if STANCES[found.label] != passage.stance:
                yield Flag(
                    "label", where, f"the rules assign the label {found.label}, not {passage.stance}: {found.reason}"
                )


def points_of(item: Item) -> list[ReviewPoint]:
    """Return an item's review points in reading order."""
    points = [ReviewPoint("question", "question")]
    points += [ReviewPoint(f"answer[{part}]", "answer", part) for part in range(len(item.answer))]
    points += [ReviewPoint(f"fake[{part}]", "fake", part) for part in range(len(item.fake or ()))]
    return points + [point_of(index, passage) for index, passage in enumerate(item.passages)]


def point_of(index: int, passage: Passage) -> ReviewPoint:
    """Return the review point of a passage: the text if it was edited, otherwise the label."""
    kind: Kind = "stance" if passage.edit_of is None else "text"
    return ReviewPoint(f"passages[{index}].{kind}", kind, index)


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
    fix, part = decision.fix, decision.part
    values = fix if isinstance(fix, tuple) else () if fix is None else (fix,)
    label = values[0] if point.kind == "stance" and values else None
    has_parts = label == "supports" and kind_of(item) == "integration"
    checks = (
        (decision.verdict == "reject" and not decision.reason.strip(), "a rejection requires a reason"),
        ((decision.verdict == "fix") != (fix is not None), "a new value is required for a fix, and only for a fix"),
        (
            fix is not None and not (values and all(map(str.strip, values))),
            "the fix is empty; reject the point instead",
        ),
        (
            fix is not None and (point.kind in ("answer", "fake")) != isinstance(fix, tuple),
            "an answer must be fixed with a list of aliases, and anything else with a text",
        ),
        (label is not None and label not in _STANCES, f"{label!r} is none of {', '.join(_STANCES)}"),
        (label == "contradicts" and item.fake is None, "the item has no false answer that a passage could give"),
        (has_parts == (part is None), "a supporting passage of an integration item, and nothing else, has a part"),
        (part is not None and not 0 <= part < len(item.answer), f"part {part} does not exist"),
    )
    return next((problem for is_wrong, problem in checks if is_wrong), None)
