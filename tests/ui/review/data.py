"""Small datasets to review: items of a fictional world, in which nothing is wrong but what is planted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from ragbed.builder.statements import spans_of
from ragbed.data.native import to_line
from ragbed.schema import Item, Lang
from ragbed.synth import SynthSpec, make_items
from ragbed.ui.review.log import Log, PointDecision, ReviewSettings
from ragbed.ui.review.queue import ReviewQueue, find_datasets, find_flags
from ragbed.ui.review.session import ReviewSession


@cache
def world(kind: str, count: int, lang: Lang = "en") -> tuple[Item, ...]:
    """Items of a kind: base, int or fact."""
    recipe = SynthSpec(seed=3, lang=lang, supports=3, distractors=3, true_documents=3, tokens=85, perturbations=())
    return tuple(map(_with_edits, make_items(recipe, kind, 0, count)))


def _with_edits(item: Item) -> Item:
    """The stretches that were edited, as a build has them."""
    if item.fake is None:
        return item
    fake = item.fake
    passages = (
        one if one.edit_of is None else replace(one, edits=spans_of(item, fake, one.text)) for one in item.passages
    )
    return replace(item, passages=tuple(passages))


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


def open_queue(folder: Path) -> ReviewQueue:
    """What is to be reviewed in a folder."""
    datasets, place = find_datasets(folder)
    place.mkdir(exist_ok=True)
    return ReviewQueue(datasets, find_flags(datasets, place, lambda *_: None))


def open_session(folder: Path, **how: object) -> ReviewSession:
    """A review of a folder, as `ragbed review` opens it but without its lock."""
    queue = open_queue(folder)
    settings: dict[str, object] = {"rater": "ada", **how}
    begun = ReviewSettings(at="2026-11-15T12:00:00.000+00:00", data=queue.data, **settings)  # type: ignore[arg-type]
    session = ReviewSession(queue, Log(folder / "review" / "decisions.jsonl"), begun)
    session.begin(begun)
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
    return session.queue.entries[key].points


def rejected(reason: str = "wrong") -> PointDecision:
    """A rejection of whatever it is put to."""
    return PointDecision(point="", verdict="reject", reason=reason)


def fixed(fix: str | tuple[str, ...], part: int | None = None) -> PointDecision:
    """A fix of whatever it is put to."""
    return PointDecision(point="", verdict="fix", fix=fix, part=part)
