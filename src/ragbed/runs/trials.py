"""Write trials as JSON lines: each case with a model's response and its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ragbed.runs.store import StoredResult, kind_of_error
from ragbed.schema import Step
from ragbed.scoring.value import Value

_BILLING = ("cached", "written", "written_1h", "cost", "batch")
# JSON encoders, keyed by whether the output is canonical (with sorted keys).
_ENCODERS = {True: msgspec.json.Encoder(order="sorted"), False: msgspec.json.Encoder()}
# Fields with these default values are omitted, as in case files.
_OMITTED_DEFAULTS = {
    "rotation": 0,
    "tools": False,
    **dict.fromkeys(("event", "reason", "corpus", "relevant", "parts", "dial", "twin", "rgb_answer")),
}
# Scores of a case without a response. Every rate is a share of all attempted cases, so means over trials must equal it.
_WITHOUT_RESPONSE: dict[str, Value] = {
    f"{scorer}{name}": False for scorer in ("", "paper.", "code.") for name in ("correct", "refused", "flagged")
}


def trial_line(result: StoredResult, scores: Mapping[str, Value] | None, *, canonical: bool) -> bytes:
    """Return a result as a JSON line."""
    return _ENCODERS[canonical].encode(trial_fields(result, scores, canonical=canonical)) + b"\n"


def trial_fields(result: StoredResult, scores: Mapping[str, Value] | None, *, canonical: bool) -> dict[str, object]:
    """Return the fields of a trial line; `scores` is None if there is no response."""
    completion = result.completion
    fields = {
        name: value
        for name, value in msgspec.structs.asdict(result.case).items()
        if name not in _OMITTED_DEFAULTS or value != _OMITTED_DEFAULTS[name]
    }
    fields |= {
        "model": result.model,
        "repeat": result.repeat,
        "outcome": completion.outcome,
        "error": kind_of_error(completion) if canonical else completion.error,
        "reply": completion.reply,
        "finish": completion.finish,
        "usage": without_billing(completion.usage) if canonical else completion.usage,
    }
    for name in ("reasoning", "retrieved", "contexts", "citations"):
        if getattr(completion, name) is not None:
            fields[name] = getattr(completion, name)
    if completion.steps:
        fields["steps"] = [_to_step(step, canonical=canonical) for step in completion.steps]
    if not canonical:
        fields |= {"latency_s": completion.latency_s, "attempts": completion.attempts}
        for name in ("max_tokens", "served"):
            if getattr(completion, name) is not None:
                fields[name] = getattr(completion, name)
    fields["scores"] = _WITHOUT_RESPONSE if scores is None else scores
    return fields


def flatten_trial(trial: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a trial line with the counts of tokens and the scores as fields of their own."""
    scores, usage = trial.pop("scores") or {}, trial.pop("usage") or {}
    tokens = {f"tokens_{name}": usage.get(name) for name in ("in", "out", "reasoning", "cached")}
    return trial | tokens | {f"score.{name}": value for name, value in scores.items()}


def _to_step(step: Step, *, canonical: bool) -> dict[str, object]:
    fields: dict[str, object] = {"messages": step.messages, "reply": step.reply}
    for name in ("calls", "searches", "protocol"):  # only episodes have these fields
        if getattr(step, name):
            fields[name] = getattr(step, name)
    if canonical:
        return fields | {"usage": without_billing(step.usage)}
    return fields | {"usage": step.usage, "latency_s": step.latency_s, "cached": step.cached > 0}


def without_billing(usage: dict[str, int] | None) -> dict[str, int] | None:
    """Return usage without the counts that differ between identical runs, e.g. because of the provider's cache."""
    return None if usage is None else {name: count for name, count in usage.items() if name not in _BILLING}
