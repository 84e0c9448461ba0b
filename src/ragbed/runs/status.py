"""Read a run's status: progress and outcomes per model, error kinds, and calls that may have been billed twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from ragbed.models.base import CONTEXT_FULL
from ragbed.runs.batch_records import read_batches
from ragbed.runs.decided import DecidedInterval, read_conditions
from ragbed.runs.display_names import short_names
from ragbed.runs.lock import holder
from ragbed.runs.prices import usages_made
from ragbed.runs.store import COUNT_CASES, RunStore, kind_of_error, open_store

_COUNTED = ("in", "out", "reasoning", "cached")


@dataclass
class ModelStatus:
    """The status of one model: `asked` is the total number of outcomes, and `planned` is `asked` plus `pending`.

    `name` is its display name, and `empty` is the number of `ok` responses without text. `cached` is the number of
    responses from the cache, and `oldest_cached` the time at which the oldest of them was received, in seconds since
    1970. Token counts do not include them. `served` lists the models that the server reported, and `sent` contains the
    parameters of the requests and the changes negotiated with the server. `errors` counts the kinds of errors, most
    frequent first.
    """

    model: str
    name: str
    identity: str
    planned: int
    asked: int = 0
    ok: int = 0
    truncated: int = 0
    filtered: int = 0
    error: int = 0
    empty: int = 0
    pending: int = 0
    cached: int = 0
    oldest_cached: int | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    tokens_cached: int = 0
    served: list[str] = field(default_factory=list)
    sent: dict[str, object] | None = None
    errors: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchStatus:
    """A provider batch in progress; `id` is None until its creation is confirmed, and `created` is a Unix time."""

    model: str
    id: str | None
    requests: int
    created: float


@dataclass
class Status:
    """The status of a run; `process` is the ID of the process writing to it, and `an_error` is the first error."""

    run: str
    process: str | None
    sessions: int
    cases: int
    infeasible: int
    repeats: int
    models: list[ModelStatus]
    an_error: str | None = None
    batches: list[BatchStatus] = field(default_factory=list)
    until: str | None = None  # the run's stopping rule
    is_imported: bool = False  # whether the results come from files, so that failed cases cannot be repeated
    conditions: list[DecidedInterval] = field(default_factory=list)  # stopping conditions after the last session
    in_flight: int = 0
    maybe_paid_twice: int = 0

    def as_json(self) -> dict[str, object]:
        """Return the status as plain values for JSON."""
        return asdict(self) | {"conditions": msgspec.to_builtins(self.conditions)}


def read_status(folder: Path) -> Status:
    """Read the status of a run that is in progress, was killed or is complete, without writing anything."""
    process = holder(folder)
    with open_store(folder, create=False) as store, store.snapshot():
        repeats, feasible = store.repeats(), store.size(1)
        names = short_names([model for model, _ in store.models().values()], store.names())
        ((cases,),) = store.read(COUNT_CASES)
        lost, still_open = len(store.orphans()), len(store.open_calls())
        return Status(
            run=str(folder),
            process=process,
            sessions=store.sessions(),
            cases=cases,
            infeasible=cases - feasible,
            repeats=repeats,
            models=[
                _read_model(store, number, ModelStatus(model, names[model], identity, feasible * repeats))
                for number, (model, identity) in store.models().items()
            ],
            an_error=find_error(store),
            batches=[
                BatchStatus(store.models()[batch.model][0], batch.remote, batch.count, batch.created)
                for batch in read_batches(store)
                if batch.model in store.models()
            ],
            until=store.settings().get("until"),
            is_imported=store.is_imported(),
            conditions=read_conditions(store),
            in_flight=0 if process is None else still_open,
            maybe_paid_twice=lost + still_open if process is None else lost,
        )


def _read_model(store: RunStore, number: int, status: ModelStatus) -> ModelStatus:
    outcomes, tokens, errors = Counter[str](), Counter[str](), Counter[str]()
    for model, usage in store.replaced_usage():
        tokens.update(usage if model == status.model else {})
    for completion, cached in store.completions(number):
        outcomes[completion.outcome] += 1
        status.empty += completion.outcome == "ok" and not (completion.reply or "").strip()
        if completion.outcome == "error":
            errors[kind_of_error(completion) or ""] += 1
        for usage in () if cached else usages_made(completion):
            tokens.update(usage)
    status.asked = outcomes.total()
    for name, count in (*outcomes.items(), *((f"tokens_{name}", tokens[name]) for name in _COUNTED)):
        setattr(status, name, count)
    if store.is_imported():  # files of one model may contain cases that those of another model do not
        status.planned = status.asked
    status.pending = status.planned - status.asked
    status.errors = dict(sorted(errors.items(), key=lambda pair: (-pair[1], pair[0])))
    status.cached, status.oldest_cached = count_cached(store, number)
    status.served = store.served().get(status.model, [])
    sent = store.meta("sent.").get(status.model)
    status.sent = None if sent is None else msgspec.json.decode(sent, type=dict[str, object])
    return status


def find_error(store: RunStore) -> str | None:
    """Return the first error's message, or None if there are no errors."""
    query = """SELECT json_extract(CAST(completion AS TEXT), '$.error') FROM models m
      CROSS JOIN results r ON r.model = m.id WHERE outcome = 'error' ORDER BY r.model, r.item, r.repeat LIMIT 1"""
    return next((str(error) for (error,) in store.read(query)), None)


def count_truncated(store: RunStore) -> tuple[int, int, int | None]:
    """Return how many responses are truncated and filled the context window, and the highest token limit of the others.

    Episodes of the `search` testbed, which have their own limits, do not count.
    """
    query = """SELECT COUNT(*), TOTAL(finish = ?1), MAX(CASE WHEN finish IS NOT ?1 THEN max_tokens END) FROM (
    SELECT json_extract(content, '$.finish') AS finish, json_extract(content, '$.max_tokens') AS max_tokens FROM (
    SELECT CAST(completion AS TEXT) AS content FROM results JOIN cases ON cases.id = item
    WHERE outcome = 'truncated' AND name NOT GLOB '*/search@*'))"""
    ((truncated, full, highest),) = store.read(query, (CONTEXT_FULL,))
    return truncated, int(full), highest


def count_cached(store: RunStore, model: int | None = None) -> tuple[int, int | None]:
    """Return how many responses (of a model, by its number) came from the cache, and when the oldest was received.

    The time is in seconds since 1970. Only responses with several calls are parsed, because parsing takes long.
    """
    query = """SELECT COUNT(*), MIN(at) FROM (
    SELECT COALESCE(json_extract(value, '$.cached'), 0) + (value IS NULL) * cached AS at
    FROM models m CROSS JOIN results r ON r.model = m.id
    LEFT JOIN json_each(CAST(completion AS TEXT), '$.steps')
    WHERE (?1 IS NULL OR m.id = ?1) AND (cached > 0 OR instr(CAST(completion AS TEXT), '"steps"'))) WHERE at > 0"""
    ((count, oldest),) = store.read(query, (model,))
    return int(count), oldest
