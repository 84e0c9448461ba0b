"""E4 to E7: what goes wrong only where a question has several parts."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.diagnose.concepts import find_confusion
from ragbed.diagnose.distance import find_distance
from ragbed.diagnose.look import Look
from ragbed.diagnose.record import Evidence
from ragbed.diagnose.uncertainty import find_uncertainty
from ragbed.scorers.robust.alignment import find_aligned, text_around
from ragbed.scorers.robust.match import Mention


def find_merging(look: Look) -> Iterator[Evidence]:
    """E4: the reply speaks of several sub-questions and has one answer for all of them."""
    if not _answers_in_part(look) or len(_spoken_of(look)) < 2 or _answer_count(look) != 1:
        return
    start, end, text = _only_answer(look)
    for part in look.missing[: len(look.parts) - 1]:
        yield Evidence(
            type="E4", what=f"“{text}” is the one answer to all that is asked", part=part, start=start, end=end
        )


def find_ignoring(look: Look) -> Iterator[Evidence]:
    """E5: a sub-question that the reply has no answer to, and that is not merged with another."""
    if not _answers_in_part(look) or next(find_merging(look), None) is not None:
        return
    unanswered = len(look.gold.slots) - _answer_count(look)
    ignored = [part for part in look.missing if part not in _spoken_of(look)] or look.missing
    ignored = _without_answered(look, ignored)
    for part in ignored[-unanswered:] if len(ignored) > unanswered else ignored:
        asked = look.parts[part].text if look.parts else None
        yield Evidence(type="E5", what="a part of the question has no answer in the reply", part=part, asked=asked)


def find_misalignment(look: Look) -> Iterator[Evidence]:
    """E6: the answer to one sub-question is given to another."""
    if look.judged is None or len(look.gold.slots) < 2 or not any(look.reply.held):
        return
    text = look.reply.page.folded
    aligned = find_aligned(look.case.question, look.case.lang, look.gold.slots, look.reply.held, text)
    everything = sorted(mention for held in look.reply.held for mention in held)
    for part, held in enumerate(look.reply.held):
        bound = [_bound_to(look, text_around(text, mention, everything)) for mention in held]
        elsewhere = bound and all(other is not None and other != part for other in bound)
        if held and (elsewhere or not aligned[part]):
            start, end = look.reply.page.place(held[0])
            yield Evidence(
                type="E6",
                what=f"“{look.reply.page.text[start:end]}” is given as the answer to another part of the question",
                start=start,
                end=end,
                part=part,
                bound_to=bound[0] if elsewhere else None,
            )


def find_noise_like(look: Look) -> Iterator[Evidence]:
    """E7: an error of integration that is one of noise (E1 to E3): the bucket of the paper's 38 %."""
    if len(look.gold.slots) < 2:
        return
    for find in (find_distance, find_uncertainty, find_confusion):
        for evidence in find(look):
            yield Evidence(type="E7", what=f"as {evidence.type}: {evidence.what}", document=evidence.document)


def _answers_in_part(look: Look) -> bool:
    """Whether a question of several parts got fewer answers than it has parts, and some."""
    if look.judged is None or len(look.gold.slots) < 2 or look.judged.refused:
        return False
    return 0 < _answer_count(look) < len(look.gold.slots)


def _answer_count(look: Look) -> int:
    """How many different answers there are, right or wrong; wrong ones count where a document has them too."""
    right = {frozenset(slot.forms) for slot, held in zip(look.gold.slots, look.reply.held, strict=True) if held}
    wrong = [said for said, places in look.origins if places] or ([] if right else list(look.reply.wrong[:1]))
    return len(right) + len(wrong)


def _only_answer(look: Look) -> tuple[int, int, str]:
    held: list[Mention] = [mention for held in look.reply.held for mention in held]
    if held:
        start, end = look.reply.page.place(held[0])
    else:
        start, end = look.reply.wrong[0].start, look.reply.wrong[0].end
    return start, end, look.reply.page.text[start:end]


def _spoken_of(look: Look) -> list[int]:
    return [number for number, part in enumerate(look.parts) if part.is_spoken_of(look.reply.page.folded)]


def _without_answered(look: Look, parts: list[int]) -> list[int]:
    """Leaves out a part that got a wrong answer rather than none, where the words around it tell."""
    mentions = [mention for held in look.reply.held for mention in held]
    bound = set()
    for said, places in look.origins:
        if places:
            found = look.reply.page.mentions(said.slot, look.gold)
            bound |= {_bound_to(look, text_around(look.reply.page.folded, one, mentions)) for one in found[:1]}
    return [part for part in parts if part not in bound] or parts


def _bound_to(look: Look, around: str) -> int | None:
    """The only sub-question that the words around an answer speak of."""
    spoken = [number for number, part in enumerate(look.parts) if part.is_spoken_of(around)]
    return spoken[0] if len(spoken) == 1 else None
