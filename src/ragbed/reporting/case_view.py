"""Prepare the texts of a case and its responses, and the spans to highlight, for `pages/static/case.js`.

The viewer sends this data as JSON, and the single-file report contains it. Parts of a response (names, numbers and
Chinese words that are not in the question) are highlighted in documents, to show where an answer may have come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from ragbed.runs.store import StoredResult
from ragbed.schema import Answer, Case, Lang, Message, Retrieved, Served, Step
from ragbed.scoring import score_and_explain, without_credit
from ragbed.scoring.robust.gold import Gold, prepare
from ragbed.scoring.robust.match import FoldedResponse, drop_contained, find_mentions
from ragbed.scoring.robust.normalise import fold, origins
from ragbed.scoring.search import SEARCH_ERRORS, score_search
from ragbed.scoring.value import Value

LONGEST_READ = 2_000  # Maximum number of characters of a response to search; answers are usually at the beginning.
_MOST_SPANS = 64
# A word, a number or a Chinese character. Chinese particles end a run of tokens, as punctuation does.
_TOKEN = re.compile(r"(?![的了是在])[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:[.,'’-][^\W_\u3400-\u9fff]+)*")
_WITHIN = re.compile(r"[ \u00a0·•&-]{0,3}")  # Characters that may separate the words of a name.
_MOST_PLAIN = 2  # Maximum number of adjacent function words inside a name, e.g. "of the" in "University of the Arts".
_PLAIN_WORDS = (
    "a an and as at based but by according for from he her his however i if in is it its my no not of on or our she so "
    "the their there these they this to was we were what when where which who with yes you your"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())  # Words that are capitalised at the start of a sentence, but are not names.
# Words that are common in responses but are not part of an answer.
_PLAIN_HAN = frozenset(("年度", "根据", "文档", "资料", "信息", "显示", "提到", "分别", "可知", "因此", "以及", "其中"))
_NUMERALS = frozenset("零〇一二两三四五六七八九十百千万亿点")


@lru_cache(maxsize=8_192)  # The same responses and documents occur under many conditions.
def find_repeated(reply: str, document: str, question: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of a document that a response repeats, in order. Consecutive words form one span."""
    text = _small(document)
    runs = dict.fromkeys(_read(reply[:LONGEST_READ], question.lower()).runs_in(text))
    spans: list[tuple[int, int]] = []
    for run in islice(sorted(runs, key=len, reverse=True), _MOST_SPANS):
        for start in islice(_find_whole(run, text), _MOST_SPANS):
            if not any(first <= start < end for first, end in spans):
                spans.append((start, start + len(run)))
    return tuple(sorted(spans)[:_MOST_SPANS])


class _Response:
    """A tokenised response, used for all documents in its case.

    Args:
        reply: The response.
        question: The question in lower case.
    """

    def __init__(self, reply: str, question: str) -> None:
        self._text = _small(reply)
        tokens = list(_TOKEN.finditer(reply))
        self._starts = [token.start() for token in tokens]
        self._ends = [token.end() for token in tokens]
        self._tells = [
            _tells(token[0], reply[max(0, token.start() - 1) : token.end() + 1], question) for token in tokens
        ]
        self._is_near = [
            bool(place) and _WITHIN.fullmatch(reply, self._ends[place - 1], start) is not None
            for place, start in enumerate(self._starts)
        ]

    def runs_in(self, document: str) -> Iterator[str]:
        """Yield the longest token runs that occur in the document and that start and end with informative tokens."""
        after = 0
        for place, is_telling in enumerate(self._tells):
            if not is_telling or place < after:
                continue
            after = self._end_of_run(place, document)
            telling = [one for one in range(place, after) if self._tells[one]]
            if telling:
                run = self._text[self._starts[place] : self._ends[telling[-1]]]
                if not (len(run) == 1 and _is_han(run)) and run not in _PLAIN_HAN:
                    yield run

    def _end_of_run(self, place: int, document: str) -> int:
        """Return the end index (exclusive) of the longest run that starts at the given position."""
        found, end = 0, place
        while end < len(self._starts) and (end == place or self._goes_on(place, end)):
            # Search from the previous match, because the extended run cannot occur any earlier.
            found = document.find(self._text[self._starts[place] : self._ends[end]], found)
            if found < 0:
                break
            end += 1
        return end

    def _goes_on(self, place: int, end: int) -> bool:
        """Return whether a token can continue the run that starts at the given position."""
        return self._is_near[end] and any(self._tells[max(place, end - _MOST_PLAIN) : end + 1])


_read = lru_cache(maxsize=64)(_Response)


def _tells(word: str, around: str, question: str) -> bool:
    """Return whether a token can be part of an answer: a name, number or Chinese word that is not in the question."""
    if _is_han(word[0]):
        return not any(around[at : at + 2] in question for at in range(len(around) - 1))
    is_named = word[0].isdigit() or (word[0].isupper() and word.lower() not in _PLAIN)
    return is_named and next(_find_whole(word.lower(), question), None) is None


def _find_whole(run: str, text: str) -> Iterator[int]:
    """Yield the offsets at which a phrase occurs as whole words. Ann is not found in Annual, nor 四百 in 四百零七."""
    start = text.find(run)
    while start >= 0:
        end = start + len(run)
        before, after = text[start - 1 : start], text[end : end + 1]
        is_whole = not _goes_through(before, run[0]) and not _goes_through(run[-1], after)
        if is_whole:
            yield start
        start = text.find(run, end if is_whole else start + 1)


def _goes_through(before: str, after: str) -> bool:
    """Return whether two adjacent characters belong to the same word or number."""
    if not before or not after or {before, after} <= _NUMERALS:
        return bool(before and after)
    return not _is_han(before) and not _is_han(after) and before.isalnum() and after.isalnum()


def _small(text: str) -> str:
    """Lowercase a text without shifting offsets. A letter that becomes two characters, such as İ, is left unchanged."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff"


_MOST_SPANS = 64


class TextSpan(Struct, frozen=True, omit_defaults=True):
    """A highlighted span in a text; `title` names the rule that found it."""

    start: int
    end: int
    kind: str  # type of span: gold, fake, predicted or cue
    title: str | None = None


class ShownDocument(Struct, frozen=True, omit_defaults=True):
    """A document in a case."""

    text: str
    stance: str
    kind: str
    spans: list[TextSpan]
    item: str | None = None


class ShownTrial(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A response and its scores.

    `verdict` is from the robust scorer, and `scores` has all scorers. `spans` are highlighted in the response, and
    `predicted` has, for each document, the spans that the response repeats. `retrieved` is None unless an end-to-end
    system reports what it retrieved. `steps` are the calls made by a prompting strategy or the turns of an episode, and
    `search_errors` are the errors in an episode.
    """

    model: str
    repeat: int
    outcome: str
    reply: str | None
    error: str | None
    reasoning: str | None
    finish: str | None
    usage: dict[str, int] | None
    latency_s: float | None
    attempts: int
    cached: bool
    verdict: str | None
    scores: dict[str, Value] | None
    spans: list[TextSpan]
    predicted: list[list[TextSpan]]
    retrieved: tuple[Retrieved, ...] | None = None
    steps: tuple[Step, ...] = ()
    search_errors: tuple[str, ...] = ()
    max_tokens: int | None = None
    served: Served | None = None


class ShownCase(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A case and its item. In a minimal pair, `dial` names the perturbation, and `twin` is the paired item."""

    case: str
    data: str
    item: str
    lang: Lang
    testbed: str
    noise: float | None
    noise_real: float | None
    k: int
    true_ratio: float
    arm: str
    profile: str
    seed: int
    expect: str
    question: str
    answer: Answer
    fake: Answer | None
    documents: list[ShownDocument]
    messages: tuple[Message, ...]
    dial: str | None = None
    twin: str | None = None


def show_case(case: Case) -> ShownCase:
    """Return a case with the answers highlighted in its documents."""
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    documents = [
        ShownDocument(one.text, one.stance, one.kind, [*_answers_in(one.text, gold, case.lang)], one.item)
        for one in case.documents
    ]
    rest = {name: getattr(case, name) for name in ShownCase.__struct_fields__ if name != "documents"}
    return ShownCase(documents=documents, **rest)


def show_trial(stored: StoredResult) -> ShownTrial:
    """Return a response, highlighting the spans that explain its verdict."""
    case, completion = stored.case, stored.completion
    has_response = completion.outcome in ("ok", "truncated")
    reply = completion.reply or ""
    scores, findings = score_and_explain(case, reply) if has_response else (None, [])
    if scores is not None and completion.outcome == "truncated":
        scores = without_credit(scores)
    return ShownTrial(
        model=stored.model,
        repeat=stored.repeat,
        outcome=completion.outcome,
        reply=completion.reply,
        error=completion.error,
        reasoning=completion.reasoning,
        finish=completion.finish,
        usage=completion.usage,
        latency_s=completion.latency_s,
        attempts=completion.attempts,
        cached=stored.cached > 0,
        verdict=None if scores is None else str(scores["verdict"]),
        scores=scores,
        spans=[TextSpan(one.start, one.end, _kind_of(one.rule), one.rule) for one in findings],
        predicted=[_predicted(reply, one.text, case.question) if has_response else [] for one in case.documents],
        retrieved=completion.contexts if completion.retrieved is None else completion.retrieved,
        steps=completion.steps,
        search_errors=_search_errors(stored, scores or {}),
        max_tokens=completion.max_tokens,
        served=completion.served,
    )


def _search_errors(stored: StoredResult, scores: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the names of the errors in an episode of the `search` testbed."""
    values = score_search(stored.case, stored.completion, scores)
    return tuple(name for name in (*SEARCH_ERRORS, "stopped_early", "searched_too_long") if values.get(name) is True)


def _predicted(reply: str, document: str, question: str) -> list[TextSpan]:
    return [TextSpan(start, end, "predicted") for start, end in find_repeated(reply, document, question)]


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


def _kind_of(rule: str) -> str:
    return {"answer": "gold", "fake": "fake"}.get(rule.partition(".")[0], "cue")
