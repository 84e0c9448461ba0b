"""Decide the verdict of a response from its asserted answers, refusals and error flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Case
from ragbed.scoring.robust.alignment import find_aligned
from ragbed.scoring.robust.assertion import is_correcting, is_only_reported, is_plain, judge_mention, sentence_around
from ragbed.scoring.robust.dates import Date
from ragbed.scoring.robust.flag import FLAGS
from ragbed.scoring.robust.gold import Gold, prepare
from ragbed.scoring.robust.match import MAX_MENTIONS, FoldedResponse, Mention, drop_contained, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.quantities import Quantity
from ragbed.scoring.robust.refusal import REFUSALS, is_withdrawn

VerdictName: TypeAlias = Literal["correct", "partial", "incorrect", "refused", "flag-only", "empty", "unscored"]

MAX_LENGTH = 200_000  # characters of a response that are read, half of them from each end, to bound the time

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*</think(?:ing)?>", re.DOTALL)
_FINAL = re.compile(r"\banswer(?: to (?:this|the|your) question)?(?: is|:) ?:? ?|答案(?:应?(?:是|为):?|:) ?")
_FINAL_TERMS = frozenset({"answer", "答"})
_FINAL_REACH = 60  # characters after 'the answer is' in which the answer is expected
_MIN_COPIED_LENGTH = 40  # a shorter document that a response contains verbatim does not count as copied


class VerdictEvidence(NamedTuple):
    """A rule that contributed to a verdict and the span of the response that it matched."""

    rule: str
    start: int
    end: int
    text: str


class RobustVerdict(NamedTuple):
    """All results of the robust track for a response; None if the answer of the case cannot be matched.

    Attributes:
        mentions: The evidence, as spans of the folded response.
    """

    verdict: VerdictName
    correct: bool | None
    partial: float | None
    aligned: float | None
    refused: bool
    flagged: bool
    misled: bool
    mentions: tuple[Mention, ...]


def judge(case: Case, reply: str) -> RobustVerdict:
    """Return the verdict of a response with all its values."""
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    text = fold(trim_response(reply), case.lang)
    if not re.search(r"\w", text):
        if not _is_usable(gold):
            return RobustVerdict("unscored", None, None, None, False, False, False, ())
        return RobustVerdict("empty", False, 0.0, 0.0, False, False, False, ())
    response = FoldedResponse(text, (reply, *(document.text for document in case.documents)))
    documents = [document.text for document in case.documents if _is_copied(document.text, reply)]
    copied = _find_spans(text, [fold(document, case.lang) for document in documents])
    flags = _outside(FLAGS.find(text, response.terms), copied)
    refusals = _outside(REFUSALS.find(text, response.terms), copied)
    if len(documents) > 1:  # the response copies documents and answers nothing
        asserted = _Assertions([[] for _ in gold.slots], [], [Mention(0, len(text), "echo")])
    else:
        asserted = _find_assertions(gold, response, has_refusal=bool(refusals))
    return _conclude(case, gold, text, asserted, [*asserted.evidence, *refusals, *flags])


def explain(case: Case, reply: str) -> tuple[VerdictName, list[VerdictEvidence]]:
    """Return the verdict and its evidence: the rules and the matching spans of the response."""
    judged = judge(case, reply)
    return judged.verdict, find_evidence(case, reply, judged)


def find_evidence(case: Case, reply: str, judged: RobustVerdict) -> list[VerdictEvidence]:
    """Return the rules of a verdict and the matching spans of the response."""
    positions = origins(trim_response(reply), case.lang)
    omitted = max(0, len(reply) - MAX_LENGTH - 1)
    evidence = []
    for mention in sorted(judged.mentions):
        start, end = positions[mention.start], positions[max(mention.start, mention.end - 1)] + 1
        if start > MAX_LENGTH // 2:
            start, end = start + omitted, end + omitted
        evidence.append(VerdictEvidence(mention.rule, start, end, reply[start:end]))
    return evidence


class _Assertions(NamedTuple):
    """The asserted mentions of each part of the true answer and of the false answer, and the status of all mentions."""

    true: list[list[Mention]]
    false: list[Mention]
    evidence: list[Mention]


def _conclude(case: Case, gold: Gold, text: str, asserted: _Assertions, evidence: list[Mention]) -> RobustVerdict:
    answered = sum(map(bool, asserted.true))
    misled = bool(asserted.false)
    refusals = [mention for mention in evidence if mention.rule.startswith("refusal")]
    refused = bool(refusals) and not answered and not misled and not is_withdrawn(text, refusals)
    flags = [mention for mention in evidence if mention.rule.startswith("flag")]
    if not _is_usable(gold):
        evidence.append(Mention(0, len(text), "gold.unusable"))
        return RobustVerdict("unscored", None, None, None, refused, bool(flags), misled, tuple(evidence))
    share = aligned = answered / len(gold.slots)
    if len(gold.slots) > 1:
        bound = find_aligned(case.question, case.lang, gold.slots, asserted.true, text)
        aligned = sum(bound) / len(bound)
    verdict: VerdictName = "incorrect"
    if share and not misled:
        verdict = "correct" if share == 1 else "partial"
    elif refused:
        verdict = "refused"
    elif flags and not misled and _is_only_flag(text, flags[0]):
        verdict = "flag-only"
    return RobustVerdict(verdict, verdict == "correct", share, aligned, refused, bool(flags), misled, tuple(evidence))


def _is_usable(gold: Gold) -> bool:
    return bool(gold.slots) and all(slot.names or slot.dates or slot.quantities for slot in gold.slots)


def trim_response(reply: str) -> str:
    """Return the response without reasoning, which is replaced by spaces, and without the middle of a very long one."""
    if "think" in reply:
        reply = _THOUGHT.sub(lambda match: " " * len(match[0]), reply)
    if len(reply) > MAX_LENGTH:
        reply = reply[: MAX_LENGTH // 2] + "\n" + reply[-MAX_LENGTH // 2 :]
    return reply


def _is_copied(document: str, reply: str) -> bool:
    return _MIN_COPIED_LENGTH <= len(document) <= len(reply) and document in reply


def _find_spans(text: str, documents: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of copied documents, whose statements are not the model's own."""
    starts = [(text.find(document), len(document)) for document in documents]
    return [(start, start + length) for start, length in starts if start >= 0]


def _outside(mentions: Sequence[Mention], spans: Sequence[tuple[int, int]]) -> list[Mention]:
    return [
        mention
        for mention in mentions
        if not any(start <= mention.start and mention.end <= end for start, end in spans)
    ]


def _find_assertions(gold: Gold, response: FoldedResponse, *, has_refusal: bool) -> _Assertions:
    text = response.text
    by_answer = drop_contained([find_mentions(slot, gold, response) for slot in (*gold.slots, *gold.fakes)])
    true, false = by_answer[: len(gold.slots)], list(chain(*by_answer[len(gold.slots) :]))
    plain = is_plain(response.terms)
    evidence: list[Mention] = []

    def keep_asserted(mentions: Sequence[Mention], rivals: Sequence[Mention], answer: str) -> list[Mention]:
        kept = []
        for mention in mentions:
            status = "asserted" if plain else judge_mention(text, mention, mentions, rivals)
            if has_refusal and answer == "fake" and status == "asserted" and is_only_reported(text, mention):
                status = "reported"  # 'I cannot tell; the document only mentions X'
            evidence.append(mention._replace(rule=f"{answer}.{mention.rule}.{status}"))
            if status == "asserted":
                kept.append(mention)
            elif answer == "fake" and status in {"wrong", "quoted"}:
                evidence.append(mention._replace(rule="flag.fake"))
        return kept

    asserted_true = [keep_asserted(mentions, false, "answer") for mentions in true]
    asserted_false = keep_asserted(false, list(chain(*true)), "fake")
    final = _keep_final(gold, response, _Assertions(asserted_true, asserted_false, evidence))
    return _prefer_corrections(text, final)


def _keep_final(gold: Gold, response: FoldedResponse, asserted: _Assertions) -> _Assertions:
    """Ignore mentions before the final answer ('the answer is …') if a response announces it.

    If the final answer is a value of the expected kind ('the answer is 6'), mentions after it are ignored as well.
    """
    mentions = list(chain(asserted.false, *asserted.true))
    if not mentions or response.terms.isdisjoint(_FINAL_TERMS):
        return asserted
    markers = list(islice(_FINAL.finditer(response.text), MAX_MENTIONS))
    if not markers:
        return asserted
    start = markers[0 if len(gold.slots) > 1 else -1].end()  # each part of an answer can be announced
    end = next((value.end for value in _values(gold, response) if start <= value.start <= start + 2), None)
    if end is None:
        if not any(start <= mention.start <= start + _FINAL_REACH for mention in mentions):
            return asserted
        end = len(response.text)

    def keep(mentions: list[Mention]) -> list[Mention]:
        return [mention for mention in mentions if start <= mention.start < end]

    return asserted._replace(true=list(map(keep, asserted.true)), false=keep(asserted.false))


def _values(gold: Gold, response: FoldedResponse) -> Sequence[Quantity | Date]:
    """Return the possible answers to a question for a single quantity or date."""
    if len(gold.slots) == 1 and gold.slots[0].quantities:
        return response.quantities
    return response.dates if len(gold.slots) == 1 and gold.slots[0].dates else ()


def _prefer_corrections(text: str, asserted: _Assertions) -> _Assertions:
    """If a response asserts both the true and the false answer, keep the one that it presents as the correction."""
    if not asserted.false or not any(asserted.true):
        return asserted
    corrects_to_true = any(is_correcting(text, mention) for mention in chain(*asserted.true))
    corrects_to_false = any(is_correcting(text, mention) for mention in asserted.false)
    if corrects_to_true == corrects_to_false:
        return asserted
    return asserted._replace(false=[]) if corrects_to_true else asserted._replace(true=[[] for _ in asserted.true])


def _is_only_flag(text: str, flag: Mention) -> bool:
    """Return whether a response has hardly any text besides the sentence of its error flag."""
    before, after = sentence_around(text, flag)
    return len(text) - len(before) - len(after) - (flag.end - flag.start) < 12
