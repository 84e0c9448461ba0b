"""Apply review decisions to an item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from ragbed.builder.counterfactuals import check_edit, check_fake
from ragbed.builder.statements import spans_of
from ragbed.data import kind_of
from ragbed.schema import Item, Passage, Stance
from ragbed.ui.review.points import ReviewPoint, is_edit, is_fatal, points_of
from ragbed.ui.review.records import PointDecision


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
