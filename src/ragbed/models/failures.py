"""How an attempt to ask a model can fail, and whether trying again makes sense.

| Kind | Means | Tried again |
|---|---|---|
| timeout | no reply in time, or HTTP 408 | yes |
| connect | no connection: no such host, refused, no route | yes |
| network | the connection broke before the reply was whole | yes |
| tls | encryption cannot be agreed on: certificate, protocol | no |
| rate | HTTP 429 | yes, never before the server's own time |
| quota | the account is used up: 402, 429 with insufficient_quota | no |
| server | HTTP 409, 425, 5xx | yes |
| auth | HTTP 401, 403: the key | no |
| missing | HTTP 404, 405, 410, or the server does not know the model | no |
| settings | the model does not take a parameter, as a temperature | no |
| request | any other 4xx | no |
| too-long | the prompt does not fit | no |
| protocol | status 200 and no chat completion: HTML, cut or wrong JSON, too large; also a redirect | twice |
| empty | a completion without text: null, tool calls only | twice |
| exception | a Python function that is evaluated raised an exception or returned something else than text | no |
| filter | the provider's filter; the outcome is `refused`, of all others `error` | no |
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from ragbed.schema import Completion

Kind: TypeAlias = Literal[
    "timeout", "connect", "network", "tls", "rate", "quota", "server", "auth", "missing", "settings", "request",
    "too-long", "protocol", "empty", "filter", "exception",
]  # fmt: skip

FATAL: frozenset[Kind] = frozenset({"auth", "missing", "tls", "quota", "settings", "connect", "protocol"})
"""Kinds that no other case will escape: a wrong key, model, address or setting, or no money left."""

PAID: frozenset[Kind] = frozenset({"protocol", "empty"})
"""Kinds where the server did its work, which may be billed."""

_BRIEF = 300
"""Characters of a server's own words that are kept: enough for every provider's message."""


@dataclass
class Failure(Exception):
    """One attempt went wrong."""

    kind: Kind
    detail: str
    """What happened, in one line."""
    again: bool = False
    """Whether another attempt may help."""
    wait_s: float | None = None
    """How long the server asks to wait."""
    usage: dict[str, int] | None = None
    """Tokens that were used all the same, and may be billed."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def wait_asked(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After`, a number or a date; None where nothing sensible is asked.

    A date is compared with the server's own clock where it tells the time, since ours may be wrong.
    """
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / scale
        except ValueError:
            moment = _moment(value)
            if moment is None:
                continue
            seconds = (moment - (_moment(headers.get("date", "")) or now)).total_seconds()
        if not math.isnan(seconds):
            return max(0.0, seconds)
    return None


def _moment(value: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - takes longer to load than most of us, and is rare

    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC)


_QUOTA = (
    "insufficient_quota",
    "exceeded your current quota",
    "credit balance",
    "insufficient balance",
    "billing_hard_limit",
)
_FILTER = (
    "content_filter", "content filter", "content management policy", "safety system", "data_inspection_failed",
    "content_policy_violation", "responsibleaipolicy", "flagged by moderation", "input was flagged",
)  # fmt: skip
_TOO_LONG = (
    "context length", "context_length", "context size", "context window", "maximum context", "too many tokens",
    "too long", "request too large", "exceeds the limit of", "input length", "must have less than",
)  # fmt: skip
_MISSING = ("model_not_found", "model_not_exist", "does not exist", "unknown model", "no such model")
_SETTINGS = (
    "unsupported_parameter",
    "unsupported_value",
    "unsupported parameter",
    "unsupported value",
    "not supported with",
)

_BY_WORDS: tuple[tuple[Kind, frozenset[int], tuple[str, ...]], ...] = (
    ("quota", frozenset({400, 402, 403, 429}), _QUOTA),
    ("filter", frozenset({400, 403, 422, 451}), _FILTER),
    # Older llama.cpp says 500 to a prompt that does not fit, OpenAI 429 to one above the minute's tokens.
    ("too-long", frozenset({400, 413, 422, 500}), _TOO_LONG),
    ("too-long", frozenset({429}), ("request too large",)),
    ("missing", frozenset({400, 422}), _MISSING),
    ("settings", frozenset({400, 422}), _SETTINGS),
)
_BY_STATUS: dict[int, Kind] = {
    401: "auth", 402: "quota", 403: "auth", 404: "missing", 405: "missing", 408: "timeout", 409: "server",
    410: "missing", 413: "too-long", 425: "server", 429: "rate",
}  # fmt: skip
_HINTS: dict[Kind, str] = {"settings": "; give it what it takes, as --temperature 1"}
_AGAIN: frozenset[Kind] = frozenset({"timeout", "rate", "server"})


def from_status(status: int, body: str, wait_s: float | None = None) -> Failure:
    """What an HTTP status says, and the body where the status is vague."""
    brief, low = " ".join(body[: 4 * _BRIEF].split())[:_BRIEF], body.lower()
    detail = f"HTTP {status}: {brief}" if brief else f"HTTP {status}"
    if 300 <= status < 400:
        return Failure("protocol", f"HTTP {status}: the server redirects; name its final address as the base URL")
    for kind, statuses, signs in _BY_WORDS:
        if status in statuses and any(sign in low for sign in signs):
            return Failure(kind, detail + _HINTS.get(kind, ""))
    fallback: Kind = "server" if status >= 500 else "request" if status >= 400 else "protocol"
    kind = _BY_STATUS.get(status, fallback)
    return Failure(kind, detail, again=kind in _AGAIN, wait_s=wait_s)


def failed(failure: Failure, attempts: int, usage: Counter[str]) -> Completion:
    """A failure as the outcome of a case: the provider's filter is a refusal, all else an error.

    Args:
        failure: The last one.
        attempts: How many there were.
        usage: Tokens of all of them.
    """
    filtered = failure.kind == "filter"
    return Completion(
        outcome="refused" if filtered else "error",
        error=None if filtered else str(failure),
        finish="content_filter" if filtered else None,
        usage=dict(usage) or None,
        attempts=attempts,
    )
