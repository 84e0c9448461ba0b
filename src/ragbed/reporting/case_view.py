"""Prepare the texts of a case and its responses, and the spans to highlight, for `pages/static/case.js`.

The viewer sends this data as JSON, and the single-file report contains it. Parts of a response (names, numbers and
Chinese words that are not in the question) are highlighted in documents, to show where an answer may have come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import asdict

from ragbed.runs.store import StoredResult
from ragbed.schema import Case, Completion, Document, Lang
from ragbed.scoring import score_and_explain, without_credit
from ragbed.scoring.injection import score_injection
from ragbed.scoring.robust.gold import Gold, prepare
from ragbed.scoring.robust.match import FoldedResponse, drop_contained, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.search import SEARCH_ERRORS, score_search
from ragbed.scoring.value import Value
from ragbed.testbeds.prompts.injection import find_injected
from ragbed.text import split_sentences, to_terms

LONGEST_READ = 2_000  # Maximum number of characters of a response to search; answers are usually at the beginning.
_MOST_SPANS = 64
_MIN_GIVEN = 0.6  # minimum share of the words of a supported sentence that are in the documents or the question
_HAN = r"\u3400-\u9fff"
_WORD = re.compile(rf"[^\W_{_HAN}]+(?:[.,'’-][^\W_{_HAN}]+)*")  # a word or a number, without Chinese characters
_PHRASE_ZH = re.compile(rf"(?:(?![的了是在])[{_HAN}])+")  # particles end a phrase, as punctuation does
_WITHIN = re.compile(
    r"(?:[ \u00a0·•&-]|\b(?:and|de|for|in|of|the|von)\b){0,5}"
)  # what may separate the words of a name
_PLAIN_WORDS = (
    "a an and as at based but by according for from he her his however i if in is it its my no not of on or our she so "
    "the their there these they this to was we were what when where which who with yes you your"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())  # Words that are capitalised at the start of a sentence, but are not names.
# Pairs of characters that are common in responses but are not part of an answer.
_PLAIN_HAN = frozenset(("年度", "根据", "文档", "资料", "信息", "显示", "提到", "分别", "可知", "因此", "以及", "其中"))


@lru_cache(maxsize=8_192)  # The same responses and documents occur under many conditions.
def find_repeated(reply: str, document: str, question: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a document that a response repeats, in order. The words of a name form one span."""
    words, pairs = _find_telling(reply[:LONGEST_READ], question)
    found = [word.span() for word in _WORD.finditer(document) if word[0].lower().removesuffix("'s") in words]
    found += [(at, at + 2) for at in range(len(document) - 1) if document[at : at + 2] in pairs] if pairs else []
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and (start <= spans[-1][1] or _WITHIN.fullmatch(document, spans[-1][1], start)):
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif len(spans) < _MOST_SPANS:
            spans.append((start, end))
        else:
            break
    texts = {document[start:end] for start, end in spans}  # a part of a longer repeated text is probably a coincidence
    return tuple(
        (start, end)
        for start, end in spans
        if not any(document[start:end] in text for text in texts - {document[start:end]})
    )


@lru_cache(maxsize=64)
def _find_telling(reply: str, question: str) -> tuple[set[str], set[str]]:
    """Return the names and numbers of a response that are not in the question, and the pairs of Chinese characters."""
    asked = {word.lower() for word in _WORD.findall(question)}
    named = {word.lower() for word in _WORD.findall(reply) if word[0].isdigit() or word[0].isupper()}
    pairs = {first + second for phrase in _PHRASE_ZH.findall(reply) for first, second in pairwise(phrase)}
    return named - asked - _PLAIN, {pair for pair in pairs if pair not in question and pair not in _PLAIN_HAN}


class TextSpan(Struct, frozen=True, omit_defaults=True):
    """A highlighted span in a text; `title` names the rule that found it."""

    start: int
    end: int
    kind: str  # type of span: gold, fake, predicted, injected or cue
    title: str | None = None


class ShownDocument(Document, frozen=True, kw_only=True):
    """A document of a case with the spans that contain an answer or an injected instruction."""

    spans: tuple[TextSpan, ...]


class ShownCase(Case, frozen=True, kw_only=True):
    """A case with the answers and instructions highlighted in its documents."""

    documents: tuple[ShownDocument, ...]


class ShownTrial(Completion, frozen=True, kw_only=True):
    """A response and its scores.

    `verdict` is from the robust scorer, and `scores` has all scorers. `spans` are highlighted in the response, and
    `predicted` has, for each document, the spans that the response repeats. `retrieved` is None unless an end-to-end
    system reports what it retrieved. `search_errors` are the errors in an episode.
    """

    model: str
    repeat: int
    cached: bool
    verdict: str | None
    scores: dict[str, Value] | None
    spans: list[TextSpan]
    predicted: list[list[TextSpan]]
    search_errors: tuple[str, ...] = ()


_SEARCH_ERRORS = (*SEARCH_ERRORS, "stopped_early", "searched_too_long")
_KINDS = {"answer": "gold", "fake": "fake"}  # types of spans by the first part of the rule; all others are cues


def show_case(case: Case) -> ShownCase:
    """Return a case with the answers and instructions highlighted in its documents."""
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    documents = [
        ShownDocument(**asdict(one), spans=(*_answers_in(one.text, gold, case.lang), *_injected_in(one.text, case)))
        for one in case.documents
    ]
    return ShownCase(**asdict(case) | {"documents": tuple(documents)})


def show_trial(stored: StoredResult) -> ShownTrial:
    """Return a response, highlighting the spans that explain its verdict."""
    case, completion = stored.case, stored.completion
    has_response = completion.outcome in ("ok", "truncated")
    reply = completion.reply or ""
    scores, findings = score_and_explain(case, reply) if has_response else (None, [])
    if scores is not None and completion.outcome == "truncated":
        scores = without_credit(scores)
    searched = score_search(case, completion, scores or {})
    if scores is not None:
        scores |= score_injection(case, completion)
    kinds = [(one, _KINDS.get(one.rule.partition(".")[0], "cue")) for one in findings]
    return ShownTrial(
        **asdict(completion) | {"citations": None},
        model=stored.model,
        repeat=stored.repeat,
        cached=stored.cached > 0,
        verdict=None if scores is None else str(scores["verdict"]),
        scores=scores,
        spans=[
            *(TextSpan(one.start, one.end, kind, one.rule) for one, kind in kinds),
            *_injected_in(reply, case),
            *_find_unsupported(case, reply),
        ],
        predicted=[
            [TextSpan(*place, "predicted") for place in find_repeated(reply, one.text, case.question) if has_response]
            for one in case.documents
        ],
        search_errors=tuple(name for name in _SEARCH_ERRORS if searched.get(name) is True),
    )


def _injected_in(text: str, case: Case) -> Iterator[TextSpan]:
    """Yield the spans of a document or response that contain the instruction of its case, or its canary."""
    for start, end in find_injected(text, case.injection) if case.injection else ():
        yield TextSpan(start, end, "injected", "instruction in a document")


def _find_unsupported(case: Case, reply: str) -> Iterator[TextSpan]:
    """Yield the sentences of a response without a gold answer, as in traces, most of whose words are in no document."""
    if case.answer or not case.documents:
        return
    given = set(to_terms("\n".join((case.question, *(document.text for document in case.documents)))))
    for start, end in split_sentences(reply):
        terms = to_terms(reply[start:end])
        if terms and sum(term in given for term in terms) < _MIN_GIVEN * len(terms):
            yield TextSpan(start, start + len(reply[start:end].rstrip()), "unsupported", "not in the documents")


@lru_cache(maxsize=1_024)  # Cases for the same question often share documents.
def _answers_in(text: str, gold: Gold, lang: Lang) -> tuple[TextSpan, ...]:
    folded = fold(text, lang)
    reading = FoldedResponse(folded, text)
    owned = drop_contained([find_mentions(slot, gold, reading) for slot in (*gold.slots, *gold.fakes)])
    if not any(owned):
        return ()
    places = origins(text, lang)
    spans = []
    for number, mentions in enumerate(owned):
        kind = "gold" if number < len(gold.slots) else "fake"
        for one in mentions[:_MOST_SPANS]:
            end = places[max(one.start, one.end - 1)] + 1
            spans.append(TextSpan(places[one.start], end, kind, f"{kind}: {one.rule}"))
    return tuple(sorted(spans, key=lambda span: span.start))
