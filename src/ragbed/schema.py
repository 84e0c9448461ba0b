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
"""A number of things; a file with a negative or huge one is refused."""
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Lang: TypeAlias = Literal["en", "zh"]
Kind: TypeAlias = Literal["base", "integration", "counterfactual"]
Stance: TypeAlias = Literal["supports", "distracts", "contradicts"]
Label: TypeAlias = Literal["positive", "mention", "related", "partial", "outdated", "contradicting", "random"]
"""What a passage is to a question, finer than its stance (docs/quality.md)."""
Expectation: TypeAlias = Literal["answer", "refuse", "correct"]
Outcome: TypeAlias = Literal["ok", "refused", "error"]

MOST_SLOTS, MOST_ALIASES = 100, 1_000
"""Of one answer. Published items have up to 5 and 30; scoring compares every slot with every other."""
Answer: TypeAlias = Annotated[
    tuple[Annotated[tuple[str, ...], Meta(max_length=MOST_ALIASES)], ...], Meta(max_length=MOST_SLOTS)
]
"""Slots, all of which are wanted; each holds aliases, any of which will do."""

RawAnswer: TypeAlias = str | list[str | list[str]]
"""An answer as RGB's files spell it: a string, or a list of strings and lists of aliases."""


class Record(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What all nouns have in common: immutable, strict, and brief when written."""

    def __reduce__(self) -> tuple[object, ...]:
        """Travels to other processes without its defaults: copies of them would be written, as if they were not."""
        told = {name: value for name, default in _defaults(type(self)) if (value := getattr(self, name)) is not default}
        return _restore, (type(self), told)


@cache
def _defaults(kind: type[Record]) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.default) for field in fields(kind))


def _restore(kind: type[Record], told: dict[str, object]) -> Record:
    return kind(**told)


class Article(Record, frozen=True, kw_only=True):
    """A text from outside: news from which questions are made, a page that a search found, a file."""

    id: str
    """Follows from the address and the text, so that the same text at the same place is the same article."""
    url: str
    """Where it is from: an address, or the path of a file."""
    title: str
    text: str
    lang: Lang
    sha256: str
    """Of the bytes it was read from."""
    source: str
    """What led to it: the feed, the list, the folder."""
    date: str | None = None
    """ISO date of publication, where the source or the document gives one."""
    licence: str | None = None
    """Under which terms it may be passed on, where that is known."""


class Reject(Record, frozen=True, kw_only=True):
    """Something that did not pass a step of building, and why."""

    step: str
    what: str
    """Address, path or id."""
    outcome: str
    """One word: robots, size, language, duplicate, …"""
    reason: str


class Hit(Record, frozen=True, kw_only=True):
    """A page that a search engine names for a question."""

    question: str
    """What was searched for."""
    rank: int
    """Counted from 1."""
    url: str
    title: str
    snippet: str
    engine: str
    date: str | None = None
    """ISO date of the page, where the engine gives one."""


class Chunk(Record, frozen=True, kw_only=True):
    """A stretch of an article that is short enough to be handed to a model; its stance is not known yet."""

    article: str
    """Id of the article."""
    start: int
    end: int
    """In characters of the article's text."""
    text: str
    tokens: int


class Labelling(Record, frozen=True, kw_only=True):
    """What a passage was found to be to a question, and on which ground."""

    label: Label
    rule: str
    """The rule that decided: contains, anchors, surname, dateline, year, part, value, far, model, …"""
    reason: str
    """In words, with what was found."""
    support: tuple[int, int] | None = None
    """Start and end, in characters, of the sentence that bears the answer."""
    parts: tuple[int, ...] = ()
    """The parts of the answer that stand there, counted from 0."""


class Question(Record, frozen=True, kw_only=True):
    """A question and the answer that is right."""

    question: str
    lang: Lang
    answer: Answer
    article: str | None = None
    """Id of the article it was made from."""


class Passage(Record, frozen=True, kw_only=True):
    """A stretch of text that can be handed to a model, where it is from and how it stands to the answer."""

    text: str
    stance: Stance
    kind: str = "related"
    """Finer than stance: related, rumour, outdated, partial, …"""
    part: int | None = None
    """Integration: the sub-question it supports, counted from 0."""
    edit_of: int | None = None
    """Counterfactual: index, among the item's passages, of the true passage it falsifies."""
    edits: tuple[tuple[int, int], ...] = ()
    """Counterfactual: where the false answer was put, start and end in characters."""
    support: tuple[int, int] | None = None
    """Start and end, in characters, of the sentence that bears the answer."""
    url: str | None = None
    title: str | None = None
    date: str | None = None
    """ISO date of the page."""
    snippet_of: str | None = None
    """A search engine's snippet: the URL of the page it was cut from."""
    page: str | None = None
    """Id of the article it was cut from: the way to its bytes' hash in `steps/pages.jsonl` of a build."""
    licence: str | None = None
    """Under which terms it may be passed on, where that is known."""
    reviewed: bool = False
    """Whether a person set its stance in a review: rules may see it otherwise, and are not asked."""
    dials: dict[str, int | float | str | bool] | None = None
    """Generated text: what was varied, and how far (docs/synth.md)."""


class Item(Question, frozen=True, kw_only=True):
    """A question with its pools of passages: one line of a dataset."""

    id: str
    passages: tuple[Passage, ...]
    fake: Answer | None = None
    """Counterfactual: the false answer that the edited passages give."""
    rgb: dict[str, int | RawAnswer] | None = None
    """Fields of the RGB record it came from, as spelled there; needed to write the same bytes again."""
    sub_questions: tuple[str, ...] = ()
    """Integration: a question for each part of the answer, in its order, that can be asked by itself."""
    event: str | None = None
    """The event or series of events it is about; items that share one are not independent."""
    dial: str | None = None
    """The one cause of failure that is turned on in this item."""
    twin: str | None = None
    """Id of the item that is like this one in all but the dial, which is off there."""
    date: str | None = None
    """ISO date of the event: a model whose knowledge ends later may know the answer."""
    valid: tuple[str, str] | None = None
    """First and last ISO date of the pages that give the answer: after the last it may have changed."""
    known_by: tuple[str, ...] = ()
    """Models that gave the answer without any document when the item was made."""


class Document(Record, frozen=True, kw_only=True):
    """A passage as it stands in one case."""

    text: str
    stance: Stance
    kind: str
    source: int
    """Index among the passages of its item."""
    item: str | None = None
    """Id of the item it was taken from, where that is another question's."""


class Message(Record, frozen=True, kw_only=True):
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Case(Record, frozen=True, kw_only=True):
    """One question under one condition, ready to be asked.

    Example:
        >>> job = ragbed.plan_run(ragbed.RunSpec(model="scripted/oracle", data="ragbed-mini-en_base", noise=0.4))
        >>> case = next(iter(job.cases()))
        >>> case.testbed, [document.stance for document in case.documents].count("distracts")
        ('noise', 2)
    """

    case: str
    """The name, which parses back: `data/item/testbed@noise=0.6,k=5,arm=related,profile=robust,seed=0`."""
    data: str
    item: str
    lang: Lang
    testbed: str
    question: str
    noise: Share | None
    """Share of distracting documents that was asked for; None where there are no documents."""
    noise_real: Share | None
    """The share that is delivered, or, of an infeasible case, the nearest that could be."""
    k: Count
    """Number of documents asked for."""
    correct: Share
    """Counterfactual: share of true documents asked for."""
    arm: str
    """What the distracting documents are: related, random, fixed, control."""
    profile: str
    seed: int
    feasible: bool
    documents: tuple[Document, ...]
    slots: tuple[int, ...]
    """Where, counted from 0, the documents that bear an answer stand: the first drawn first."""
    messages: tuple[Message, ...]
    answer: Answer
    fake: Answer | None
    expect: Expectation
    rotation: int = 0
    """How far the layout is turned from the item's own (`--positions all`)."""
    event: str | None = None
    """The item's: cases that share one are not independent."""
    reason: str | None = None
    """Why it is infeasible."""
    corpus: str | None = None
    """Own retrieval: id of the corpus that the system searches in place of getting documents."""
    dial: str | None = None
    """Of the perturbed item of a minimal pair: what was perturbed (docs/synth.md)."""
    twin: str | None = None
    """Id of the other item of that pair, which asks the same question without the perturbation."""


class Retrieved(Record, frozen=True, kw_only=True):
    """A passage that a system found, or cites, by itself."""

    id: str
    """In the corpus; of a passage that is not there, the beginning of what the system named."""
    stance: Stance | None = None
    """To the question; None: the corpus has no such passage."""
    part: int | None = None
    """Integration: the part of the answer that it supports, counted from 0."""
    text: str = ""


class Step(Record, frozen=True, kw_only=True):
    """One call of a case that takes several, or whose reply is not the answer as it stands."""

    messages: tuple[Message, ...]
    reply: str | None = None
    usage: dict[str, int] | None = None
    latency_s: float | None = None
    cached: bool = False
    """Taken from the response cache: read, and not paid again."""


class Completion(Record, frozen=True, kw_only=True):
    """What a model said, or why it did not.

    Example:
        >>> ragbed.Completion(outcome="error", error="timeout: no answer within 10 s").reply is None
        True
    """

    outcome: Outcome
    reply: str | None = None
    reasoning: str | None = None
    """What a reasoning model thought before it answered, where it says so; never part of the reply."""
    error: str | None = None
    """Kind of error: timeout, rate, server, auth, protocol, too-long, …"""
    finish: str | None = None
    usage: dict[str, int] | None = None
    latency_s: float | None = None
    attempts: int = 1
    retrieved: tuple[Retrieved, ...] | None = None
    """Own retrieval: what was found, the best first; None where the system does not say."""
    citations: tuple[Retrieved, ...] | None = None
    """Own retrieval: what the answer is said to rest on."""
    steps: tuple[Step, ...] = ()
    """Remedies: the calls behind the reply; usage, latency and attempts are their sums."""


class Estimate(Record, frozen=True, kw_only=True):
    """One cell of a table: never a rate without its counts."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    questions: int
    """Distinct questions behind the value; fewer than n where a question has several trials."""
    asked: int
    errors: int
    infeasible: int
