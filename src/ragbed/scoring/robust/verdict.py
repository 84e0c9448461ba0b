"""Determine the verdict on a response from its asserted answers, refusals and error flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from ragbed.schema import Case, Lang
from ragbed.scoring.robust.alignment import find_aligned
from ragbed.scoring.robust.decision import Decision, decide
from ragbed.scoring.robust.gold import Gold, answers_no, prepare
from ragbed.scoring.robust.match import FoldedResponse, Mention
from ragbed.scoring.robust.model import Phrases, read_phrases
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.robust.patterns import lazy, words
from ragbed.scoring.robust.question import read_question
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
_THOUGHT = lazy(r"(?s)<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*</think(?:ing)?>")
# If the response announces an answer, it is not a refusal, whatever else it says.
_ANNOUNCED = lazy(
    r"\banswer(?: is|:) \"?(?!I\b|The\b|That\b|Not?\b|None\b|N/A|Un|In|Cannot|Can't)(?:[A-Z]\w|[0-9])"
    r"|答案(?:是|为|:|：) ?(?![未不无沒没信暂尚并資资文:：])[\w《]"
)
# A response that consists of one of these phrases is a refusal, whatever its length.
_NO_ANSWER = lazy(
    r"\W*(?:(?:the |final )?answer(?: is|:)? ?|答案?(?:是|为|:) ?)?\W*(?:(?:it is |currently )?(?:unknown|unavailable"
    r"|unspecified|unstated|undetermined|undisclosed|unanswerable|unclear|(?:not|n't) (?:\w+ )?(?:available|applicable"
    r"|known|specified|stated|given|provided|mentioned|found|answerable|disclosed|clear|sure))|n/?a|none|nil|null|idk"
    r"|no (?:answer|data|info|information|idea|results?)(?: (?:available|found|provided|given))?"
    r"|insufficient (?:information|data|context)|cannot (?:answer|determine|be determined)"
    r"|(?:目前|资料|文档)?(?:暂?无(?:答案|数据|信息|资料|记录|结果|相关信息|相关数据|相关资料)?|未知|不详|不明|未提及|未提供"
    r"|未说明|未找到|未明确|不知道?|不清楚|无法(?:回答|确定|得知|判断|作答)|无从得知|没有答案|信息不足|查无结果))\W*"
)
_LONGEST_NO_ANSWER = 48
_SURE = 5.0  # log odds of a statement that a rule recognises
# The classes of the words in refusals. An English response of a few words without any of them gives an answer.
_REFUSING = words(
    "negation inability absence evidence finding first-person advice hedge claim saying contrast question-word "
    "condition conflict error asking other plan bound pronoun"
)
_ABBREVIATED = _REFUSING - {"first-person", "question-word"}  # in capitals, US and WHO are names
_MAX_PLAIN_TOKENS = 12
# Matches a line that reports whether the documents contain errors, as in 'Factual errors: none'. The group `denied`
# reverses the meaning, as in 'No errors: true'.
_ERROR_REPORT = lazy(
    r"(?:(?P<denied>(?:\b(?:no|without|zero|free (?:of|from))|(?:\bnot|n't) (?:contain|have|include)) "
    r"(?:(?:major|significant|obvious|clear|apparent|internal|explicit) )?)?"
    r"\b(?:any |document )?(?:factual |factuality )?(?:errors?|mistakes?|inaccurac(?:y|ies)|inconsistenc(?:y|ies)"
    r"|contradictions?|conflicts?|discrepanc(?:y|ies))(?: (?:check|found|detected|identified|status|noted|present))?"
    r"(?: (?:in|of) (?:the )?(?:\w+ )?(?:documents?|docs|context|sources?|passages?|text))?\??"
    r"|(?:是否(?:存在|有|含有?|包含)|(?P<denied_zh>(?:(?<!有)(?:没有?|无)|未|不)(?:发现|检测到|见|存在|包含|含有?)?"
    r"(?:任何|明显的?)?))?(?:事实性?)?(?:错误|矛盾|冲突|不一致)(?:检查|检测|核查|情况|说明|标记)?\??)"
    r" ?: ?(?:(?P<none>(?:none|not|no|n/a|nil|zero|0|false)(?: (?:any|errors?|found|detected|identified|present))*"
    r"|(?:暂?无|没有|否|未发现|未检测到|不存在|0)(?:明显)?(?:事实性?)?(?:错误|矛盾)?)|yes|true|有|是|存在)"
    r" ?(?=[.,](?![0-9])|[。;!)\n]|$)"
)
# Matches a clause that approves all documents, unlike 'I doubt that the documents are accurate'.
_CONSISTENT = lazy(
    r"(?:^|[.!?:;,(\n]) ?(?:i (?:can )?(?:confirm|found) that )?"
    r"((?:(?:(?:and|all|both|of|the|these) ){1,4}(?:(?:two|three|four|five) )?)?"
    r"(?:(?:provided|given|retrieved) )?(?:documents|passages|sources|texts) (?:all )?(?:are|appear to be|seem to be) "
    r"(?:all |factually |fully |mutually )?(?:consistent|accurate|reliable)\b)(?! (?:only|except|enough))"
)
# Matches a clause that approves only a few of the documents or none of them.
_UNRELIABLE = lazy(
    r"(?:\b(?:(?:hardly|barely|scarcely) any|(?<!a )few|(?:almost |nearly )?none) "
    r"(?:of )?(?:the |these |those )?(?:(?:provided|given|retrieved) )?(?:documents?|passages?|sources?|texts?) "
    r"(?:is|are|(?:appears?|seems?) to be) (?:\w+ )?(?:consistent|accurate|reliable)\b)(?! (?:only|except|enough|with))"
)
_APPROVING = ("consistent", "accurate", "reliable")
_REPORTED = (
    "错误",
    "矛盾",
    "冲突",
    "不一致",
    "error",
    "mistake",
    "inaccura",
    "inconsist",
    "contradict",
    "conflict",
    "discrepan",
)
_MIN_FLAG_TOKENS = 2  # minimum number of tokens in an English response that flags an error; one word is too vague
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
    """Return the verdict on a response, with all scores of the robust scorer."""
    gold = prepare(case.question, case.answer, case.fake, case.lang, _stated(case))
    trimmed = trim_response(reply)
    text = fold(trimmed, case.lang)
    if not _WORD_CHARACTER.search(text):
        if not _is_usable(gold):
            return RobustVerdict("unscored", None, None, None, False, False, False, ())
        return RobustVerdict("empty", False, 0.0, 0.0, False, False, False, ())
    texts = [document.text for document in case.documents]
    response, length = FoldedResponse(text, (trimmed, *texts)), len(reply)
    copied = [each for each in texts if _MIN_COPIED_LENGTH <= len(each) <= length and each in reply]
    reader = ResponseReader(gold, read_question(case.question, case.lang), response, trimmed)
    tokens = _outside(reader.tokens, _find_all(copied, text, case.lang)) if copied else reader.tokens
    phrases = _apply_rules(reader, tokens)
    if len(copied) > 1:  # a response that copies several documents gives no answer
        decision = Decision([[] for _ in gold.slots], [], [Mention(0, len(text), "echo")])
    else:
        is_copy = bool(copied) and 2 * len(copied[0]) > len(trimmed)
        decision = decide(reader, phrases.refusal, is_copy=is_copy)
    return _conclude(case, gold, reader, phrases, decision)


def _apply_rules(reader: ResponseReader, tokens: Sequence[Token]) -> Phrases:
    """Return whether a response flags an error or refuses, with the rules for error reports and for short responses."""
    text = reader.text
    is_english = reader.lang == "en"
    may_approve = is_english and any(map(text.__contains__, _APPROVING))
    spans = [found.span(1) for found in _CONSISTENT.finditer(text)] if may_approve else []
    is_reported = may_approve and _UNRELIABLE.search(text) is not None
    if ":" in text and any(map(text.__contains__, _REPORTED)):
        for report in _ERROR_REPORT.finditer(text):
            is_denied, is_none = bool(report["denied"] or report["denied_zh"]), bool(report["none"])
            is_reported |= not is_denied and not is_none
            spans += [report.span()] if is_denied != is_none else []
    if spans:
        tokens = _outside(tokens, spans)
    phrases = read_phrases(tokens, reader.lang)
    if is_reported:
        phrases = phrases._replace(flag=_SURE)
    if len(text) <= _LONGEST_NO_ANSWER and _NO_ANSWER.fullmatch(text):
        return phrases._replace(refusal=_SURE)
    if phrases.refusal > 0 and is_english and len(tokens) <= _MAX_PLAIN_TOKENS:
        refusing = _ABBREVIATED if reader.original.isupper() else _REFUSING
        if all(refusing.isdisjoint(token.classes) for token in tokens):
            return phrases._replace(refusal=-_SURE)
    return phrases


def read_case(case: Case, reply: str) -> ResponseReader:
    """Return a reader that finds the candidates mentioned in a response to a case."""
    gold = prepare(case.question, case.answer, case.fake, case.lang, _stated(case))
    trimmed = trim_response(reply)
    response = FoldedResponse(fold(trimmed, case.lang), (trimmed, *(document.text for document in case.documents)))
    return ResponseReader(gold, read_question(case.question, case.lang), response, trimmed)


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
    is_refusal = phrases.refusal > 0 and not _ANNOUNCED.search(reader.original) and not answers_no(gold, text)
    refused = is_refusal and not answered and not misled
    flagged = phrases.flag > 0 and (reader.lang == "zh" or len(reader.tokens) >= _MIN_FLAG_TOKENS)
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
    elif flagged and not misled and _is_only_flag(text, evidence[-1]):
        verdict = "flag-only"
    return RobustVerdict(verdict, verdict == "correct", share, aligned, refused, flagged, misled, tuple(evidence))


def _span(tokens: Sequence[Token], sentence: int, length: int) -> tuple[int, int]:
    """Return a sentence's start and end in a folded response."""
    start = next((token.start for token in tokens if token.sentence == sentence), 0)
    end = next((token.start for token in tokens if token.sentence > sentence), length)
    return start, end


def _is_usable(gold: Gold) -> bool:
    return bool(gold.slots) and all(slot.names or slot.dates or slot.quantities for slot in gold.slots)


def trim_response(reply: str) -> str:
    """Replace the reasoning in a response with spaces, hide LaTeX, and cut the middle of a very long response."""
    if "think" in reply:
        reply = _THOUGHT.sub(lambda match: " " * len(match[0]), reply)
    if len(reply) > MAX_LENGTH:
        reply = reply[: MAX_LENGTH // 2] + "\n" + reply[-MAX_LENGTH // 2 :]
    return _hide_latex(reply) if "$" in reply or "\\" in reply else reply


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
    kept, rest, end = [], sorted(spans, reverse=True), 0
    for token in tokens:
        while rest and rest[-1][0] <= token.start:
            end = max(end, rest.pop()[1])
        if token.start >= end:
            kept.append(token)
    return kept


def _is_only_flag(text: str, flag: Mention) -> bool:
    """Return whether a response consists almost entirely of the sentence that flags an error."""
    return len(text.strip()) - (flag.end - flag.start) < 12
