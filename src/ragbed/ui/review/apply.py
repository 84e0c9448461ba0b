"""Write the reviewed dataset with all fixes and without rejected items, and list every change and removal."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from ragbed.builder.quality import PLACE, Reviewed, ReviewSample
from ragbed.data import Dataset
from ragbed.data.native import to_line
from ragbed.errors import RagbedError, UsageError
from ragbed.io.jsonl import write_file, write_whole
from ragbed.schema import Reject
from ragbed.ui.review.figures import tally
from ragbed.ui.review.fixing import Fixed, fix_item
from ragbed.ui.review.state import DECIDED, ReviewState

REMOVED, CHANGED = PLACE.with_name("removed.jsonl"), PLACE.with_name("changed.jsonl")


class Change(Struct, frozen=True):
    """A change to one review point of an item, with the old and the new value."""

    item: str
    point: str
    was: object
    now: object


class Applied(Struct, frozen=True, kw_only=True):
    """The item counts after applying a review.

    `rejected` includes items that lost a required passage. `unreviewed` items are written unchanged.
    """

    items: int
    written: int
    accepted: int
    fixed: int
    rejected: int
    unreviewed: int
    passages_removed: int


def apply_review(state: ReviewState, folder: Path) -> Applied:
    """Write the reviewed dataset to a new folder.

    Raises:
        UsageError: The folder exists and is not empty.
    """
    _create(folder)
    counts: Counter[str] = Counter({"items": len(state.queue.entries)})
    with ExitStack() as stack:
        removed, changed = (stack.enter_context(write_whole(folder / name)) for name in (REMOVED, CHANGED))
        sinks = {name: stack.enter_context(write_whole(folder / f"{name}.jsonl")) for name in state.queue.data}
        for key, entry in state.queue.entries.items():
            done = _settle(state, key, counts)
            for where, reason in done.gone:
                what, outcome = (f"{key}/{where}", "passage") if where else (key, "item")
                reject = Reject(step="review", what=what, outcome=outcome, reason=reason)
                removed.write(msgspec.json.encode(reject) + b"\n")
            for point, was, now in done.changes:
                changed.write(msgspec.json.encode(Change(key, point, was, now)) + b"\n")
            if done.item is not None:
                counts["passages_removed"] += sum(bool(where) for where, _ in done.gone)
                counts["written"] += 1
                sinks[entry.data].write(to_line(done.item))
    for name in state.queue.data:
        if not (folder / f"{name}.jsonl").stat().st_size:
            (folder / f"{name}.jsonl").unlink()  # A dataset without items is not valid.
    _write_summary(folder, state)
    return Applied(**{name: counts[name] for name in Applied.__struct_fields__})


def _create(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty. Choose a new or empty folder.")
    try:
        (folder / PLACE).parent.mkdir(parents=True)
    except OSError as error:
        raise RagbedError(f"{folder} cannot be created: {error.strerror}. Choose another folder.") from error


def _settle(state: ReviewState, key: str, counts: Counter[str]) -> Fixed:
    """Return an item's review result, and update the counts."""
    item, reviewed = state.queue.read(key), state.of(key)
    if reviewed.state not in DECIDED:
        counts["unreviewed"] += 1
        return Fixed(item)
    done = fix_item(item, reviewed.sheet)
    counts["rejected" if done.item is None else reviewed.state] += 1
    return done


def _write_summary(folder: Path, state: ReviewState) -> None:
    """Write the counts shown in the quality report."""
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
        for one in tally(state)
        if (folder / f"{one.data}.jsonl").exists()
    }
    reviewed = Reviewed(rater=state.settings.rater, datasets=datasets)
    write_file(folder / PLACE, msgspec.json.format(msgspec.json.encode(reviewed), indent=1) + b"\n")
