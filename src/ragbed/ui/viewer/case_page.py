"""The page for one case: the prompt, responses from one or more models, and their scores, judgements and labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ragbed.errors import UsageError
from ragbed.reporting.case_view import ShownCase, ShownTrial, show_case, show_trial
from ragbed.runs.prices import cost_of, find_price
from ragbed.runs.store import StoredResult
from ragbed.ui.viewer.annotations import LabelQuestion, Vote, asked_of, read_all, read_votes
from ragbed.ui.viewer.queries import RunQueries, TrialRow, read_row
from ragbed.ui.viewer.run_reader import RunReader

MOST_BESIDE = 7  # Maximum number of other responses to show next to the first response.
_MOST_OTHERS = 120  # Maximum length of each list of other trials (for the same case and for the same question).
_PER_MODEL = 3  # Maximum number of repeats per model to show next to the case.

_find_price = cache(find_price)


class ShownCall(NamedTuple):
    """The run, case, model and repeat that identify a trial."""

    run: str
    case: str
    model: str
    repeat: int


class Seen(ShownTrial, frozen=True, omit_defaults=True, kw_only=True):
    """A response with its diagnosis, judgements, labels and cost."""

    run: str
    types: tuple[str, ...]
    evidence: list[dict[str, Any]]
    judged: list[Vote]
    labels: list[LabelQuestion]
    cost: float | None = None


class CasePage(Struct, frozen=True, kw_only=True):
    """The content of a case's page."""

    shown: ShownCase
    trials: list[Seen]
    beside: list[TrialRow]  # Other responses to the same case.
    others: list[TrialRow]  # Trials of the same question under other conditions.
    names: dict[str, str]  # Display names by model string.


def make_page(queries: RunQueries, call: ShownCall, beside: Sequence[ShownCall], rater: str) -> bytes:
    """Return the page as JSON."""
    reader, stored = find_trial(queries, call)
    found = [(reader, stored), *(find_trial(queries, other) for other in beside[:MOST_BESIDE])]
    question = [read_row(reader, trial) for trial in reader.of_question(stored.case, _MOST_OTHERS)]
    page = CasePage(
        shown=show_case(stored.case),
        trials=[_see(source, trial, rater) for source, trial in found if trial.case == stored.case],
        beside=_peers(queries, stored),
        others=[row for row in question if row.case != stored.case.case],
        names=queries.names(),
    )
    return msgspec.json.encode(page)


def find_trial(queries: RunQueries, call: ShownCall) -> tuple[RunReader, StoredResult]:
    """Return the run and the trial for a page."""
    reader = queries.readers.get(call.run)
    trial = None if reader is None else reader.of_call(call.model, call.case, call.repeat)
    if reader is None or trial is None:
        raise UsageError(f"run {call.run!r} has no response from {call.model} to {call.case} (repeat {call.repeat}).")
    return reader, reader.read(trial)


def _see(reader: RunReader, stored: StoredResult, rater: str) -> Seen:
    trial = reader.of_call(stored.model, stored.case.case, stored.repeat)
    return Seen(
        run=reader.name,
        types=() if trial is None else reader.cell(trial).types,
        evidence=[] if trial is None else reader.evidence(trial),
        judged=read_votes(reader.folder, stored),
        labels=asked_of(stored, read_all(reader.folder), rater),
        cost=_cost(reader, stored),
        **msgspec.structs.asdict(show_trial(stored)),
    )


def _peers(queries: RunQueries, stored: StoredResult) -> list[TrialRow]:
    """Return other responses to the same case. The newest responses may be missing until they have been scored."""
    peers: list[TrialRow] = []
    for reader in queries.readers.values():
        for found in reader.store.results_of(stored.case.case, _PER_MODEL):
            trial = reader.of_call(found.model, found.case.case, found.repeat)
            if len(peers) < _MOST_OTHERS and found.case == stored.case and trial is not None:
                peers.append(read_row(reader, trial))
    return peers


def _cost(reader: RunReader, stored: StoredResult) -> float | None:
    if stored.cached or stored.completion.usage is None:
        return None
    cost = cost_of(stored.completion, reader.store.prices().get(stored.model) or _find_price(stored.model))
    return None if cost is None else float(cost)
