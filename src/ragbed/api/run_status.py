"""Describe the state of runs: progress, outcomes and unusual events."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.job_specs import StatusSpec
from ragbed.api.progress import format_duration
from ragbed.api.results import run_folder
from ragbed.api.specification import takes
from ragbed.errors import option
from ragbed.reporting.table import Result, Table
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.runs.status import Status

_WITHOUT_TEMPLATE = ("baseline/", "scripted/", "function/", "system/", "python/", "factory/", "http/")
_COLUMNS = ("model", "planned", "n", "done", "ok", "truncated", "filtered", "error", "error types")


@takes(StatusSpec)
def status(spec: StatusSpec) -> Result:
    """Return the progress and the outcome counts of a run or of all runs in a folder, also while they are running.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", testbeds="noise", noise=0, limit=5)
        >>> ragbed.status(run).records()[0]["ok"]
        5
    """
    from ragbed.analysis.locale import read_words
    from ragbed.reporting.formats import tabulate_decisions
    from ragbed.runs.status import read_status
    from ragbed.ui.viewer.find_runs import runs_in

    found, parts = [read_status(folder) for folder in runs_in([run_folder(spec.run)])], list[Table | str]()
    for one in found:
        rows = [
            {"model": model.name, "planned": model.planned, "n": model.asked}
            | {"done": f"{model.asked / model.planned:.1%}" if model.planned else None}
            | {name: getattr(model, name) for name in ("ok", "truncated", "filtered", "error")}
            | {"error types": ", ".join(f"{count:,} {kind}" for kind, count in model.errors.items()) or None}
            for model in one.models
        ]
        parts.append(Table(rows, f"Run {one.run}", columns=_COLUMNS))
        if one.conditions:
            names = {model.model: model.name for model in one.models}
            parts.append(tabulate_decisions(one.conditions, names, read_words("en")))
        parts.append("\n".join(_describe(one)))
    states = [one.as_json() for one in found]
    return Result(parts, values=states[0] if len(states) == 1 else {"runs": states})


def _describe(found: Status) -> Iterator[str]:
    """Yield sentences on a run: its size, batches in progress, unusual events, and what is incomplete."""
    from ragbed.runs.display_names import describe_served

    repeats = f", {found.repeats} responses per case" if found.repeats > 1 else ""
    yield f"{counted(found.cases, 'case')}{repeats}; {found.infeasible:,} infeasible cases, which are never sent."
    for batch in found.batches:
        since = f"{datetime.fromtimestamp(batch.created, UTC):%Y-%m-%d %H:%M} UTC"
        name = batch.id or "not confirmed yet"
        yield f"Batch in progress: {counted(batch.requests, 'request')} to {batch.model} since {since} ({name})."
    for model in found.models:
        if len(model.served) > 1:
            yield describe_served(model.name, model.served)
        if model.sent is not None and model.sent.get("negotiated"):
            yield (
                f"The server for {model.name} does not accept the default parameters. In requests to it, "
                f"{model.sent['negotiated']}."
            )
    yield from describe_responses(found)
    if found.process is not None:
        yield f"Process {found.process} is running; {counted(found.in_flight, 'call')} in flight."
    else:
        yield from describe_incomplete(found, "Rerun the command that created the run to resume it.")
        if found.until is not None:
            yield f"Cases without a result are not needed once this condition is decided: {found.until}"
    if found.maybe_paid_twice:
        yield (
            f"Calls that were in flight when a session or worker ended: {found.maybe_paid_twice:,}. Their "
            "responses are lost; calls that the provider completed are billed again when they are resent."
        )


def describe_responses(found: Status) -> Iterator[str]:
    """Yield sentences on a run's responses: how many are from the cache or empty, and the first error."""
    if oldest := min((model.oldest_cached for model in found.models if model.oldest_cached is not None), default=None):
        cached = sum(model.cached for model in found.models)
        responses = "response comes" if cached == 1 else "responses come"
        received, age = datetime.fromtimestamp(oldest, UTC), format_duration(max(0, time.time() - oldest))
        yield f"{cached:,} {responses} from the cache; the oldest is {age} old ({received:%Y-%m-%d %H:%M} UTC)."
    if empty := sum(model.empty for model in found.models):
        models = [model.model for model in found.models if model.empty]
        yield tell_empty(empty, sum(model.ok + model.truncated for model in found.models), models)
    if found.an_error is not None:
        yield f"First error: {found.an_error}"


def describe_incomplete(found: Status, again: str) -> Iterator[str]:
    """Yield sentences on cases without a complete response, and how to get one.

    Args:
        found: The status of a run that has ended.
        again: Sentence that says how to resume the run.
    """
    from ragbed.models.base import Sampling
    from ragbed.runs.status import count_truncated
    from ragbed.runs.store import open_store

    failed = sum(model.error for model in found.models)
    pending = sum(model.pending for model in found.models) if found.models else found.cases - found.infeasible
    parts = [f"{counted(failed, 'case')} ended in an error"] if failed else []
    if pending and found.until is None:
        parts.append(f"{counted(pending, 'case')} {'has' if pending == 1 else 'have'} no result")
    if found.is_imported and failed:
        yield "To replace the errors, import files with the missing responses into a new folder."
    elif parts:
        yield f"Incomplete: {' and '.join(parts)}. {again}"
    with open_store(Path(found.run), create=False) as store:
        truncated, full, highest = count_truncated(store)
        limit = store.settings().get("max_tokens", "auto")
    other = f"Choose another {option('out')}."
    if full:
        yield (
            f"Incomplete: {counted(full, 'response')} filled the context window, which the robust scorer counts as "
            f"wrong. To get complete responses, use fewer documents ({option('num_docs')}) or a model with a larger "
            f"context window. {other}"
        )
    if found.is_imported and truncated > full:
        yield f"{counted(truncated - full, 'response')} truncated, which the robust scorer counts as wrong."
    elif truncated > full:
        yield f"{tell_truncated(truncated - full, limit, highest or Sampling().max_tokens)} {other}"
    if episodes := sum(model.truncated for model in found.models) - truncated:
        yield (
            f"{counted(episodes, 'search episode')} ended without an answer, at a limit or after invalid calls, and "
            f"count as wrong under the robust scorer. {option('search')} sets the limits."
        )


def tell_truncated(count: int, limit: str, highest: int | None = None) -> str:
    """Return a message with the number of truncated responses and the option that avoids truncation.

    Args:
        count: The number of responses.
        limit: The value of `max_tokens`.
        highest: The highest token limit of `auto` at which a response was truncated, if it is known.
    """
    from ragbed.models.token_limit import MAX_LIMIT

    highest = MAX_LIMIT if highest is None else highest
    if limit == "auto":
        fix = f"a larger {option('max_tokens')}" + ("" if highest == MAX_LIMIT else " if the model allows it")
        fix += f", or {option('thinking', 'off')} or {option('reasoning_effort', 'low')} for a reasoning model"
        limit = f"limit of {option('max_tokens', 'auto')} (up to {highest:,} tokens)"
    else:
        fix, limit = f"{option('max_tokens', 'auto')} or a value above {limit}", f"limit of {limit} tokens"
    return (
        f"Incomplete: {counted(count, 'response')} truncated at the {limit}, which the robust scorer counts as "
        f"wrong. To get complete responses, use {fix}."
    )


def tell_empty(count: int, total: int, models: Iterable[str]) -> str:
    """Return a message with the number of empty responses among all responses of some models.

    If the empty responses are from a model that has a chat template, the message says to check it.
    """
    advice = " Check the model's chat template and stop sequences."
    has_template = any(not model.startswith(_WITHOUT_TEMPLATE) for model in models)
    return (
        f"{count:,} of {counted(total, 'response')} {'is' if count == 1 else 'are'} empty and "
        f"{'counts' if count == 1 else 'count'} as wrong.{advice if has_template else ''}"
    )
