"""How an attempt to ask a model can fail, and whether trying again makes sense."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeAlias

from ragbed.schema import Completion

Kind: TypeAlias = Literal[
    "timeout", "network", "tls", "rate", "server", "auth", "missing", "request", "too-long", "filter", "protocol"
]

FATAL: frozenset[Kind] = frozenset({"auth", "missing", "tls"})
"""Kinds that no other case will escape: a wrong key, model or address."""


@dataclass
class Failure(Exception):
    """One attempt went wrong."""

    kind: Kind
    detail: str
    """What happened, without anything secret."""
    again: bool = False
    """Whether another attempt may help."""
    wait_s: float | None = None
    """How long the server asks to wait."""
    attempts: int = 1

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def wait_asked(headers: dict[str, str] | object, now: datetime) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After`, a number or a date; None where nothing sensible is asked."""
    get = headers.get  # type: ignore[attr-defined]
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) / scale)
        except ValueError:
            pass
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            continue
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    return None


_TOO_LONG = ("context length", "context_length", "maximum context", "too many tokens", "prompt is too long", "too long")
_FILTER = ("content_filter", "content filter", "content management policy", "safety system", "data_inspection_failed")


def from_status(status: int, body: str, wait_s: float | None) -> Failure:
    """What an HTTP status says, and the body where the status is vague."""
    brief, low = " ".join(body.split())[:300], body.lower()
    detail = f"HTTP {status}: {brief}" if brief else f"HTTP {status}"
    if status == 429:
        # A used-up quota is also 429, but no waiting helps.
        return Failure("rate", detail, again="insufficient_quota" not in low, wait_s=wait_s)
    if status in (401, 403):
        return Failure("auth", detail)
    if status == 404:
        return Failure("missing", detail)
    if status in (408, 409, 425) or status >= 500:
        return Failure("timeout" if status == 408 else "server", detail, again=True, wait_s=wait_s)
    if any(sign in low for sign in _FILTER):
        return Failure("filter", detail)
    if status == 413 or any(sign in low for sign in _TOO_LONG):
        return Failure("too-long", detail)
    if 300 <= status < 400:
        return Failure("protocol", f"HTTP {status}: the server redirects; name its final address as the base URL")
    return Failure("request", detail)


def failed(failure: Failure) -> Completion:
    """A failure as the outcome of a case: the provider's filter is a refusal, all else an error."""
    return Completion(
        outcome="refused" if failure.kind == "filter" else "error",
        error=None if failure.kind == "filter" else str(failure),
        finish="content_filter" if failure.kind == "filter" else None,
        attempts=failure.attempts,
    )
