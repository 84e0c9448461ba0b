"""The data types that several packages share: frozen records without logic or I/O.

Data flows in one direction: Article → Question → Hit → Chunk → Passage → Item → Case → Completion → Estimate.
On disk, each record is one JSON object per line. An unknown field is an error, and fields with default values are left
out.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import fields

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Lang: TypeAlias = Literal["en", "zh"]
Kind: TypeAlias = Literal["base", "integration", "counterfactual"]
Stance: TypeAlias = Literal["supports", "distracts", "contradicts"]
# The relevance label of a passage, in more detail than `stance` (docs/reference/build.md).
Label: TypeAlias = Literal["positive", "mention", "related", "partial", "outdated", "contradicting", "random"]
Expectation: TypeAlias = Literal["answer", "refuse", "correct"]
Outcome: TypeAlias = Literal["ok", "truncated", "filtered", "error"]
ScoreName: TypeAlias = Literal["correct", "refused", "flagged"]

# Published items have up to 5 slots and 30 aliases. Scoring compares every slot with every other.
MAX_SLOTS, MAX_ALIASES = 100, 1_000
# Slots that are all required, each with interchangeable aliases.
Answer: TypeAlias = Annotated[
    tuple[Annotated[tuple[str, ...], Meta(max_length=MAX_ALIASES)], ...], Meta(max_length=MAX_SLOTS)
]
# An answer as in RGB's files: a string, or a list of strings and lists of aliases.
RawAnswer: TypeAlias = str | list[str | list[str]]


class Record(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all records: immutable, without unknown fields, and written without default values."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without default values: msgspec recognises them by identity and would write a copy of one."""
        values = {
            name: value for name, default in _defaults(type(self)) if (value := getattr(self, name)) is not default
        }
        return _restore, (type(self), values)


@cache
def _defaults(kind: type[Record]) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.default) for field in fields(kind))


def _restore(kind: type[Record], values: dict[str, object]) -> Record:
    return kind(**values)


class Article(Record, frozen=True, kw_only=True):
    """A text from outside: news for questions, a page that a search found, or a file."""

    id: str  # a hash of URL and text
    url: str  # a URL or the path of a file
    title: str
    text: str
    lang: Lang
    sha256: str  # hash of the downloaded bytes
    source: str  # the feed, list or folder that led to it
    date: str | None = None  # ISO date of publication
    licence: str | None = None


class Reject(Record, frozen=True, kw_only=True):
    """Something that a build step rejected, with the reason."""

    step: str
    what: str  # URL, path or ID
    outcome: str  # one word, e.g. robots, size, language, duplicate
    reason: str


class Hit(Record, frozen=True, kw_only=True):
    """A search result for a question."""

    question: str  # the search query
    rank: int  # from 1
    url: str
    title: str
    snippet: str
    engine: str
    date: str | None = None  # ISO date of the page


class Chunk(Record, frozen=True, kw_only=True):
    """A part of an article that is short enough for a prompt; it is not labelled yet."""

    article: str  # the article's ID
    start: int  # start and end are character offsets in the article's text
    end: int
    text: str
    tokens: int


class Labelling(Record, frozen=True, kw_only=True):
    """The relevance label of a passage for a question, with the reason."""

    label: Label
    rule: str  # the rule that decided, e.g. contains, anchors, surname, dateline, year, part, value, far, model
    reason: str
    support: tuple[int, int] | None = None  # character offsets of the sentence that contains the answer
    parts: tuple[int, ...] = ()  # the parts of the answer that the passage contains, from 0


class Question(Record, frozen=True, kw_only=True):
    """A question with its correct answer."""

    question: str
    lang: Lang
    answer: Answer
    article: str | None = None  # ID of the article that it was made from


class Passage(Record, frozen=True, kw_only=True):
    """A text that can be a document of a prompt, with its source and its relevance label."""

    text: str
    stance: Stance
    kind: str = "related"  # more detail than `stance`, e.g. related, rumour, outdated, partial
    part: int | None = None  # integration: the sub-question that it supports, from 0
    edit_of: int | None = None  # counterfactual: index of the true passage that it falsifies
    edits: tuple[tuple[int, int], ...] = ()  # counterfactual: character offsets of the false answer
    support: tuple[int, int] | None = None  # character offsets of the sentence that contains the answer
    url: str | None = None
    title: str | None = None
    date: str | None = None  # ISO date of the page
    snippet_of: str | None = None  # for a search engine's snippet: the URL of its page
    page: str | None = None  # ID of its article, which has the hash of the bytes (`steps/pages.jsonl` of a build)
    licence: str | None = None
    reviewed: bool = False  # whether a person set its label; rules do not check it then
    dials: dict[str, int | float | str | bool] | None = None  # perturbations of a synthetic text


class Item(Question, frozen=True, kw_only=True):
    """A question with its passages: one line of a dataset."""

    id: str
    passages: tuple[Passage, ...]
    fake: Answer | None = None  # counterfactual: the false answer of the edited passages
    rgb: dict[str, int | RawAnswer] | None = None  # fields of the RGB record, to write the same bytes again
    sub_questions: tuple[str, ...] = ()  # integration: one independent question per part of the answer
    event: str | None = None  # the event that it is about; items that share one are not independent
    dial: str | None = None  # the perturbation of this item of a minimal pair
    twin: str | None = None  # ID of the item of the pair that has no perturbation
    date: str | None = None  # ISO date of the event; models with a later knowledge cut-off may know the answer
    valid: tuple[str, str] | None = None  # first and last ISO date of the pages that give the answer
    known_by: tuple[str, ...] = ()  # models that answered without documents when the item was made


class Document(Record, frozen=True, kw_only=True):
    """A passage as it appears in a case."""

    text: str
    stance: Stance
    kind: str
    source: int  # index among the passages of its item
    item: str | None = None  # ID of its item, if that is the item of another question
    part: int | None = None  # integration: the part of the answer that it supports, from 0


class Message(Record, frozen=True, kw_only=True):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Case(Record, frozen=True, kw_only=True):
    """One question under one condition, with the messages to send.

    Example:
        >>> job = ragbed.plan_run(ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", noise=0.4))
        >>> case = next(iter(job.cases()))
        >>> case.testbed, [document.stance for document in case.documents].count("distracts")
        ('noise', 2)
    """

    case: str  # name, e.g. `data/item/testbed@noise=0.6,k=5,arm=related,profile=robust,seed=0`
    data: str
    item: str
    lang: Lang
    testbed: str
    question: str
    noise: Share | None  # requested fraction of distractors; None for a testbed without documents
    noise_real: Share | None  # actual fraction, or the nearest possible one if the case is infeasible
    k: Count  # requested number of documents
    correct: Share  # counterfactual: requested fraction of true documents
    arm: str  # distractor condition: related, random, fixed or control
    profile: str
    seed: int
    feasible: bool
    documents: tuple[Document, ...]
    slots: tuple[int, ...]  # positions, from 0, of the documents with an answer, in the order of selection
    messages: tuple[Message, ...]
    answer: Answer
    fake: Answer | None
    expect: Expectation
    rotation: int = 0  # how far the documents are rotated (`--positions all`)
    event: str | None = None  # the item's event
    reason: str | None = None  # why it is infeasible
    corpus: str | None = None  # end-to-end RAG: ID of the corpus that the system searches
    dial: str | None = None  # the perturbation of the item (docs/explanation/synthetic-data.md)
    twin: str | None = None  # ID of the item of the pair that has no perturbation
    rgb_answer: str | None = None  # the answer as JSON in the notation of an RGB file, if the item comes from one


class Retrieved(Record, frozen=True, kw_only=True):
    """A passage that a RAG system retrieved or cited."""

    id: str  # ID in the corpus, or the start of the text if the corpus does not contain it
    stance: Stance | None = None  # None if the corpus does not contain it
    part: int | None = None  # integration: the part of the answer that it supports, from 0
    text: str = ""


class Step(Record, frozen=True, kw_only=True):
    """One call of a case that takes several, or whose response has to be parsed."""

    messages: tuple[Message, ...]
    reply: str | None = None
    usage: dict[str, int] | None = None
    latency_s: float | None = None
    cached: bool = False  # whether it is from the response cache


class Served(Record, frozen=True, kw_only=True):
    """What the server reports about the call that made a response."""

    model: str | None = None  # may be more exact than the requested name, e.g. with a date
    provider: str | None = None  # of a router: the company whose servers answered
    fingerprint: str | None = None  # of weights and configuration
    id: str | None = None  # of the response, for questions to the provider


class Completion(Record, frozen=True, kw_only=True):
    """A model's response, or the reason why there is none.

    A response is `truncated` if it ended at the token limit or inside a thought, and `filtered` if the provider's
    content filter blocked it.

    Example:
        >>> ragbed.Completion(outcome="error", error="timeout: no answer within 10 s").reply is None
        True
    """

    outcome: Outcome
    reply: str | None = None
    reasoning: str | None = None  # the model's reasoning; never part of `reply` and never scored
    error: str | None = None  # kind of error: timeout, rate, server, auth, protocol, too-long, …
    finish: str | None = None
    usage: dict[str, int] | None = None  # tokens of all attempts: in, out, reasoning (part of out), cached (of in)
    latency_s: float | None = None
    attempts: int = 1
    max_tokens: int | None = None  # the token limit, if it was raised (`max_tokens="auto"`)
    served: Served | None = None
    retrieved: tuple[Retrieved, ...] | None = None  # end-to-end RAG, best first; None if not reported
    citations: tuple[Retrieved, ...] | None = None  # end-to-end RAG: the passages that the answer cites
    steps: tuple[Step, ...] = ()  # prompting strategies: the calls; usage, latency and attempts are their totals


class Estimate(Record, frozen=True, kw_only=True):
    """One cell of a table: a value with its interval and its counts."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    questions: int  # distinct questions; fewer than n if a question has several trials
    asked: int
    errors: int
    infeasible: int
    truncated: int = 0
