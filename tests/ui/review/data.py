"""Small datasets to review: items of a fictional world, in which nothing is wrong but what is planted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from ragbed.data.native import to_line
from ragbed.schema import Item, Lang
from ragbed.synth import SynthSpec, make_items
from ragbed.ui.review.items import points_of
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.session import ReviewSession, open_review


@cache
def world(kind: str, count: int, lang: Lang = "en") -> tuple[Item, ...]:
    """Items of a kind: base, int or fact."""
    recipe = SynthSpec(seed=3, lang=lang, supports=3, distractors=3, true_documents=3, tokens=85, perturbations=())
    return tuple(make_items(recipe, kind, 0, count))


def planted(item: Item) -> Item:
    """The item with a supporting passage among those that distract: something to flag."""
    place = next(index for index, one in enumerate(item.passages) if one.stance == "distracts")
    true = next(one for one in item.passages if one.stance == "supports")
    false = replace(true, stance="distracts", support=None, text=f"{true.text} Nothing more is known.")
    return replace(item, passages=(*item.passages[:place], false, *item.passages[place + 1 :]))


def write_data(folder: Path, **datasets: Sequence[Item]) -> Path:
    """A folder with these files of items."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in datasets.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(map(to_line, items)))
    return folder


def open_session(folder: Path, rater: str = "ada", target: float | None = None) -> ReviewSession:
    """A review of a folder, as `ragbed review` opens it but without its lock."""
    with open_review(folder, rater=rater, target=target, writes=False) as session:
        return session


def accepted(session: ReviewSession, key: str, **others: PointDecision) -> list[PointDecision]:
    """Everything accepted, but for some points, by their names with `_` for what is no letter or digit."""
    names = {
        "".join(letter if letter.isalnum() else "_" for letter in name).strip("_"): name
        for name in points(session, key)
    }
    said = {name: PointDecision(point=name, verdict="accept") for name in points(session, key)}
    for short, one in others.items():
        said[names[short]] = replace(one, point=names[short])
    return list(said.values())


def points(session: ReviewSession, key: str) -> tuple[str, ...]:
    """The names of what there is to decide about an item."""
    return tuple(point.name for point in points_of(session.items[key].item))


def rejected(reason: str = "wrong") -> PointDecision:
    """A rejection of whatever it is put to."""
    return PointDecision(point="", verdict="reject", reason=reason)


def fixed(fix: str | tuple[str, ...], part: int | None = None) -> PointDecision:
    """A fix of whatever it is put to."""
    return PointDecision(point="", verdict="fix", fix=fix, part=part)
