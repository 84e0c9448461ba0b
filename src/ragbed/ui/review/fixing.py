"""Item × what was said of it → the item that comes of it, what was changed and what went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec.structs import replace

from ragbed.builder.edits import check_edit, check_fake, find_fake
from ragbed.data import kind_of
from ragbed.schema import Item, Passage, Stance
from ragbed.ui.review.points import FATAL, ReviewPoint, is_edit, points_of
from ragbed.ui.review.records import PointDecision


@dataclass
class Fixed:
    """What becomes of an item."""

    item: Item | None
    """None: it goes."""
    changes: list[tuple[str, object, object]] = field(default_factory=list)
    """The point, what it was and what it is."""
    gone: list[tuple[str, str]] = field(default_factory=list)
    """Passages that went, and why; of an item that goes, only why."""
    why: Literal["item", "unsettled"] = "item"
    """Of an item that goes: it was rejected, or nobody settled what two raters differ on."""


def fix_item(item: Item, sheet: Mapping[str, PointDecision]) -> Fixed:
    """Does what was said; an item that is none any more without its rejected passages goes too."""
    fatal = [sheet[point.name] for point in points_of(item) if point.kind in FATAL and point.name in sheet]
    if against := [said for said in fatal if said.verdict == "reject"]:
        return Fixed(None, gone=[("", "; ".join(f"{said.point}: {said.reason}" for said in against))])
    done = Fixed(item)
    changed = _fix_texts(item, sheet, done)
    passages = _fix_passages(changed, sheet, done)
    if not done.changes and not done.gone:
        return done
    # What an RGB record spelled is not what it says now.
    done.item = replace(changed, passages=passages, rgb=None)
    if lack := _find_lack(item, done.item):
        return Fixed(None, gone=[*done.gone, ("", lack)])
    return done


def doubt_fixes(item: Item, said: Iterable[PointDecision]) -> list[str]:
    """What the builder's rules have against fixes of false answers and edits: people may know better, but are told."""
    sheet = {one.point: one for one in said}
    fixes = {point: one for point, one in sheet.items() if one.verdict == "fix"}
    gone = {point.partition(".")[0] for point, one in sheet.items() if one.verdict == "reject"}
    fixed = fix_item(item, fixes).item if fixes else None
    if fixed is None or fixed.fake is None:
        return []
    doubts = []
    is_other_answer = (fixed.answer, fixed.fake) != (item.answer, item.fake)
    if is_other_answer:
        doubts += [f"fake: {fault}" for fault in check_fake(fixed, fixed.fake)]
    for index, passage in enumerate(fixed.passages):
        is_other_edit = is_other_answer or passage not in item.passages
        if passage.edit_of is not None and is_other_edit and f"passages[{index}]" not in gone:
            faults = check_edit(fixed, fixed.fake, fixed.passages[passage.edit_of].text, passage.text)
            doubts += [f"passages[{index}]: {fault}" for fault in faults]
    return doubts


def _fix_texts(item: Item, sheet: Mapping[str, PointDecision], done: Fixed) -> Item:
    """Question, answer and false answer."""
    answers = {"answer": list(item.answer), "fake": list(item.fake or ())}
    question = item.question
    for point in points_of(item):
        fix = _fix_of(point, sheet)
        if fix is None:
            continue
        if point.kind == "question" and isinstance(fix, str):
            done.changes.append((point.name, question, fix))
            question = fix
        elif point.kind in answers and isinstance(fix, tuple):
            done.changes.append((point.name, answers[point.kind][point.index], fix))
            answers[point.kind][point.index] = fix
    fake = tuple(answers["fake"]) if item.fake is not None else None
    return replace(item, question=question, answer=tuple(answers["answer"]), fake=fake)


def _fix_passages(item: Item, sheet: Mapping[str, PointDecision], done: Fixed) -> tuple[Passage, ...]:
    """The passages that stay, as they should be, each edit still beside the passage it was made from."""
    points: dict[int, list[ReviewPoint]] = {}
    for point in points_of(item):
        if point.kind not in FATAL:
            points.setdefault(point.index, []).append(point)
    made = {index: _fix_passage(item, index, points[index], sheet, done) for index in range(len(item.passages))}
    for index, passage in made.items():
        original = made[passage.edit_of] if passage and passage.edit_of is not None else passage
        if passage is not None and (original is None or (is_edit(passage) and original.stance != "supports")):
            fate = "went" if original is None else "no longer supports the answer"
            done.gone.append((f"passages[{index}]", f"passages[{passage.edit_of}], which it falsifies, {fate}"))
            made[index] = None
    kept = [index for index, passage in made.items() if passage is not None]
    places = {old: new for new, old in enumerate(kept)}
    passages = [passage for passage in made.values() if passage is not None]
    return tuple(
        passage if passage.edit_of is None else replace(passage, edit_of=places[passage.edit_of])
        for passage in passages
    )


def _fix_passage(
    item: Item, index: int, points: list[ReviewPoint], sheet: Mapping[str, PointDecision], done: Fixed
) -> Passage | None:
    passage = item.passages[index]
    for point in points:
        said = sheet.get(point.name)
        if said is not None and said.verdict == "reject":
            done.gone.append((f"passages[{index}]", f"{point.name.partition('.')[2]}: {said.reason}"))
            return None
    fixes = [(point, fix) for point in points if isinstance(fix := _fix_of(point, sheet), str)]
    if any(point.kind == "text" for point, _ in fixes):  # which has other stretches
        fixes = [(point, fix) for point, fix in fixes if point.kind == "text"]
    for point, fix in reversed(fixes):  # from the end, so that the places before it stay
        if point.kind == "stance":
            was: str = passage.stance
            passage = _take_stance(passage, fix, sheet[point.name].part)
        elif point.kind == "text":
            was = passage.text
            passage = replace(passage, text=fix, edits=find_fake(item, item.fake or (), fix), support=None)
        else:
            was = passage.text[slice(*passage.edits[point.span])]
            passage = _replace_span(passage, point.span, fix)
        done.changes.append((point.name, was, fix))
    return passage


def _fix_of(point: ReviewPoint, sheet: Mapping[str, PointDecision]) -> str | tuple[str, ...] | None:
    said = sheet.get(point.name)
    return said.fix if said is not None and said.verdict == "fix" else None


def _replace_span(passage: Passage, number: int, words: str) -> Passage:
    """Other words at an edited stretch; those after it move."""
    start, end = passage.edits[number]
    grown = len(words) - (end - start)
    edits = tuple(
        (start, start + len(words)) if place == number
        else (one + grown, other + grown) if one >= end
        else (one, other)
        for place, (one, other) in enumerate(passage.edits)
    )  # fmt: skip
    text = passage.text[:start] + words + passage.text[end:]
    return replace(passage, text=text, edits=edits, support=None)


def _take_stance(passage: Passage, stance: str, part: int | None) -> Passage:
    taken: Stance = "supports" if stance == "supports" else "contradicts" if stance == "contradicts" else "distracts"
    # Its finer kind was that of the stance it had.
    return replace(passage, stance=taken, part=part, support=None, kind="related", reviewed=True)


def _find_lack(before: Item, after: Item) -> str | None:
    """Why an item cannot test any more what it tested."""
    stances = [passage.stance for passage in after.passages]
    if "supports" not in stances:
        return "no supporting passage is left"
    if kind_of(before) == "integration":
        parts = {passage.part for passage in after.passages if passage.stance == "supports"}
        if lacking := [part for part in range(len(after.answer)) if part not in parts]:
            return f"no passage is left that supports part {lacking[0]}"
    if kind_of(before) == "counterfactual" and "contradicts" not in stances:
        return "no passage is left that gives the false answer"
    return None
