"""E4 to E7: what goes wrong only where a question has several parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.diagnosis.concepts import find_confusion
from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.distance import find_distance
from ragbed.analysis.diagnosis.evidence_text import EvidenceText, tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.analysis.diagnosis.response_answers import GivenAnswer, is_alike
from ragbed.analysis.diagnosis.uncertainty import find_uncertainty
from ragbed.scoring.robust.alignment import find_aligned, text_around
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import Mention
from ragbed.testbeds.integration import INTEGRATION

_NEXT_CLAUSE = re.compile(r"[.。;；!?\n]|[,，](?!\s?(?:[他她它其]|(?:he|she|they|it)\b))|\bwhile\b|而")
"""Where an answer is no longer spoken of: after a comma, unless a pronoun takes it up."""


def find_merging(look: TrialContext) -> Iterator[Evidence]:
    """E4: one answer is said of several sub-questions that ask for the same kind of thing."""
    if not _answers_in_part(look):
        return
    told: set[int] = set()  # an answer may be read twice, as a name and as the longer one that it begins
    for slot, mentions in _answers(look):
        around = " ".join(_alone_around(look, mention) for mention in mentions)
        shared = [part for part in _spoken_of(look, around) if is_alike(look.gold.slots[part], slot)]
        missing = [part for part in shared if part in look.missing]
        merged = missing if len(missing) < len(shared) else missing[1:]
        start, end = look.reply.page.place(mentions[0])
        for part in [part for part in merged if part not in told]:
            told.add(part)
            yield Evidence(
                type="E4", **tell("merged", said=look.reply.page.text[start:end]), part=part, start=start, end=end
            )


def find_ignoring(look: TrialContext) -> Iterator[Evidence]:
    """E5: a sub-question that the reply has no answer to, and that is not merged with another."""
    if not _answers_in_part(look) or look.evidence(find_merging):
        return
    unanswered = len(look.gold.slots) - _answer_count(look)
    ignored = [part for part in look.missing if part not in _spoken_of(look, look.reply.page.folded)] or look.missing
    ignored = _without_answered(look, ignored)
    for part in ignored[-unanswered:] if len(ignored) > unanswered else ignored:
        asked = look.parts[part].text if look.parts else None
        yield Evidence(type="E5", **tell("ignored"), part=part, asked=asked)


def find_misalignment(look: TrialContext) -> Iterator[Evidence]:
    """E6: the answer to one sub-question is given to another."""
    if look.judged is None or len(look.gold.slots) < 2 or not any(look.reply.held):
        return
    text = look.reply.page.folded
    aligned = find_aligned(look.case.question, look.case.lang, look.gold.slots, look.reply.held, text)
    everything = sorted(mention for held in look.reply.held for mention in held)
    for part, held in enumerate(look.reply.held):
        bound = [_bound_to(look, text_around(text, mention, everything)) for mention in held]
        elsewhere = bound and all(other is not None and _can_be_mixed_up(look, part, other) for other in bound)
        if held and (elsewhere or not aligned[part] or (bound == [None] and not _is_in_turn(look, part, held[0]))):
            start, end = look.reply.page.place(held[0])
            yield Evidence(
                type="E6",
                **tell("mixed-up", said=look.reply.page.text[start:end]),
                start=start,
                end=end,
                part=part,
                bound_to=bound[0] if elsewhere else None,
            )


def find_noise_like(look: TrialContext) -> Iterator[Evidence]:
    """E7: an error of integration that is one of noise (E1 to E3): the bucket of the paper's 38 %."""
    if look.case.testbed != INTEGRATION.name:
        return
    for find in (find_distance, find_uncertainty, find_confusion):
        for evidence in look.evidence(find):
            told = EvidenceText(
                what=f"as {evidence.type}: {evidence.what}", what_zh=f"同 {evidence.type}：{evidence.what_zh}"
            )
            yield Evidence(type="E7", **told, document=evidence.document)


def _answers_in_part(look: TrialContext) -> bool:
    """Whether a question of several parts got fewer answers than it has parts, and some."""
    if look.judged is None or len(look.gold.slots) < 2 or look.judged.refused:
        return False
    return 0 < _answer_count(look) < len(look.gold.slots)


def _answer_count(look: TrialContext) -> int:
    """How many different answers there are, right or wrong."""
    right = {frozenset(slot.forms) for slot, held in zip(look.gold.slots, look.reply.held, strict=True) if held}
    return len(right) + (len(_wrong_answers(look)) or (0 if right else min(1, len(look.reply.wrong))))


def _wrong_answers(look: TrialContext) -> list[GivenAnswer]:
    """Wrong answers that are no mere echo: a document has them, but not in the sentence of a right one, or a value."""
    slots = [slot for slot, held in zip(look.gold.slots, look.reply.held, strict=True) if held]
    read = {(place.document, place.sentence.number) for slot in slots for place in look.places(slot)}
    return [
        said
        for said, places in look.origins
        if ((places[0].document, places[0].sentence.number) not in read if places else not said.slot.names)
    ]


def _answers(look: TrialContext) -> list[tuple[GoldSlot, list[Mention]]]:
    """Every answer that the reply gives, right or wrong, with its places."""
    right = [(slot, [*held]) for slot, held in zip(look.gold.slots, look.reply.held, strict=True) if held]
    wrong = [(said.slot, look.reply.page.mentions(said.slot, look.gold)) for said, _ in look.origins]
    return [(slot, mentions) for slot, mentions in right + wrong if mentions]


def _alone_around(look: TrialContext, mention: Mention) -> str:
    """What an answer is said of: its sentence up to the next clause, if no other answer stands in it."""
    everything = sorted({one for _, mentions in _answers(look) for one in mentions})
    page = look.reply.page
    if any(one[:2] != mention[:2] and page.sentence_at(one) == page.sentence_at(mention) for one in everything):
        return text_around(page.folded, mention, everything)
    before = text_around(page.folded[: mention.end], mention, ())
    return before + _NEXT_CLAUSE.split(page.folded[mention.end :], maxsplit=1)[0]


def _spoken_of(look: TrialContext, folded: str) -> list[int]:
    return [number for number, part in enumerate(look.parts) if part.is_spoken_of(folded)]


def _without_answered(look: TrialContext, parts: list[int]) -> list[int]:
    """Leaves out a part that got a wrong answer rather than none, where the words around it tell."""
    mentions = [mention for held in look.reply.held for mention in held]
    bound = set()
    for said, places in look.origins:
        if places:
            found = look.reply.page.mentions(said.slot, look.gold)
            bound |= {_bound_to(look, text_around(look.reply.page.folded, one, mentions)) for one in found[:1]}
    return [part for part in parts if part not in bound] or parts


def _can_be_mixed_up(look: TrialContext, part: int, other: int) -> bool:
    """Whether answers to two different parts are of one kind: a date is never taken for a name."""
    return part != other and is_alike(look.gold.slots[part], look.gold.slots[other])


def _is_in_turn(look: TrialContext, part: int, mention: Mention) -> bool:
    """Whether an answer stands where its sub-question does, in a bare list of answers of one kind, one for each."""
    one_kind = all(is_alike(slot, look.gold.slots[0]) for slot in look.gold.slots)
    if _spoken_of(look, look.reply.page.folded) or not one_kind or _answer_count(look) != len(look.gold.slots):
        return True
    starts = [look.reply.page.place(held[0])[0] for held in look.reply.held if held]
    starts += [said.start for said in _wrong_answers(look)]
    return sum(start < look.reply.page.place(mention)[0] for start in starts) == part


def _bound_to(look: TrialContext, around: str) -> int | None:
    """The only sub-question that the words around an answer speak of."""
    spoken = _spoken_of(look, around)
    return spoken[0] if len(spoken) == 1 else None
