"""A run as lines: each case with what a model said of it and how that scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ragbed.runs.store import StoredResult
from ragbed.schema import Completion, Step
from ragbed.scoring import score
from ragbed.scoring.retrieval import score_retrieval

_ENCODERS = {True: msgspec.json.Encoder(order="sorted"), False: msgspec.json.Encoder()}
"""By whether equal runs are to be equal bytes."""


def trial_lines(results: Iterable[StoredResult], *, canonical: bool) -> Iterator[bytes]:
    """One JSON line a result.

    Args:
        results: Of a run; by name where equal runs are to be equal bytes.
        canonical: Without what differs between equal runs: times, attempts and the wording of errors.
    """
    for result in results:
        yield trial_line(result, canonical=canonical)


def trial_line(result: StoredResult, *, canonical: bool) -> bytes:
    """A result as its line."""
    return _ENCODERS[canonical].encode(to_trial(result, canonical=canonical)) + b"\n"


def to_trial(result: StoredResult, *, canonical: bool) -> dict[str, object]:
    """A result as the fields of its line."""
    completion = result.completion
    fields: dict[str, object] = msgspec.structs.asdict(result.case)
    for name, default in (
        ("rotation", 0),
        ("event", None),
        ("reason", None),
        ("corpus", None),
        ("dial", None),
        ("twin", None),
    ):  # as a case line has them
        if fields[name] == default:
            del fields[name]
    fields |= {
        "model": result.model,
        "repeat": result.repeat,
        "outcome": completion.outcome,
        "error": kind_of_error(completion) if canonical else completion.error,
        "reply": completion.reply,
        "finish": completion.finish,
        "usage": without_luck(completion.usage) if canonical else completion.usage,
    }
    for name in ("reasoning", "retrieved", "citations"):
        if getattr(completion, name) is not None:
            fields[name] = getattr(completion, name)
    if completion.steps:
        fields["steps"] = [_to_step(step, canonical=canonical) for step in completion.steps]
    if not canonical:
        fields |= {"latency_s": completion.latency_s, "attempts": completion.attempts}
    # Only a reply can be scored: a failure is in the outcome, never a wrong answer.
    is_reply = completion.outcome == "ok"
    scores = score(result.case, completion.reply or "") | score_retrieval(result.case, completion) if is_reply else None
    fields["scores"] = scores
    return fields


def _to_step(step: Step, *, canonical: bool) -> dict[str, object]:
    told: dict[str, object] = {"messages": step.messages, "reply": step.reply}
    if canonical:
        return told | {"usage": without_luck(step.usage)}
    return told | {"usage": step.usage, "latency_s": step.latency_s, "cached": step.cached}


def without_luck(usage: dict[str, int] | None) -> dict[str, int] | None:
    """How much of a prompt need not be read again hangs on what was asked before, so it differs between equal runs."""
    return None if usage is None else {name: count for name, count in usage.items() if name != "cached"}


def kind_of_error(completion: Completion) -> str | None:
    """The kind alone, of `kind: what happened`."""
    return None if completion.error is None else completion.error.partition(":")[0]
