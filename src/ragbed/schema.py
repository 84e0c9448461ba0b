"""Data types shared by several packages: frozen records without logic or I/O.

Data flows in one direction: Article → Question → Hit → Chunk → Passage → Item → Case → Completion → Estimate.
On disk, each record is one JSON object per line. An unknown field is an error, and fields with default values are left
out.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import fields

Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Lang: TypeAlias = Literal["en", "zh"]
Kind: TypeAlias = Literal["base", "integration", "counterfactual", "given"]
Stance: TypeAlias = Literal["supports", "distracts", "contradicts"]
# A passage's relevance label, which is more detailed than `stance` (docs/reference/build.md).
Label: TypeAlias = Literal["positive", "mention", "related", "partial", "outdated", "contradicting", "random"]
# What a response should do: give the right answer, refuse, flag an error in the documents (and give the right answer
# if it is known), or either give the right answer or refuse.
Expectation: TypeAlias = Literal["answer", "refuse", "correct", "any"]
Outcome: TypeAlias = Literal["ok", "truncated", "filtered", "error"]
ScoreName: TypeAlias = Literal["correct", "refused", "flagged", "expected"]
# The kinds of instructions in documents: write a canary only, add one to the answer, recommend a product, decline.
InjectionKind: TypeAlias = Literal["override", "append", "recommend", "refuse"]

# Maximum number of slots per answer and of aliases per slot. Scoring compares every pair of slots, so the limits
# bound its running time. Published items have up to 5 slots and 30 aliases.
MAX_SLOTS, MAX_ALIASES = 100, 1_000
# A list of slots, all of which are required; each slot is a list of interchangeable aliases.
Answer: TypeAlias = Annotated[
    tuple[Annotated[tuple[str, ...], Meta(max_length=MAX_ALIASES)], ...], Meta(max_length=MAX_SLOTS)
]
# An answer as in RGB's files: a string, or a list of strings and lists of aliases.
RawAnswer: TypeAlias = (
    str | Annotated[list[str | Annotated[list[str], Meta(max_length=MAX_ALIASES)]], Meta(max_length=MAX_SLOTS)]
)


class Record(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base class of records, which are immutable, reject unknown fields and omit default values when written."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle only non-default values.

        msgspec detects defaults by identity, so it would write defaults that were restored from a pickle.
        """
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
    """A text from an external source: a news article, a web page found by a search, or a file."""

    id: str  # hash of the URL and text
    url: str  # URL or file path
    title: str
    text: str
    lang: Lang
    sha256: str  # hash of the downloaded bytes
    source: str  # the feed, list or folder where the article was found
    date: str | None = None  # ISO date of publication
    licence: str | None = None


class Reject(Record, frozen=True, kw_only=True):
    """An input that a build step rejected, with the reason."""

    step: str
    what: str  # URL, path or ID of the input
    outcome: str  # type of rejection in one word, e.g. robots, size, language, duplicate
    reason: str


class Hit(Record, frozen=True, kw_only=True):
    """A search result for a question."""

    question: str  # the search query
    rank: int  # rank in the search results, starting at 1
    url: str
    title: str
    snippet: str
    engine: str
    date: str | None = None  # ISO date of the page


class Labelling(Record, frozen=True, kw_only=True):
    """The relevance label of a passage for a question, with the reason."""

    label: Label
    rule: str  # the rule that set the label, e.g. contains, anchors, surname, dateline, year, part, value, far, model
    reason: str
    support: tuple[int, int] | None = None  # character offsets of the sentence that contains the answer
    parts: tuple[int, ...] = ()  # zero-based indexes of the answer parts that the passage contains


class Question(Record, frozen=True, kw_only=True):
    """A question with its correct answer."""

    question: str
    lang: Lang
    answer: Answer
    article: str | None = None  # ID of the article that the question is based on


class Passage(Record, frozen=True, kw_only=True):
    """A text that can be used as a document in a prompt, with its source and relevance label."""

    text: str
    stance: Stance
    kind: str = "related"  # label that is more detailed than `stance`, e.g. related, rumour, outdated, partial
    part: int | None = None  # integration: zero-based index of the sub-question that the passage supports
    edit_of: int | None = None  # counterfactual: index of the true passage from which this one was made
    edits: tuple[tuple[int, int], ...] = ()  # counterfactual: character offsets of the false answer
    support: tuple[int, int] | None = None  # character offsets of the sentence that contains the answer
    url: str | None = None
    title: str | None = None
    date: str | None = None  # ISO date of the page
    snippet_of: str | None = None  # for a search engine's snippet: the URL of its page
    page: str | None = None  # ID of the passage's article; `steps/pages.jsonl` maps it to the page's hash
    licence: str | None = None
    reviewed: bool = False  # whether a person set the label, in which case rules do not check it
    dials: dict[str, int | float | str | bool] | None = None  # perturbations of a synthetic text


class GivenDocument(Record, frozen=True, kw_only=True):
    """A document that is shown as it is, at its place in the item."""

    text: str
    stance: Stance | None = None  # None if the document has no relevance label


class Item(Question, frozen=True, kw_only=True):
    """A question with its passages, from which documents are selected, or with given documents: a line of a dataset."""

    id: str
    answer: Answer = ()  # empty only if it is unknown, in an item with given documents
    passages: tuple[Passage, ...] = ()
    documents: tuple[GivenDocument, ...] = ()  # given documents, in the order in which they are shown
    expect: Expectation | None = None  # set for given documents: what a response to them should do
    fake: Answer | None = None  # counterfactual: the false answer in the edited passages
    rgb: dict[str, int | RawAnswer] | None = None  # fields of the original RGB record, to reproduce it byte for byte
    sub_questions: tuple[str, ...] = ()  # integration: one independent question per part of the answer
    event: str | None = None  # the event that the question is about; items on the same event are not independent
    dial: str | None = None  # the perturbation, if this is the perturbed item of a minimal pair
    twin: str | None = None  # ID of the unperturbed item of the pair
    date: str | None = None  # ISO date of the event; models with a later knowledge cut-off may know the answer
    valid: tuple[str, str] | None = None  # earliest and latest ISO dates of the pages that state the answer
    known_by: tuple[str, ...] = ()  # models that answered correctly without documents when the item was created


class Document(Record, frozen=True, kw_only=True):
    """A passage as it appears in a case."""

    text: str
    stance: Stance | None  # None if the document has no label, as in traces
    kind: str
    source: int  # index of the passage in its item
    item: str | None = None  # ID of the item that the document was taken from, if it is not the case's own item
    part: int | None = None  # integration: zero-based index of the answer part that the document supports
    states: str | None = None  # the value that a synthetic document gives as an answer to the question, if recorded


class Injection(Record, frozen=True, kw_only=True):
    """An instruction that was inserted into a document of a case."""

    kind: InjectionKind
    canary: str  # an invented word that only a response that follows the instruction contains
    text: str  # the instruction as it appears in the document


class ToolCall(Record, frozen=True, kw_only=True):
    """A model's request to call a tool, as the model wrote it."""

    id: str
    name: str
    arguments: str  # JSON text from the model, not necessarily valid
    extra: dict[str, Any] | None = None  # other fields from the provider, which expects them back in the next request


class Message(Record, frozen=True, kw_only=True):
    """One message in a prompt."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()  # assistant: the tool calls in the message
    call: str | None = None  # tool: ID of the call that the message responds to
    is_error: bool = False  # tool: True if the call could not be executed


class Case(Record, frozen=True, kw_only=True):
    """One question under one condition, with the messages to send to the model.

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
    noise_real: Share | None  # actual fraction of distractors; for an infeasible case, the nearest possible fraction
    k: Count  # requested number of documents
    true_ratio: Share  # counterfactual: requested fraction of true documents
    arm: str  # distractor condition (related, random, fixed or control), or a condition of the testbed's own
    profile: str
    seed: int
    feasible: bool
    documents: tuple[Document, ...]
    # Zero-based positions of the documents with an answer, in the order of selection, or of the injected document.
    slots: tuple[int, ...]
    messages: tuple[Message, ...]
    answer: Answer
    fake: Answer | None
    expect: Expectation
    rotation: int = 0  # number of positions by which the documents are rotated (`--positions all`)
    event: str | None = None  # the event that the question is about
    reason: str | None = None  # why the case is infeasible
    corpus: str | None = None  # own-rag: the variant of the corpus, e.g. withheld-2; search: the ID of the corpus
    relevant: Count | None = None  # own-rag: number of documents in the corpus that support the answer
    parts: Count | None = None  # end-to-end RAG, search: number of parts with own passages, if fewer than in the answer
    dial: str | None = None  # the perturbation of the item (docs/explanation/synthetic-data.md)
    twin: str | None = None  # ID of the unperturbed item of the pair
    rgb_answer: str | None = None  # the answer as JSON in RGB's notation, if the item comes from an RGB file
    injection: Injection | None = None  # the instruction in its documents, or in those that the system searches
    tools: bool = False  # search: whether a request offers the search tool; always False in a stored case


class Retrieved(Record, frozen=True, kw_only=True):
    """A passage that a RAG system retrieved or cited."""

    id: str  # ID in the corpus or, if no passage matches, the start of the ID or text that the system reported
    stance: Stance | None = None  # None if the passage does not match any passage in the corpus
    part: int | None = None  # integration: zero-based index of the answer part that the passage supports
    text: str = ""


class Search(Record, frozen=True, kw_only=True):
    """One search in an episode, or a call to the search tool that could not be executed."""

    query: str
    k: Count = 0
    found: tuple[Retrieved, ...] = ()  # the passages found, best first
    problem: str | None = None  # why the search was not executed, e.g. bad-json, unknown-tool, query-too-long


class Step(Record, frozen=True, kw_only=True):
    """One model call for a case that needs several calls or whose response has to be parsed.

    In an episode of the `search` testbed, a step is a turn. Its prompt consists of the messages of all steps so far.
    """

    messages: tuple[Message, ...]
    reply: str | None = None
    usage: dict[str, int] | None = None
    latency_s: float | None = None
    cached: int = 0  # if the response came from the cache: when it was received, in seconds since 1970
    calls: tuple[ToolCall, ...] = ()  # search: the tool calls in the response
    searches: tuple[Search, ...] = ()  # search: the searches that the response requested
    protocol: Literal["tools", "text", "function"] | None = None  # search: how the model calls the tool


class Served(Record, frozen=True, kw_only=True):
    """The server's metadata for the call that produced a response."""

    model: str | None = None  # name reported by the server; may be more specific than the requested name
    provider: str | None = None  # if the server is a router: the company whose servers produced the response
    fingerprint: str | None = None  # the server's ID for its weights and configuration
    id: str | None = None  # ID of the response, for support requests to the provider


class Completion(Record, frozen=True, kw_only=True):
    """A model's response, or the reason why there is none.

    A response is `truncated` if it ended at the token limit or inside its reasoning, and `filtered` if the provider's
    content filter blocked it.

    Example:
        >>> ragbed.Completion(outcome="error", error="timeout: no answer within 10 s").reply is None
        True
    """

    outcome: Outcome
    reply: str | None = None
    reasoning: str | None = None  # the model's reasoning, "" if hidden; never part of `reply` and never scored
    error: str | None = None  # error type: timeout, rate, server, auth, protocol, too-long, …
    finish: str | None = None
    usage: dict[str, int] | None = None  # tokens in all attempts: in, out, reasoning (part of out), cached (part of in)
    latency_s: float | None = None
    attempts: int = 1
    max_tokens: int | None = None  # the token limit, if it was raised automatically (`max_tokens="auto"`)
    served: Served | None = None
    retrieved: tuple[Retrieved, ...] | None = None  # RAG systems: retrieved passages, best first; None if unknown
    contexts: tuple[Retrieved, ...] | None = None  # RAG systems: the passages in the system's prompt; None if unknown
    citations: tuple[Retrieved, ...] | None = None  # end-to-end RAG: the passages that the answer cites
    steps: tuple[Step, ...] = ()  # calls in a strategy or episode; usage, latency and attempts are totals over them
    calls: tuple[ToolCall, ...] = ()  # search: the tool calls in the response


class Estimate(Record, frozen=True, kw_only=True):
    """One table cell: a value with its confidence interval and counts."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    questions: int  # number of independent questions; those about the same event count as one
    asked: int
    errors: int
    infeasible: int
    truncated: int = 0
    filtered: int = 0
    # Number of responses that the rules or the judge cannot classify; rates count them as wrong. In the cost table:
    # number of cases without token usage.
    unsure: int = 0
