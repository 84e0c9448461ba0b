"""Apply review decisions: write the reviewed dataset with all fixes, and list every change and removal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.quality import PLACE, Reviewed, ReviewSample
from ragbed.builder.statements import spans_of
from ragbed.data import Dataset, kind_of
from ragbed.data.native import to_line
from ragbed.errors import RagbedError, UsageError
from ragbed.io.jsonl import write_file, write_whole
from ragbed.schema import Item, Passage, Reject, Stance
from ragbed.ui.review.log import PointDecision
from ragbed.ui.review.points import ReviewPoint, is_edit, is_fatal, points_of
from ragbed.ui.review.state import DECIDED, ReviewState, tally


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
    fatal = [sheet[point.name] for point in points_of(item) if is_fatal(point.name) and point.name in sheet]
    if rejected := [decision for decision in fatal if decision.verdict == "reject"]:
        return Fixed(None, gone=[("", "; ".join(f"{one.point}: {one.reason}" for one in rejected))])
    done = Fixed(item)
    changed = _fix_texts(item, sheet, done)
    passages = _fix_passages(changed, sheet, done)
    if not done.changes and not done.gone:
        return done
    # The original RGB record no longer matches the item.
    done.item = replace(changed, passages=passages, rgb=None)
    if problem := _find_problem(item, done.item):
        return Fixed(None, gone=[*done.gone, ("", problem)])
    return done


def doubt_fixes(item: Item, decisions: Iterable[PointDecision]) -> list[str]:
    """Return the builder's warnings about fixes to false answers and edits. The rater may overrule warnings."""
    sheet = {one.point: one for one in decisions}
    fixes = {point: one for point, one in sheet.items() if one.verdict == "fix"}
    gone = {point.partition(".")[0] for point, one in sheet.items() if one.verdict == "reject"}
    fixed = fix_item(item, fixes).item if fixes else None
    if fixed is None or fixed.fake is None:
        return []
    doubts = []
    has_new_answer = (fixed.answer, fixed.fake) != (item.answer, item.fake)
    if has_new_answer:
        doubts += [f"fake: {fault}" for fault in check_fake(fixed, fixed.fake)]
    for index, passage in enumerate(fixed.passages):
        is_new = has_new_answer or passage not in item.passages
        if passage.edit_of is not None and is_new and f"passages[{index}]" not in gone:
            faults = check_edit(fixed, fixed.fake, fixed.passages[passage.edit_of].text, passage.text)
            doubts += [f"passages[{index}]: {fault}" for fault in faults]
    return doubts


def _fix_texts(item: Item, sheet: Mapping[str, PointDecision], done: Fixed) -> Item:
    answers = {"answer": list(item.answer), "fake": list(item.fake or ())}
    question = item.question
    for point in points_of(item):
        fix = _fix_of(point, sheet)
        if point.kind == "question" and isinstance(fix, str):
            done.changes.append((point.name, question, fix))
            question = fix
        elif point.kind in answers and isinstance(fix, tuple):
            done.changes.append((point.name, answers[point.kind][point.index], fix))
            answers[point.kind][point.index] = fix
    fake = tuple(answers["fake"]) if item.fake is not None else None
    return replace(item, question=question, answer=tuple(answers["answer"]), fake=fake)


def _fix_passages(item: Item, sheet: Mapping[str, PointDecision], done: Fixed) -> tuple[Passage, ...]:
    """Return the passages to keep, with fixes applied; each edited passage still refers to its original."""
    points: dict[int, list[ReviewPoint]] = {}
    for point in points_of(item):
        if not is_fatal(point.name):
            points.setdefault(point.index, []).append(point)
    made = {index: _fix_passage(item, index, points[index], sheet, done) for index in range(len(item.passages))}
    for index, passage in made.items():
        original = made[passage.edit_of] if passage and passage.edit_of is not None else passage
        if passage is not None and (original is None or (is_edit(passage) and original.stance != "supports")):
            cause = "was removed" if original is None else "no longer supports the answer"
            done.gone.append(
                (f"passages[{index}]", f"passages[{passage.edit_of}], the original of this edited passage, {cause}")
            )
            made[index] = None
    kept = {index: passage for index, passage in made.items() if passage is not None}
    new_index = {old: new for new, old in enumerate(kept)}
    return tuple(
        passage if passage.edit_of is None else replace(passage, edit_of=new_index[passage.edit_of])
        for passage in kept.values()
    )


def _fix_passage(
    item: Item, index: int, points: list[ReviewPoint], sheet: Mapping[str, PointDecision], done: Fixed
) -> Passage | None:
    passage = item.passages[index]
    for point in points:
        decision = sheet.get(point.name)
        if decision is not None and decision.verdict == "reject":
            done.gone.append((f"passages[{index}]", f"{point.name.partition('.')[2]}: {decision.reason}"))
            return None
    fixes = [(point, fix) for point in points if isinstance(fix := _fix_of(point, sheet), str)]
    if any(point.kind == "text" for point, _ in fixes):  # The old edited spans do not apply to a new text.
        fixes = [(point, fix) for point, fix in fixes if point.kind == "text"]
    for point, fix in reversed(fixes):  # Replace from the end, so that earlier offsets stay valid.
        if point.kind == "stance":
            was: str = passage.stance
            passage = _set_stance(passage, fix, sheet[point.name].part)
        elif point.kind == "text":
            was = passage.text
            passage = replace(passage, text=fix, edits=spans_of(item, item.fake or (), fix), support=None)
        else:
            was = passage.text[slice(*passage.edits[point.span])]
            passage = _replace_span(passage, point.span, fix)
        done.changes.append((point.name, was, fix))
    return passage


def _fix_of(point: ReviewPoint, sheet: Mapping[str, PointDecision]) -> str | tuple[str, ...] | None:
    decision = sheet.get(point.name)
    return decision.fix if decision is not None and decision.verdict == "fix" else None


def _replace_span(passage: Passage, number: int, words: str) -> Passage:
    """Replace an edited span and shift the spans after it."""
    start, end = passage.edits[number]
    shift = len(words) - (end - start)
    edits = tuple(
        (start, start + len(words)) if place == number
        else (left + shift, right + shift) if left >= end
        else (left, right)
        for place, (left, right) in enumerate(passage.edits)
    )  # fmt: skip
    text = passage.text[:start] + words + passage.text[end:]
    return replace(passage, text=text, edits=edits, support=None)


def _set_stance(passage: Passage, name: str, part: int | None) -> Passage:
    stance: Stance = "supports" if name == "supports" else "contradicts" if name == "contradicts" else "distracts"
    # Reset the kind, because it was a subtype of the old label.
    return replace(passage, stance=stance, part=part, support=None, kind="related", reviewed=True)


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
