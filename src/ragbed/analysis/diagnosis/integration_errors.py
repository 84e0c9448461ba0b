"""E4 to E7: errors on questions with several parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.noise_errors import find_confusion, find_distance, find_uncertainty
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.analysis.diagnosis.response_answers import GivenAnswer, is_alike
from ragbed.scoring.robust.alignment import find_aligned, text_around
from ragbed.scoring.robust.gold import GoldSlot
from ragbed.scoring.robust.match import Mention
from ragbed.testbeds.integration import INTEGRATION

# Matches the end of the text about an answer, e.g. a full stop, or a comma that is not followed by a pronoun.
_NEXT_CLAUSE = re.compile(r"[.。;；!?\n]|[,，](?!\s?(?:[他她它其]|(?:he|she|they|it)\b))|\bwhile\b|而")


def find_merging(trial: TrialContext) -> Iterator[Evidence]:
    """E4: the response gives one answer to several sub-questions of the same kind."""
    if not _answers_in_part(trial):
        return
    # Sub-questions already reported. An answer can be found twice: as a name and as the start of a longer name.
    reported: set[int] = set()
    for slot, mentions in _answers(trial):
        around = " ".join(_alone_around(trial, mention) for mention in mentions)
        shared = [part for part in _spoken_of(trial, around) if is_alike(trial.gold.slots[part], slot)]
        missing = [part for part in shared if part in trial.missing]
        merged = missing if len(missing) < len(shared) else missing[1:]
        start, end = trial.reply.page.place(mentions[0])
        text = tell("merged", said=trial.reply.page.text[start:end])
        for part in merged:
            if part not in reported:
                reported.add(part)
                yield Evidence(type="E4", **text, part=part, start=start, end=end)


def find_ignoring(trial: TrialContext) -> Iterator[Evidence]:
    """E5: the response neither answers a sub-question nor merges it with another."""
    if not _answers_in_part(trial) or trial.evidence(find_merging):
        return
    unanswered = len(trial.gold.slots) - _answer_count(trial)
    for part in trial.missing[-unanswered:]:
        asked = trial.parts[part].text if trial.parts else None
        yield Evidence(type="E5", **tell("ignored"), part=part, asked=asked)


def find_misalignment(trial: TrialContext) -> Iterator[Evidence]:
    """E6: the response gives the answer to one sub-question as the answer to another."""
    if trial.judged is None or len(trial.gold.slots) < 2 or not any(trial.reply.held):
        return
    folded = trial.reply.page.folded
    aligned = find_aligned(trial.case.question, trial.case.lang, trial.gold.slots, trial.reply.held, folded)
    everything = sorted(mention for held in trial.reply.held for mention in held)
    for part, held in enumerate(trial.reply.held):
        # The sub-question that the text around each mention is about, if there is exactly one.
        spoken = [_spoken_of(trial, text_around(folded, mention, everything)) for mention in held]
        bound = [some[0] if len(some) == 1 else None for some in spoken]
        # Answers of different types, such as a date and a name, are never confused with each other.
        elsewhere = bound and all(
            other not in (None, part) and is_alike(trial.gold.slots[part], trial.gold.slots[other]) for other in bound
        )
        if held and (elsewhere or not aligned[part] or (bound == [None] and not _is_in_turn(trial, part, held[0]))):
            start, end = trial.reply.page.place(held[0])
            text, other = tell("mixed-up", said=trial.reply.page.text[start:end]), bound[0] if elsewhere else None
            yield Evidence(type="E6", **text, start=start, end=end, part=part, bound_to=other)


def find_noise_like(trial: TrialContext) -> Iterator[Evidence]:
    """E7: an integration error of type E1, E2 or E3. In the paper, these make up 38% of the integration errors."""
    if trial.case.testbed != INTEGRATION.name:
        return
    for find in (find_distance, find_uncertainty, find_confusion):
        for evidence in trial.evidence(find):
            what, what_zh = f"as {evidence.type}: {evidence.what}", f"同 {evidence.type}：{evidence.what_zh}"
            yield Evidence(type="E7", what=what, what_zh=what_zh, document=evidence.document)


def _answers_in_part(trial: TrialContext) -> bool:
    """Return whether a response to a multi-part question gives at least one answer, but not one for each part."""
    if trial.judged is None or len(trial.gold.slots) < 2 or trial.judged.refused:
        return False
    return 0 < _answer_count(trial) < len(trial.gold.slots)


def _answer_count(trial: TrialContext) -> int:
    """Return the number of distinct answers, right or wrong."""
    right = {frozenset(slot.forms) for slot, held in zip(trial.gold.slots, trial.reply.held, strict=True) if held}
    return len(right) + (len(_wrong_answers(trial)) or (0 if right else min(1, len(trial.reply.wrong))))


def _wrong_answers(trial: TrialContext) -> list[GivenAnswer]:
    """Return wrong answers from document sentences without a right answer, and wrong values that are in no document."""
    slots = [slot for slot, held in zip(trial.gold.slots, trial.reply.held, strict=True) if held]
    read = {(place.document, place.sentence.number) for slot in slots for place in trial.places(slot)}
    return [
        answer
        for answer, places in trial.origins
        if ((places[0].document, places[0].sentence.number) not in read if places else not answer.slot.names)
    ]


def _answers(trial: TrialContext) -> list[tuple[GoldSlot, list[Mention]]]:
    """Return all answers in the response, right or wrong, with their mentions."""
    right = [(slot, [*held]) for slot, held in zip(trial.gold.slots, trial.reply.held, strict=True) if held]
    wrong = [(answer.slot, trial.reply.page.mentions(answer.slot, trial.gold)) for answer, _ in trial.origins]
    return [(slot, mentions) for slot, mentions in right + wrong if mentions]


def _alone_around(trial: TrialContext, mention: Mention) -> str:
    """Return the text around an answer up to the next clause, or a shorter span if the sentence has other answers."""
    everything = sorted({other for _, mentions in _answers(trial) for other in mentions})
    page = trial.reply.page
    sentence = page.sentence_at(mention)
    if any(other[:2] != mention[:2] and page.sentence_at(other) == sentence for other in everything):
        return text_around(page.folded, mention, everything)
    before = text_around(page.folded[: mention.end], mention, ())
    return before + _NEXT_CLAUSE.split(page.folded[mention.end :], maxsplit=1)[0]


def _spoken_of(trial: TrialContext, folded: str) -> list[int]:
    return [number for number, part in enumerate(trial.parts) if part.is_spoken_of(folded)]


def _is_in_turn(trial: TrialContext, part: int, mention: Mention) -> bool:
    """Return whether an answer is at its sub-question's position in a list, or True if the response is not a list."""
    one_kind = all(is_alike(slot, trial.gold.slots[0]) for slot in trial.gold.slots)
    if _spoken_of(trial, trial.reply.page.folded) or not one_kind or _answer_count(trial) != len(trial.gold.slots):
        return True
    starts = [trial.reply.page.place(held[0])[0] for held in trial.reply.held if held]
    starts += [answer.start for answer in _wrong_answers(trial)]
    return sum(start < trial.reply.page.place(mention)[0] for start in starts) == part
