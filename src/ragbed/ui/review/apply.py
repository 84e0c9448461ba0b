"""The reviewed dataset: rejected items gone, fixes made, every removal and change listed, and the counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.quality.review_results import PLACE, Reviewed, ReviewSample
from ragbed.data import Dataset
from ragbed.data.native import to_line
from ragbed.errors import RagbedError, UsageError
from ragbed.io.jsonl import write_whole
from ragbed.schema import Item, Reject
from ragbed.ui.review.figures import concord, tally
from ragbed.ui.review.fixing import Fixed, fix_item
from ragbed.ui.review.state import ReviewState

_COUNTED = ("written", "accepted", "fixed", "rejected", "unsettled", "unreviewed", "passages_removed")
REMOVED, CHANGED = PLACE.with_name("removed.jsonl"), PLACE.with_name("changed.jsonl")


class Change(Struct, frozen=True):
    """Something that is no longer what it was."""

    item: str
    point: str
    was: object
    now: object


class Applied(Struct, frozen=True, kw_only=True):
    """What came of a review."""

    items: int
    """That were there."""
    written: int
    accepted: int
    fixed: int
    rejected: int
    """By people, or because nothing was left that could be asked."""
    unsettled: int
    """Left out because two raters differ."""
    unreviewed: int
    """Written as they were."""
    passages_removed: int


def apply_review(standing: ReviewState, folder: Path) -> Applied:
    """Writes the dataset into a folder of its own.

    Raises:
        UsageError: The folder is there and is not empty.
    """
    _make_room(folder)
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        removed, changed = (stack.enter_context(write_whole(folder / name)) for name in (REMOVED, CHANGED))
        sinks = {name: stack.enter_context(write_whole(folder / f"{name}.jsonl")) for name in standing.docket.data}
        for key, entry in standing.docket.entries.items():
            done = _settle(standing, key, counts)
            for gone in _removals(key, done):
                removed.write(msgspec.json.encode(gone) + b"\n")
            for point, was, now in done.changes:
                changed.write(msgspec.json.encode(Change(key, point, was, now)) + b"\n")
            counts["passages_removed"] += sum(bool(where) for where, _ in done.gone) if done.item else 0
            if done.item is not None:
                counts["written"] += 1
                sinks[entry.data].write(to_line(done.item))
    for name in standing.docket.data:
        if not (folder / f"{name}.jsonl").stat().st_size:
            (folder / f"{name}.jsonl").unlink()  # a dataset without items is none
    applied = Applied(items=len(standing.docket.entries), **{name: counts[name] for name in _COUNTED})
    _write_summary(folder, standing)
    return applied


def _make_room(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already; name a folder that is not, or is empty.")
    try:
        (folder / PLACE).parent.mkdir(parents=True)
    except OSError as error:
        raise RagbedError(f"{folder} cannot be made: {error.strerror}.") from error


def _settle(standing: ReviewState, key: str, counts: Counter[str]) -> Fixed:
    """What becomes of an item."""
    item: Item = standing.docket.read(key)
    one = standing.of(key)
    if one.state == "disagreed":
        counts["unsettled"] += 1
        reason = f"two raters differ on {', '.join(one.differing)}, and nobody has settled it"
        return Fixed(None, gone=[("", reason)], why="unsettled")
    if one.state in ("open", "begun", "waiting"):
        counts["unreviewed"] += 1
        return Fixed(item)
    done = fix_item(item, one.settled)
    counts["rejected" if done.item is None else one.state] += 1
    return done


def _removals(key: str, done: Fixed) -> Iterator[Reject]:
    for where, reason in done.gone:
        outcome = "passage" if where else done.why
        yield Reject(step="review", what=f"{key}/{where}" if where else key, outcome=outcome, reason=reason)


def _write_summary(folder: Path, standing: ReviewState) -> None:
    """For the quality report, and for who wants to cite it."""
    datasets = {
        one.data: ReviewSample(
            sha256=Dataset(one.data, folder / f"{one.data}.jsonl").sha256(),
            items=one.items,
            flagged=one.flagged,
            flagged_done=one.flagged_done,
            drawn=one.drawn,
            sampled=one.sampled,
            wrong=one.wrong,
        )
        for one in tally(standing)
        if (folder / f"{one.data}.jsonl").exists()
    }
    kappa = next((one.kappa.value for one in concord(standing) if one.kind == "item"), None)
    reviewed = Reviewed(
        people=tuple(standing.raters),
        raters=standing.begun.raters,
        kappa=kappa if kappa is None or math.isfinite(kappa) else None,
        datasets=datasets,
    )
    with write_whole(folder / PLACE) as sink:
        sink.write(msgspec.json.format(msgspec.json.encode(reviewed), indent=1) + b"\n")
