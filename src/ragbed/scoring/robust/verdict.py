"""Determine the verdict on a response from its asserted answers, refusals and error flags."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Case, Lang
from ragbed.scoring.robust.alignment import find_aligned
from ragbed.scoring.robust.decision import Decision, decide
from ragbed.scoring.robust.gold import Gold, prepare, read_question
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.model import MOST_CERTAIN, Phrases, read_phrases
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.reader import ResponseReader
from ragbed.scoring.robust.tokens import Token

VerdictName: TypeAlias = Literal[
    "correct", "partial", "incorrect", "refused", "flag-only", "empty", "unscored", "unsure"
]

MAX_LENGTH = 40_000  # maximum number of characters to read, half from each end of a response

_WORD_CHARACTER = lazy(r"\w")
_INVISIBLE = "\u200b"  # folding removes this character
# Matches a formula between dollar signs, but not two amounts of money: no space follows the first sign or precedes the
# second one, no digit follows the second one, and it is not part of US$ or A$.
_MATH = lazy(
    r"(?<![\\$A-Za-z0-9])\$(?=[^\s$])((?:\\\$|[^$\n]){1,200}?)(?<=[^\s\\])(?<!US)(?<!HK)(?<!NZ)(?<!\b[ACS])\$(?![0-9$])"
)
_LATEX = lazy(r"\\(?:boxed|text|textbf|mathrm|mathbf|mathit)\s*\{~?|\\[()\[\]]|\\(?=[%$&#])")
# HTML entities, and the escapes of JSON strings unless they may be LaTeX commands such as \neq.
_ENCODED = lazy(
    r"&(?:#[0-9]{2,5}|#[xX][0-9a-fA-F]{2,4}|[A-Za-z]{2,8});|\\u(?P<code>[0-9a-fA-F]{4})"
    r"|\\(?P<quote>[\"/])|\\n(?![a-z])"
)
_THOUGHT = lazy(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*</think(?:ing)?>")
# The classes of the words in refusals. An English response of a few words without any of them gives an answer.
_REFUSING = words(
    "negation inability absence evidence finding first-person advice hedge claim saying contrast question-word "
    "condition conflict error asking other plan bound pronoun"
)
_MAX_PLAIN_TOKENS = 12
_NO_ANSWER = lazy(r"\W*(?:(?:the |final )?answer(?: is|:)? ?|答案[是为:] ?)?\W*(?:n/a|idk|null)\W*")
_LONGEST_NO_ANSWER = 48
_MIN_BESIDE_FLAG = 12  # a response with fewer characters outside the sentence with the flag only flags an error
_MIN_COPIED_LENGTH = 40  # documents with fewer characters do not count as copied, even if a response contains them


class VerdictEvidence(NamedTuple):
    """A rule that contributed to a verdict and the span of the response that it matched."""

    rule: str
    start: int
    end: int
    text: str


class RobustVerdict(NamedTuple):
    """All results of the robust scorer for a response; scores are None if the gold answer cannot be matched.

    Attributes:
        mentions: The evidence, as spans of the folded response.
        odds: The log odds that the response is correct, refuses and flags an error, before calibration.
    """

    verdict: VerdictName
    correct: bool | None
    partial: float | None
    aligned: float | None
    refused: bool
    flagged: bool
    misled: bool
    mentions: tuple[Mention, ...]
    odds: tuple[float, float, float] = (-MOST_CERTAIN, -MOST_CERTAIN, -MOST_CERTAIN)


def judge(case: Case, reply: str) -> RobustVerdict:
    """Return the verdict on a response, with all scores of the robust scorer."""
    gold = prepare(case.question, case.answer, case.fake, case.lang, _stated(case))
    trimmed = trim_response(reply)
    text = fold(trimmed, case.lang)
    if not _WORD_CHARACTER.search(text):
        if not _is_usable(gold):
            return RobustVerdict("unscored", None, None, None, False, False, False, ())
        return RobustVerdict("empty", False, 0.0, 0.0, False, False, False, ())
    texts = [document.text for document in case.documents]
    response, length = FoldedResponse(text, trimmed), len(reply)
    copied = [each for each in texts if _MIN_COPIED_LENGTH <= len(each) <= length and each in reply]
    reader = ResponseReader(gold, read_question(case.question, case.lang), response)
    tokens = _outside(reader.tokens, _find_all(copied, text, case.lang)) if copied else reader.tokens
    phrases = read_phrases(tokens, reader.lang)
    if len(text) <= _LONGEST_NO_ANSWER and _NO_ANSWER.fullmatch(text):
        phrases = phrases._replace(refusal=MOST_CERTAIN)
    elif reader.lang == "en" and len(reader.tokens) <= _MAX_PLAIN_TOKENS:
        is_plain = all(_REFUSING.isdisjoint(token.classes) for token in reader.tokens)
        phrases = phrases._replace(refusal=-MOST_CERTAIN) if is_plain else phrases
    if len(copied) > 1:  # a response that copies several documents gives no answer
        decision = Decision([[] for _ in gold.slots], [], [Mention(0, len(text), "echo")])
    else:
        is_copy = bool(copied) and 2 * len(copied[0]) > len(trimmed)
        decision = decide(reader, phrases.refusal, is_copy=is_copy)
    return _conclude(case, gold, reader, phrases, decision)


def read_case(case: Case, reply: str) -> ResponseReader:
    """Return a reader that finds the candidates mentioned in a response to a case."""
    gold = prepare(case.question, case.answer, case.fake, case.lang, _stated(case))
    trimmed = trim_response(reply)
    response = FoldedResponse(fold(trimmed, case.lang), trimmed)
    return ResponseReader(gold, read_question(case.question, case.lang), response)


def _stated(case: Case) -> frozenset[str]:
    """Return the `states` values of the documents that do not support the answer."""
    return frozenset([each.states for each in case.documents if each.states and each.stance != "supports"])


def explain(case: Case, reply: str) -> tuple[VerdictName, list[VerdictEvidence]]:
    """Return the verdict and its evidence: the rules and the spans of the response that they matched."""
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


def _conclude(case: Case, gold: Gold, reader: ResponseReader, phrases: Phrases, decision: Decision) -> RobustVerdict:
    text, evidence = reader.text, [*reader.excluded, *decision.evidence]
    answered, misled = sum(map(bool, decision.true)), bool(decision.false)
    refused = phrases.refusal > 0 and not answered and not misled
    flagged = phrases.flag > 0
    for is_found, rule, number in (
        (phrases.refusal > 0, "refusal", phrases.refusal_at),
        (flagged, "flag", phrases.flag_at),
    ):
        if is_found:
            evidence.append(Mention(*_span(reader.tokens, number, len(text)), rule))
    if not _is_usable(gold):
        evidence.append(Mention(0, len(text), "gold.unusable"))
        return RobustVerdict("unscored", None, None, None, refused, flagged, misled, tuple(evidence))
    share = aligned = answered / len(gold.slots)
    if len(gold.slots) > 1:
        bound = find_aligned(case.question, case.lang, gold.slots, decision.true, text)
        aligned = sum(bound) / len(bound)
        if aligned < share:
            evidence.append(Mention(0, len(text), "parts.swapped"))
    verdict: VerdictName = "incorrect"
    if decision.is_contested:
        verdict = "unsure"
    elif aligned and not misled:
        verdict = "correct" if aligned == 1 else "partial"
    elif refused:
        verdict = "refused"
    elif flagged and not misled and len(text.strip()) - (evidence[-1].end - evidence[-1].start) < _MIN_BESIDE_FLAG:
        verdict = "flag-only"
    odds = MOST_CERTAIN if aligned == 1 else -MOST_CERTAIN
    if decision.odds is not None and (aligned == 1 or len(gold.slots) == 1):
        odds = decision.odds
    all_odds = (odds, min(phrases.refusal, -odds) if answered else phrases.refusal, phrases.flag)
    correct = verdict == "correct"
    return RobustVerdict(verdict, correct, share, aligned, refused, flagged, misled, tuple(evidence), all_odds)


def _span(tokens: Sequence[Token], sentence: int, length: int) -> tuple[int, int]:
    """Return a sentence's start and end in a folded response."""
    start = next((token.start for token in tokens if token.sentence == sentence), 0)
    end = next((token.start for token in tokens if token.sentence > sentence), length)
    return start, end


def _is_usable(gold: Gold) -> bool:
    return bool(gold.slots) and all(slot.names or slot.dates or slot.quantities or slot.times for slot in gold.slots)


def trim_response(reply: str) -> str:
    """Replace the reasoning in a response with spaces, hide LaTeX, and cut the middle of a very long response."""
    if "think" in reply:
        reply = _THOUGHT.sub(lambda match: " " * len(match[0]), reply)
    if len(reply) > MAX_LENGTH:
        reply = reply[: MAX_LENGTH // 2] + "\n" + reply[-MAX_LENGTH // 2 :]
    if "&" in reply or "\\" in reply:
        reply = _ENCODED.sub(_decode, reply)
    return _hide_latex(reply) if "$" in reply or "\\" in reply else reply


def _decode(found: re.Match[str]) -> str:
    """Return the character that an HTML entity or a JSON escape stands for, padded to the length of the match."""
    if found["code"]:
        character = chr(int(found["code"], 16))
    else:
        character = "\n" if found[0] == "\\n" else found["quote"] or html.unescape(found[0])
    padding = len(found[0]) - len(character)
    return found[0] if padding < 0 else character + _INVISIBLE * padding


def _hide_latex(reply: str) -> str:
    r"""Replace LaTeX commands with invisible characters, so that `$346 \text{ km}$` reads as 346 km."""
    reply = _MATH.sub(f"{_INVISIBLE}\\1{_INVISIBLE}", reply)
    reply = reply.replace("{,}", f",{_INVISIBLE * 2}").replace("\\,", f" {_INVISIBLE}").replace("\\ ", f" {_INVISIBLE}")
    return _LATEX.sub(lambda match: _INVISIBLE * len(match[0]), reply)


def _find_all(documents: Sequence[str], text: str, lang: Lang) -> list[tuple[int, int]]:
    """Return the spans of copied documents, whose statements are not the model's own."""
    folded = [fold(document, lang) for document in documents]
    return [(start, start + len(each)) for each in folded if (start := text.find(each)) >= 0]


def _outside(tokens: Sequence[Token], spans: Sequence[tuple[int, int]]) -> list[Token]:
    """Return the tokens that start outside all spans."""
    return [token for token in tokens if not any(start <= token.start < end for start, end in spans)]
