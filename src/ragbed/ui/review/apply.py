"""Apply review decisions: write the reviewed dataset with all fixes, and list every change and removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragbed.builder.quality import PLACE, Reviewed, ReviewSample
from ragbed.builder.statements import spans_of
from ragbed.data import Dataset, kind_of
from ragbed.data.native import to_line
from ragbed.errors import UsageError
from ragbed.io.jsonl import make_folder, write_file, write_whole
from ragbed.schema import Item, Passage, Reject
from ragbed.ui.review.items import DECIDED, is_fatal, point_of
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.session import ReviewSession, tally

REMOVED, CHANGED = PLACE.with_name("removed.jsonl"), PLACE.with_name("changed.jsonl")


@dataclass
class Fixed:
    """The review result for an item.

    `item` is None if it was removed. `changes` lists each changed point with its old and new value. `gone` lists each
    removed passage with the reason, or only the reason if the item was removed.
    """

    item: Item | None
    changes: list[tuple[str, object, object]] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)


def fix_item(item: Item, sheet: Mapping[str, PointDecision]) -> Fixed:
    """Apply decisions to an item; the item is removed if it cannot be used without its rejected passages."""
    rejected = [one for name, one in sheet.items() if is_fatal(name) and one.verdict == "reject"]
    if rejected:
        return Fixed(None, gone=[("", "; ".join(f"{one.point}: {one.reason}" for one in rejected))])
    done = Fixed(item)

    def fixed(name: str, was: object) -> Any:  # noqa: ANN401 - a text or the aliases of an answer
        decision = sheet.get(name)
        if decision is None or decision.fix is None:
            return was
        done.changes.append((name, was, decision.fix))
        return decision.fix

    changed = replace(
        item,
        question=fixed("question", item.question),
        answer=tuple(fixed(f"answer[{part}]", forms) for part, forms in enumerate(item.answer)),
        fake=item.fake and tuple(fixed(f"fake[{part}]", forms) for part, forms in enumerate(item.fake)),
    )
    made: dict[int, Passage] = {}
    for index, passage in enumerate(item.passages):
        point = point_of(index, passage)
        decision = sheet.get(point.name)
        if decision is not None and decision.verdict == "reject":
            done.gone.append((f"passages[{index}]", f"{point.kind}: {decision.reason}"))
        elif decision is None or decision.fix is None:
            made[index] = passage
        elif point.kind == "text":
            text = fixed(point.name, passage.text)
            made[index] = replace(passage, text=text, edits=spans_of(changed, changed.fake or (), text), support=None)
        else:  # Reset the kind, because it was a subtype of the old label.
            stance = fixed(point.name, passage.stance)
            made[index] = replace(
                passage, stance=stance, part=decision.part, support=None, kind="related", reviewed=True
            )
    kept = _drop_orphans(made, done)
    if not done.changes and not done.gone:
        return done
    new_index = {old: new for new, old in enumerate(kept)}
    passages = tuple(
        passage if passage.edit_of is None else replace(passage, edit_of=new_index[passage.edit_of])
        for passage in kept.values()
    )
    done.item = replace(changed, passages=passages, rgb=None)  # The original RGB record no longer matches the item.
    if problem := _find_problem(item, done.item):
        return Fixed(None, gone=[*done.gone, ("", problem)])
    return done


def _drop_orphans(made: Mapping[int, Passage], done: Fixed) -> dict[int, Passage]:
    """Return the passages without the edited ones whose original was removed or no longer supports the answer."""
    kept = {}
    for index, passage in made.items():
        original = passage if passage.edit_of is None else made.get(passage.edit_of)
        if original is None or (passage.edit_of is not None and original.stance != "supports"):
            cause = "was removed" if original is None else "no longer supports the answer"
            reason = f"passages[{passage.edit_of}], the original of this edited passage, {cause}"
            done.gone.append((f"passages[{index}]", reason))
        else:
            kept[index] = passage
    return kept


def _find_problem(before: Item, after: Item) -> str | None:
    """Return the reason why an item can no longer be used, or None if it can."""
    stances = [passage.stance for passage in after.passages]
    if "supports" not in stances:
        return "no supporting passage remains"
    if kind_of(before) == "integration":
        parts = {passage.part for passage in after.passages if passage.stance == "supports"}
        if missing := [part for part in range(len(after.answer)) if part not in parts]:
            return f"no remaining passage supports part {missing[0]}"
    if kind_of(before) == "counterfactual" and "contradicts" not in stances:
        return "no remaining passage gives the false answer"
    return None


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


def apply_review(session: ReviewSession, folder: Path) -> Applied:
    """Write the reviewed dataset to a new folder.

    Raises:
        UsageError: The folder exists and is not empty.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty. Choose a new or empty folder.")
    make_folder((folder / PLACE).parent)
    counts: Counter[str] = Counter({"items": len(session.items)})
    with ExitStack() as stack:
        removed, changed = (stack.enter_context(write_whole(folder / name)) for name in (REMOVED, CHANGED))
        names = {item.data for item in session.items.values()}
        sinks = {name: stack.enter_context(write_whole(folder / f"{name}.jsonl")) for name in sorted(names)}
        for key, reviewed in sorted(session.items.items(), key=lambda pair: pair[1].place):
            is_decided = reviewed.state in DECIDED
            done = fix_item(reviewed.item, reviewed.sheet) if is_decided else Fixed(reviewed.item)
            counts["rejected" if done.item is None else reviewed.state if is_decided else "unreviewed"] += 1
            for where, reason in done.gone:
                what, outcome = (f"{key}/{where}", "passage") if where else (key, "item")
                reject = Reject(step="review", what=what, outcome=outcome, reason=reason)
                removed.write(msgspec.json.encode(reject) + b"\n")
            for point, was, now in done.changes:
                changed.write(msgspec.json.encode({"item": key, "point": point, "was": was, "now": now}) + b"\n")
            if done.item is not None:
                counts["passages_removed"] += sum(bool(where) for where, _ in done.gone)
                counts["written"] += 1
                sinks[reviewed.data].write(to_line(done.item))
    datasets: dict[str, ReviewSample] = {}
    for one in tally(session):
        path = folder / f"{one.data}.jsonl"
        if path.stat().st_size:
            datasets[one.data] = replace(one, sha256=Dataset(one.data, path).sha256())
        else:
            path.unlink()  # A dataset without items is not valid.
    reviewed_data = msgspec.json.encode(Reviewed(rater=session.rater, datasets=datasets))
    write_file(folder / PLACE, msgspec.json.format(reviewed_data, indent=1) + b"\n")
    return Applied(**{name: counts[name] for name in Applied.__struct_fields__})
