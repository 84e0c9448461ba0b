"""A case with what models said of it, as `pages/static/case.js` draws it: texts, and the stretches to be marked.

The viewer sends it as JSON, the single-file report carries it inside; both draw the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from ragbed.runner.store import Stored
from ragbed.schema import Answer, Case, Lang, Message, Retrieved, Step
from ragbed.scorers import score
from ragbed.scorers.robust import explain
from ragbed.scorers.robust.gold import Gold, prepare
from ragbed.scorers.robust.match import Reading, drop_contained, find_mentions
from ragbed.scorers.robust.normalise import fold, origins
from ragbed.scorers.value import Value

LONGEST_READ = 2_000
"""Characters of a reply that are looked for in documents: an answer stands at its beginning."""
_MOST_SPANS = 64
_TOKEN = re.compile(r"(?![的了是在])[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:[.,'’-][^\W_\u3400-\u9fff]+)*")
"""A word, a number, a Chinese character; characters of grammar end a run, as punctuation does."""
_WITHIN = re.compile(r"[ \u00a0·•&-]{0,3}")
"""What may stand between the words of one name."""
_MOST_PLAIN = 2
"""Words of no weight that may follow each other inside a name: University of the Arts."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_PLAIN = re.compile(
    r"a|an|and|as|at|based|but|by|according|for|from|he|her|his|however|i|if|in|is|it|its|my|no|not|of|on|or|our|she|"
    r"so|the|their|there|these|they|this|to|was|we|were|what|when|where|which|who|with|yes|you|your",
    re.IGNORECASE,
)
"""Words that begin a sentence with a capital and name nothing."""


class Span(Struct, frozen=True, omit_defaults=True):
    """A stretch of a text to be marked: what it is, and by which rule."""

    start: int
    end: int
    kind: str
    """gold, fake, predicted or cue."""
    title: str | None = None


class ShownDocument(Struct, frozen=True, omit_defaults=True):
    """A document as it was handed over."""

    text: str
    stance: str
    kind: str
    spans: list[Span]
    item: str | None = None


class ShownTrial(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one model said, and what is thought of it."""

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
    """Of the robust track; None without a reply."""
    scores: dict[str, Value] | None
    """Of all tracks, by name."""
    spans: list[Span]
    """In the reply, each with the rule that found it."""
    predicted: list[list[Span]]
    """For each document, where it says what the reply says."""
    retrieved: tuple[Retrieved, ...] | None = None
    """Own retrieval: what the system found; None where it does not say."""
    steps: tuple[Step, ...] = ()
    """Remedies: the calls behind the reply."""


class ShownCase(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was asked."""

    case: str
    data: str
    item: str
    lang: Lang
    testbed: str
    noise: float | None
    noise_real: float | None
    k: int
    correct: float
    arm: str
    profile: str
    seed: int
    expect: str
    question: str
    answer: Answer
    fake: Answer | None
    documents: list[ShownDocument]
    messages: tuple[Message, ...]


def show_case(case: Case) -> ShownCase:
    """A case with the answers marked in its documents."""
    gold = prepare(case.question, case.answer, case.fake, case.lang)
    documents = [
        ShownDocument(one.text, one.stance, one.kind, _answers_in(one.text, gold, case.lang), one.item)
        for one in case.documents
    ]
    same = {name: getattr(case, name) for name in ShownCase.__struct_fields__ if name != "documents"}
    return ShownCase(documents=documents, **same)


def show_trial(stored: Stored) -> ShownTrial:
    """What a model said of a case, with the grounds of the verdict marked."""
    case, completion = stored.case, stored.completion
    is_reply = completion.outcome == "ok"
    reply = completion.reply or ""
    verdict, findings = explain(case, reply) if is_reply else (None, [])
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
        cached=stored.cached,
        verdict=verdict,
        scores=score(case, reply) if is_reply else None,
        spans=[Span(one.start, one.end, _kind_of(one.rule), one.rule) for one in findings],
        predicted=[find_said(reply, one.text, case.question) if is_reply else [] for one in case.documents],
        retrieved=completion.retrieved,
        steps=completion.steps,
    )


def find_said(reply: str, document: str, question: str) -> list[Span]:
    """Where a document has names, numbers and Chinese words of a reply that the question does not have.

    It shows where an answer may come from, as the paper's Table 2 does by hand; a run of words is marked whole.
    """
    text = document.lower()
    said = dict.fromkeys(_runs(reply[:LONGEST_READ], text, question.lower()))
    spans: list[Span] = []
    for run in islice(sorted(said, key=len, reverse=True), _MOST_SPANS):
        for found in islice(re.finditer(_whole(run), text), _MOST_SPANS):
            if not any(span.start <= found.start() < span.end for span in spans):
                spans.append(Span(*found.span(), "predicted"))
    return sorted(spans, key=lambda span: span.start)[:_MOST_SPANS]


def _runs(reply: str, document: str, question: str) -> Iterator[str]:
    """The longest stretches of a reply, in whole tokens, that the document has; from one telling token to the last."""
    tokens = list(_TOKEN.finditer(reply))
    tells = [_tells(token, reply, question) for token in tokens]
    place = 0
    while place < len(tokens):
        end = place
        while end < len(tokens) and _goes_on(reply, tokens, tells, place, end):
            if reply[tokens[place].start() : tokens[end].end()].lower() not in document:
                break
            end += 1
        telling = [token for token, is_telling in zip(tokens[place:end], tells[place:end], strict=True) if is_telling]
        if telling:
            run = reply[telling[0].start() : telling[-1].end()].lower()
            if not (len(run) == 1 and _HAN.match(run)):
                yield run
        place = max(end, place + 1)


def _goes_on(reply: str, tokens: list[re.Match[str]], tells: list[bool], place: int, end: int) -> bool:
    """Whether a token can belong to the run that began at a place."""
    if end == place:
        return tells[place]
    is_near = _WITHIN.fullmatch(reply, tokens[end - 1].end(), tokens[end].start()) is not None
    return is_near and any(tells[max(place, end - _MOST_PLAIN) : end + 1])


def _tells(token: re.Match[str], reply: str, question: str) -> bool:
    """Whether a token could be part of an answer: Chinese, a number, a name, and not what was asked."""
    word = token[0]
    if _HAN.match(word):
        around = reply[max(0, token.start() - 1) : token.end() + 1]
        return not any(around[at : at + 2] in question for at in range(len(around) - 1))
    is_named = word[0].isdigit() or (word[0].isupper() and not _PLAIN.fullmatch(word))
    return is_named and re.search(_whole(word.lower()), question) is None


def _whole(run: str) -> str:
    """A pattern that does not find Ann in Annual."""
    before = "" if _HAN.match(run[0]) else r"(?<![^\W_])"
    after = "" if _HAN.match(run[-1]) else r"(?![^\W_])"
    return f"{before}{re.escape(run)}{after}"


def _answers_in(text: str, gold: Gold, lang: Lang) -> list[Span]:
    folded = fold(text, lang)
    reading = Reading(folded, (text,))
    owned = drop_contained([find_mentions(slot, gold, reading) for slot in (*gold.slots, *gold.fakes)])
    places = origins(text, lang)
    spans = []
    for number, mentions in enumerate(owned):
        kind = "gold" if number < len(gold.slots) else "fake"
        for one in mentions[:_MOST_SPANS]:
            end = places[max(one.start, one.end - 1)] + 1
            spans.append(Span(places[one.start], end, kind, f"{kind}: {one.rule}"))
    return sorted(spans, key=lambda span: span.start)


def _kind_of(rule: str) -> str:
    return {"answer": "gold", "fake": "fake"}.get(rule.partition(".")[0], "cue")
