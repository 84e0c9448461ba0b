"""From a case and a reply to the verdict: what is asserted, what is declined, what is blamed, and by which rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Case
from ragbed.scoring.robust.alignment import find_aligned
from ragbed.scoring.robust.assertion import around, is_correcting, is_only_reported, is_plain, judge_mention
from ragbed.scoring.robust.dates import Date
from ragbed.scoring.robust.flag import find_flags
from ragbed.scoring.robust.gold import Gold, prepare
from ragbed.scoring.robust.match import MOST_MENTIONS, FoldedResponse, Mention, drop_contained, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.refusal import find_refusals, is_withdrawn

Name: TypeAlias = Literal["correct", "partial", "incorrect", "refused", "flag-only", "empty", "unscored"]

LONGEST = 200_000
"""Characters of a reply that are read, half from each end: no answer is longer, and time stays bounded."""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*</think(?:ing)?>", re.DOTALL)
_FINAL = re.compile(r"\banswer(?: to (?:this|the|your) question)?(?: is|:) ?:? ?|答案(?:应?(?:是|为):?|:) ?")
_FINAL_HINTS = frozenset({"answer", "答"})
_NAMED_WITHIN = 60
"""Characters after 'the answer is' in which it is expected."""
_QUOTED_WHOLE = 40
"""Characters from which on a document found verbatim in a reply counts as copied."""


class VerdictEvidence(NamedTuple):
    """A rule that had a say in a verdict, and the stretch of the reply that it read."""

    rule: str
    start: int
    end: int
    text: str


class RobustVerdict(NamedTuple):
    """Everything the robust track says about a reply; `None` where the case's own answer cannot be matched."""

    verdict: Name
    correct: bool | None
    partial: float | None
    aligned: float | None
    refused: bool
    flagged: bool
    misled: bool
    mentions: tuple[Mention, ...]
    """In the folded reply: the grounds of the verdict."""


def judge(case: Case, reply: str) -> RobustVerdict:
    """Reads a reply once."""
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    text = fold(as_read(reply), case.lang)
    if not re.search(r"\w", text):
        return _nothing(gold, "empty", ())
    reading = FoldedResponse(text, (reply, *(document.text for document in case.documents)))
    copied = [document.text for document in case.documents if _is_copied(document.text, reply)]
    own = _OwnWords(text, [fold(document, case.lang) for document in copied])
    flags, refusals = own.keep(find_flags(text, reading.seen)), own.keep(find_refusals(text, reading.seen))
    grounds: list[Mention] = []
    if len(copied) > 1:  # that is copying, not answering
        held: list[list[Mention]] = [[] for _ in gold.slots]
        false: list[Mention] = []
        grounds.append(Mention(0, len(text), "echo"))
    else:
        held, false, grounds = _assertions(gold, reading, declined=bool(refusals))
    return _conclude(case, gold, text, held, false, [*grounds, *refusals, *flags])


def explain(case: Case, reply: str) -> tuple[Name, list[VerdictEvidence]]:
    """The verdict with its grounds: rules and the stretches of the reply they rest on."""
    judged = judge(case, reply)
    return judged.verdict, find_grounds(case, reply, judged)


def find_grounds(case: Case, reply: str, judged: RobustVerdict) -> list[VerdictEvidence]:
    """The rules of a verdict, and the stretches of the reply they rest on."""
    places = origins(as_read(reply), case.lang)
    left_out = max(0, len(reply) - LONGEST - 1)
    found = []
    for mention in sorted(judged.mentions):
        start, end = places[mention.start], places[max(mention.start, mention.end - 1)] + 1
        if start > LONGEST // 2:
            start, end = start + left_out, end + left_out
        found.append(VerdictEvidence(mention.rule, start, end, reply[start:end]))
    return found


def _conclude(
    case: Case, gold: Gold, text: str, held: list[list[Mention]], false: list[Mention], grounds: list[Mention]
) -> RobustVerdict:
    told = sum(map(bool, held))
    misled = bool(false)
    declined = [one for one in grounds if one.rule.startswith("refusal")]
    refused = bool(declined) and not told and not misled and not is_withdrawn(text, declined)
    flagged = any(one.rule.startswith("flag") for one in grounds)
    if not _is_usable(gold):
        return RobustVerdict(
            "unscored", None, None, None, refused, flagged, misled, (*grounds, Mention(0, len(text), "gold.unusable"))
        )
    share = told / len(gold.slots)
    aligned = share if len(gold.slots) == 1 else _aligned(case, gold, held, text)
    verdict: Name = "incorrect"
    if share == 1 and not misled:
        verdict = "correct"
    elif share and not misled:
        verdict = "partial"
    elif refused:
        verdict = "refused"
    elif flagged and not misled and _is_only_flag(text, grounds):
        verdict = "flag-only"
    return RobustVerdict(verdict, verdict == "correct", share, aligned, refused, flagged, misled, tuple(grounds))


def _nothing(gold: Gold, verdict: Name, grounds: tuple[Mention, ...]) -> RobustVerdict:
    if not _is_usable(gold):
        return RobustVerdict("unscored", None, None, None, False, False, False, grounds)
    return RobustVerdict(verdict, False, 0.0, 0.0, False, False, False, grounds)


def _is_usable(gold: Gold) -> bool:
    return bool(gold.slots) and all(slot.names or slot.dates or slot.quantities for slot in gold.slots)


def _aligned(case: Case, gold: Gold, held: list[list[Mention]], text: str) -> float:
    bound = find_aligned(case.question, case.lang, gold.slots, held, text)
    return sum(bound) / len(bound)


def as_read(reply: str) -> str:
    """The reply without thoughts, which are blanked to keep places, and without the middle of an endless one."""
    if "think" in reply:
        reply = _THOUGHT.sub(lambda match: " " * len(match[0]), reply)
    if len(reply) > LONGEST:
        reply = reply[: LONGEST // 2] + "\n" + reply[-LONGEST // 2 :]
    return reply


def _is_copied(document: str, reply: str) -> bool:
    return _QUOTED_WHOLE <= len(document) <= len(reply) and document in reply


class _OwnWords:
    """A folded reply without the documents that stand in it word for word: what they say, the model did not say."""

    def __init__(self, text: str, copied: Sequence[str]) -> None:
        starts = [(text.find(document), len(document)) for document in copied]
        self._quoted = [(start, start + length) for start, length in starts if start >= 0]

    def keep(self, mentions: Sequence[Mention]) -> list[Mention]:
        return [
            one for one in mentions if not any(start <= one.start and one.end <= end for start, end in self._quoted)
        ]


def _assertions(
    gold: Gold, reading: FoldedResponse, *, declined: bool
) -> tuple[list[list[Mention]], list[Mention], list[Mention]]:
    """What is asserted of each part of the answer and of the false one, and every mention with what became of it."""
    text = reading.text
    owned = drop_contained([find_mentions(slot, gold, reading) for slot in (*gold.slots, *gold.fakes)])
    true, false = owned[: len(gold.slots)], [mention for mentions in owned[len(gold.slots) :] for mention in mentions]
    every = [mention for mentions in true for mention in mentions]
    plain = is_plain(reading.seen)
    grounds: list[Mention] = []

    def asserted(mentions: Sequence[Mention], rivals: Sequence[Mention], whose: str) -> list[Mention]:
        kept = []
        for mention in mentions:
            status = "asserted" if plain else judge_mention(text, mention, mentions, rivals)
            if declined and whose == "fake" and status == "asserted" and is_only_reported(text, mention):
                status = "reported"  # 'I cannot tell; the document only mentions X'
            grounds.append(mention._replace(rule=f"{whose}.{mention.rule}.{status}"))
            if status == "asserted":
                kept.append(mention)
            elif whose == "fake" and status in {"wrong", "quoted"}:
                grounds.append(mention._replace(rule="flag.fake"))
        return kept

    held = [asserted(mentions, false, "answer") for mentions in true]
    misled = asserted(false, every, "fake")
    held, misled = _final(gold, reading, held, misled)
    return *_settle(text, held, misled), grounds


def _final(
    gold: Gold, reading: FoldedResponse, held: list[list[Mention]], false: list[Mention]
) -> tuple[list[list[Mention]], list[Mention]]:
    """Where a reply names its answer ('the answer is …'), what stands before it does not count.

    If that is a value of the answer's kind ('the answer is 6'), what stands after it does not count either.
    """
    every = [*false, *(one for some in held for one in some)]
    told = every and not reading.seen.isdisjoint(_FINAL_HINTS)
    markers = list(islice(_FINAL.finditer(reading.text), MOST_MENTIONS)) if told else []
    if not markers:
        return held, false
    place = markers[0 if len(gold.slots) > 1 else -1].end()  # parts may each be announced
    end = next((one.end for one in _values(gold, reading) if place <= one.start <= place + 2), None)
    if end is None:
        if not any(place <= one.start <= place + _NAMED_WITHIN for one in every):
            return held, false
        end = len(reading.text)

    def named(some: list[Mention]) -> list[Mention]:
        return [one for one in some if place <= one.start < end]

    return [named(some) for some in held], named(false)


def _values(gold: Gold, reading: FoldedResponse) -> Sequence[Quantity | Date]:
    """What could be the answer to a question for one quantity or one date."""
    if len(gold.slots) == 1 and gold.slots[0].quantities:
        return reading.quantities
    return reading.dates if len(gold.slots) == 1 and gold.slots[0].dates else ()


def _settle(text: str, held: list[list[Mention]], false: list[Mention]) -> tuple[list[list[Mention]], list[Mention]]:
    """Where a reply says both the true and the false answer, the one it puts forward as the right one counts."""
    if false and any(held):
        true_first = any(is_correcting(text, one) for mentions in held for one in mentions)
        false_first = any(is_correcting(text, one) for one in false)
        if true_first and not false_first:
            return held, []
        if false_first and not true_first:
            return [[] for _ in held], false
    return held, false


def _is_only_flag(text: str, grounds: Sequence[Mention]) -> bool:
    """Whether nothing but the blame is said."""
    blamed = [one for one in grounds if one.rule.startswith("flag")]
    said = sum(len(before) + len(after) for before, after in (around(text, one.start, one.end) for one in blamed[:1]))
    return len(text) - said - sum(one.end - one.start for one in blamed[:1]) < 12
