"""The page of one case: what was asked, what was said, by as many models as are wanted, and what is thought of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ragbed.errors import UsageError
from ragbed.reporting.case_view import ShownCase, ShownTrial, show_case, show_trial
from ragbed.runs.prices import Price, find_price
from ragbed.runs.store import StoredResult
from ragbed.testbeds.names import name_case
from ragbed.ui.viewer.diagnosis import ShownEvidence
from ragbed.ui.viewer.judged import Vote, read_votes
from ragbed.ui.viewer.labelling import LabelQuestion, asked_of, read_all
from ragbed.ui.viewer.queries import RunQueries, TrialRow, light_row, read_row
from ragbed.ui.viewer.run_reader import RunReader

MOST_BYTES = 1_000_000
"""Of an answer to the browser."""
MOST_BESIDE = 7
"""Replies beside the first one."""
_MOST_OTHERS = 120
"""Other models' and other conditions' trials of the question that are listed."""
_PER_MODEL = 3
"""Repeats of each model that are offered beside the case."""
_BUDGETS = (300_000, 60_000, 12_000, 2_000)
"""Characters of all texts of one kind together: the first that makes an answer small enough."""


class ShownCall(NamedTuple):
    """Names one trial."""

    run: str
    case: str
    model: str
    repeat: int


class Seen(ShownTrial, frozen=True, omit_defaults=True, kw_only=True):
    """A reply with what others think of it."""

    run: str
    types: tuple[str, ...]
    evidence: list[ShownEvidence]
    judged: list[Vote]
    labels: list[LabelQuestion]
    cost: float | None = None


class CasePage(Struct, frozen=True, kw_only=True):
    """All that the page shows."""

    shown: ShownCase
    trials: list[Seen]
    beside: list[TrialRow]
    """Other replies to the same case."""
    others: list[TrialRow]
    """The same question under other conditions."""
    names: dict[str, str]
    """Under which models are shown, by model string."""
    pair: TrialRow | None = None
    """The same call for the other item of a minimal pair."""
    is_cut: bool = False
    """Whether texts were shortened."""


def make_page(library: RunQueries, call: ShownCall, beside: Sequence[ShownCall], rater: str) -> bytes:
    """The page as JSON, small enough."""
    book, stored = find_trial(library, call)
    found = [(book, stored), *(find_trial(library, one) for one in beside[:MOST_BESIDE])]
    trials = [_see(book, one, rater) for book, one in found if one.case == stored.case]
    peers, others = _around(library, book, stored)
    page = CasePage(
        shown=show_case(stored.case),
        trials=trials,
        beside=peers,
        others=others,
        names=library.names(),
        pair=_pair(book, stored),
    )
    encoded = msgspec.json.encode(page)
    for budget in _BUDGETS:
        if len(encoded) <= MOST_BYTES:
            break
        encoded = msgspec.json.encode(_cut(page, budget))
    return encoded


def find_trial(library: RunQueries, call: ShownCall) -> tuple[RunReader, StoredResult]:
    """The run and the trial that a page names."""
    book = library.books.get(call.run)
    place = None if book is None else book.of_call(call.model, call.case, call.repeat)
    if book is None or place is None:
        raise UsageError(f"no such trial: {call.case} by {call.model}, repeat {call.repeat}, in {call.run}.")
    return book, book.read(place)


def _see(book: RunReader, stored: StoredResult, rater: str) -> Seen:
    place = book.of_call(stored.model, stored.case.case, stored.repeat)
    return Seen(
        run=book.name,
        types=() if place is None else book.cell(place).types,
        evidence=[] if place is None else book.evidence(place),
        judged=read_votes(book.folder, stored),
        labels=asked_of(stored, read_all(book.folder), rater),
        cost=_cost(stored),
        **msgspec.structs.asdict(show_trial(stored)),
    )


def _around(library: RunQueries, book: RunReader, stored: StoredResult) -> tuple[list[TrialRow], list[TrialRow]]:
    peers: list[TrialRow] = []
    for one in library.books.values():
        for found in one.store.results_of(stored.case.case, _PER_MODEL):
            if len(peers) < _MOST_OTHERS and found.case == stored.case:
                peers += _light(one, found)
    rows = [read_row(book, place) for place in book.of_question(stored, _MOST_OTHERS)]
    return peers, [row for row in rows if row.case != stored.case.case]


def _pair(book: RunReader, stored: StoredResult) -> TrialRow | None:
    """Return the same model's response to the other item of a minimal pair, under the same condition."""
    case = stored.case
    perturbed = book.perturbed(case)
    other = case.twin if case.twin is not None or perturbed is None else perturbed[0]
    if other is None:
        return None
    named = name_case(case.data, other, case.testbed, case.case.partition("@")[2])
    place = book.of_call(stored.model, named, stored.repeat)
    return None if place is None else read_row(book, place)


def _light(book: RunReader, stored: StoredResult) -> Iterator[TrialRow]:
    place = book.of_call(stored.model, stored.case.case, stored.repeat)
    if place is not None:  # else it is so new that the index does not have it
        yield light_row(book, book.cell(place), stored)


def _cost(stored: StoredResult) -> float | None:
    usage = stored.completion.usage
    price = None if stored.cached or usage is None else _price(stored.model)
    return None if price is None or usage is None else price(usage.get("in", 0), usage.get("out", 0))


@cache
def _price(model: str) -> Price | None:
    return find_price(model)


def _cut(page: CasePage, budget: int) -> CasePage:
    """The page with long texts shortened, each kind of text to the same total."""

    def short(text: str | None, among: int) -> str | None:
        most = budget // max(1, among)
        return text if text is None or len(text) <= most else f"{text[:most]} … (+{len(text) - most:,})"

    shown, change = page.shown, msgspec.structs.replace
    documents = [
        change(one, text=short(one.text, len(shown.documents)), spans=one.spans[:200]) for one in shown.documents
    ]
    messages = tuple(change(one, content=short(one.content, len(shown.messages))) for one in shown.messages)
    trials = []
    for one in page.trials:
        texts = {name: short(getattr(one, name), len(page.trials)) for name in ("reply", "reasoning", "error")}
        votes = [change(vote, said=short(vote.said, len(page.trials) * len(one.judged))) for vote in one.judged]
        found = one.retrieved and tuple(change(it, text=short(it.text, len(one.retrieved))) for it in one.retrieved)
        # The prompts of steps repeat the documents, so of a page that is too large they go first.
        steps = tuple(change(step, messages=(), reply=short(step.reply, len(one.steps))) for step in one.steps)
        trials.append(change(one, judged=votes, spans=one.spans[:200], retrieved=found, steps=steps, **texts))
    facts = change(shown, documents=documents, messages=messages, question=short(shown.question, 1))
    return change(page, shown=facts, trials=trials, is_cut=True, others=page.others[:20], beside=page.beside[:20])
