"""Decide the verdict of a response from its asserted answers, refusals and error flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Case
from ragbed.scoring.robust.alignment import find_aligned
from ragbed.scoring.robust.answered import gives_answer
from ragbed.scoring.robust.assertion import is_correcting, sentence_around
from ragbed.scoring.robust.assertions import Assertions, ResponseReader
from ragbed.scoring.robust.gold import Gold, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.phrases import find_phrases
from ragbed.scoring.robust.question import read_question
from ragbed.scoring.robust.refusal import WEAK, is_withdrawn

VerdictName: TypeAlias = Literal[
    "correct", "partial", "incorrect", "refused", "flag-only", "empty", "unscored", "unsure"
]

MAX_LENGTH = 200_000  # maximum number of characters to read, half from each end of a response

_WORD_CHARACTER = re.compile(r"\w")
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*</think(?:ing)?>", re.DOTALL)
_CONTRADICTIONS = frozenset({"flag.contradiction", "flag.矛盾"})
_RESOLVED = re.compile(
    r"\b(?:trust|prefer|go with|side with|more reliable|more credible|only|must be|correct|considering|majority)\b"
    r"|为准|可信|可靠|[相采]信|权威|倾向"
)
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
    gold = prepare(case.question, case.answer, case.fake, case.lang, _stated(case))
    trimmed = trim_response(reply)
    text = fold(trimmed, case.lang)
    if not _WORD_CHARACTER.search(text):
        if not _is_usable(gold):
            return RobustVerdict("unscored", None, None, None, False, False, False, ())
        return RobustVerdict("empty", False, 0.0, 0.0, False, False, False, ())
    texts = [document.text for document in case.documents]
    response, length = FoldedResponse(text, (trimmed, *texts)), len(reply)
    documents = [each for each in texts if _MIN_COPIED_LENGTH <= len(each) <= length and each in reply]
    copied = _find_spans(text, [fold(document, case.lang) for document in documents])
    asked = read_question(case.question, case.lang)
    refusals, flags = find_phrases(text, response.terms, asked)
    if copied:
        refusals, flags = _outside(refusals, copied), _outside(flags, copied)
    if len(documents) > 1:  # the response copies documents and answers nothing
        asserted = Assertions([[] for _ in gold.slots], [], [Mention(0, len(text), "echo")])
    else:
        is_copy = bool(documents) and 2 * len(documents[0]) > len(trimmed)
        phrases = [each for each in (*refusals, *flags) if each.rule not in WEAK and each.rule not in _CONTRADICTIONS]
        asserted = ResponseReader(gold, asked, response, trimmed, phrases, is_copy=is_copy).read()
        is_empty = not asserted.false and not any(asserted.true)
        if refusals and is_empty and gives_answer(text, asked, case.lang, refusals):
            asserted = asserted._replace(is_answered=True)
        if not asserted.is_answered and _is_undecided(text, asserted, flags):
            asserted = asserted._replace(is_contested=True)
    return _conclude(case, gold, text, asserted, [*asserted.evidence, *refusals, *flags])


def _stated(case: Case) -> frozenset[str]:
    """Return the recorded values of the documents that do not support the answer."""
    return frozenset([each.states for each in case.documents if each.states and each.stance != "supports"])


def _is_undecided(text: str, asserted: Assertions, flags: Sequence[Mention]) -> bool:
    """Return whether a response only reports that documents contradict each other, and gives no answer afterwards."""
    starts = [flag.start for flag in flags if flag.rule in _CONTRADICTIONS]
    if not starts or len(starts) < len(flags) or len(asserted.true) != 1 or not asserted.true[0]:
        return False
    last = asserted.true[0][-1]
    if _RESOLVED.search(text, min(starts)):
        return False
    sentence = last.start - len(sentence_around(text, last)[0])
    return sentence <= min(starts) and not is_correcting(text, last)


def explain(case: Case, reply: str) -> tuple[VerdictName, list[VerdictEvidence]]:
    """Return the verdict and its evidence: the rules and the matching spans of the response."""
    judged = judge(case, reply)
    return judged.verdict, find_evidence(case, reply, judged)


def find_evidence(case: Case, reply: str, judged: RobustVerdict) -> list[VerdictEvidence]:
    """Return the rules behind a verdict and the spans of the response that they matched."""
    positions = origins(trim_response(reply), case.lang)
    omitted = max(0, len(reply) - MAX_LENGTH - 1)
    evidence = []
    for mention in sorted(judged.mentions):
        start, end = positions[mention.start], positions[max(mention.start, mention.end - 1)] + 1
        if start > MAX_LENGTH // 2:
            start, end = start + omitted, end + omitted
        evidence.append(VerdictEvidence(mention.rule, start, end, reply[start:end]))
    return evidence


def _conclude(case: Case, gold: Gold, text: str, asserted: Assertions, evidence: list[Mention]) -> RobustVerdict:
    answered = sum(map(bool, asserted.true))
    misled = bool(asserted.false)
    refusals = [mention for mention in evidence if mention.rule.startswith("refusal")]
    has_answer = bool(answered) or misled or asserted.is_answered
    refused = bool(refusals) and not has_answer and not is_withdrawn(text, refusals)
    if misled:  # a response that gives the false answer does not call it wrong
        evidence = [mention for mention in evidence if mention.rule != "flag.fake"]
    flags = [mention for mention in evidence if mention.rule.startswith("flag")]
    if not _is_usable(gold):
        evidence.append(Mention(0, len(text), "gold.unusable"))
        return RobustVerdict("unscored", None, None, None, refused, bool(flags), misled, tuple(evidence))
    share = aligned = answered / len(gold.slots)
    if len(gold.slots) > 1:
        bound = find_aligned(case.question, case.lang, gold.slots, asserted.true, text)
        aligned = sum(bound) / len(bound)
        if aligned < share:
            evidence.append(Mention(0, len(text), "parts.swapped"))
    verdict: VerdictName = "incorrect"
    if asserted.is_contested:
        verdict = "unsure"
    elif aligned and not misled:
        verdict = "correct" if aligned == 1 else "partial"
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


def _is_only_flag(text: str, flag: Mention) -> bool:
    """Return whether a response consists almost entirely of the sentence with its error flag."""
    before, after = sentence_around(text, flag)
    return len(text) - len(before) - len(after) - (flag.end - flag.start) < 12
