"""Classify failed calls and decide whether to retry.

The HTTP status and the codes in the body determine the kind; the text of the message is used only if the server sends
no code.

| Kind | Meaning | Retried |
|---|---|---|
| timeout | no response in time, or HTTP 408 | yes |
| connect | no connection: unknown host, refused, no route | yes |
| network | the connection broke before the response was complete | yes |
| tls | TLS failed: certificate, protocol | no |
| rate | HTTP 429 | yes, but not before the time set by the server |
| quota | no credit left, or the daily quota is used up: 402, 429 with insufficient_quota | no |
| server | HTTP 409, 424, 425, 5xx, or the server interrupted the response | yes |
| auth | HTTP 401, 403, or 400 with a message about the key: invalid key | no |
| missing | HTTP 404, 405, 410, or the server does not know the model | no |
| settings | the model does not accept a parameter, e.g. a temperature | no |
| request | any other 4xx | no |
| too-long | the prompt does not fit | no |
| protocol | status 200 without a chat completion: HTML, truncated or invalid JSON, too large; or a redirect | twice |
| empty | a completion without text: null, or only tool calls or complete reasoning | twice |
| exception | an evaluated Python function raised an exception or did not return text | no |
| filter | blocked by the provider's content filter; the outcome is `filtered` instead of `error` | no |
| length | the token limit was used up before the answer; the outcome is `truncated` instead of `error` | no |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.schema import Completion

Kind: TypeAlias = Literal[
    "timeout", "connect", "network", "tls", "rate", "quota", "server", "auth", "missing", "settings", "request",
    "too-long", "protocol", "empty", "filter", "length", "exception",
]  # fmt: skip

# Failures that would affect all other cases too, e.g. because the API key is wrong or the account has no credit left.
FATAL: frozenset[Kind] = frozenset({"auth", "missing", "tls", "quota", "settings", "connect", "protocol"})
# Failures in which the server rejected the request; a modified request may succeed.
REJECTED: frozenset[Kind] = frozenset({"settings", "request"})
# Failures in which the server generated an unusable response, which may be billed.
PAID: frozenset[Kind] = frozenset({"protocol", "empty"})
# Maximum number of characters to store from a server's error message; known providers send shorter messages.
_MAX_DETAIL = 300


@dataclass
class Failure(Exception):
    """A failed attempt to call a model.

    Attributes:
        kind: See the table in this module.
        detail: What happened, in one line.
        again: Whether another attempt may succeed.
        wait_s: The pause that the server requests, in seconds.
        usage: Tokens that were used and may be billed.
        error: The error that the server reports, if it sent one.
        response: The response, if it has no answer; its reasoning and served model are stored.
    """

    kind: Kind
    detail: str
    again: bool = False
    wait_s: float | None = None
    usage: dict[str, int] | None = None
    error: ServerError | None = None
    response: Completion | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


# Codes in an error body that identify its kind. If several kinds match, the first one wins. Each code and each phrase
# decides an error in `tests/models/test_server_errors.py`, which has its source.
_BY_CODE: dict[Kind, frozenset[str]] = {
    "filter": frozenset({"content_filter", "data_inspection_failed", "1301"}),
    "quota": frozenset({
        "insufficient_quota", "billing_hard_limit_reached", "arrearage", "allocationquota.freetieronly",
        "exceeded_current_quota_error", "1113", "1304", "1308", "1309", "1310",
    }),
    "too-long": frozenset({"context_length_exceeded", "1261"}),
    "missing": frozenset({"model_not_found", "unknown_model", "1211"}),
    "auth": frozenset({"api_key_invalid"}),
    "settings": frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}),
}  # fmt: skip
# A phrase that identifies a limit on tokens per minute, for which DashScope sends the code `insufficient_quota`.
_PER_MINUTE = "allocated quota exceeded, please increase your quota limit"
# Statuses whose meaning depends on the code in the body; an error inside a response counts as status 500.
_AMBIGUOUS = frozenset({400, 403, 422, 429, 500})
# Phrases that identify errors for which some servers send no code.
_BY_WORDS: tuple[tuple[Kind, frozenset[int], tuple[str, ...]], ...] = (
    ("quota", frozenset({400, 403, 429}), (
        "credit balance is too low", "reached your specified api usage limits", "key limit exceeded",
        "used all available credits", "doesn't have any credits",
    )),
    ("filter", frozenset({400, 403}), (
        "input was flagged", "flagged as potentially violating", "content exists risk",
        "blocked by content filtering policy", "content violates usage guidelines",
    )),
    # OpenAI and Azure send this error instead of a response if a model has used up the token limit with reasoning.
    ("length", frozenset({400}), ("could not finish the message because max_",)),
    # llama.cpp may send status 500 for a prompt that is too long. OpenAI sends status 429 for a prompt that exceeds the
    # limit on tokens per minute.
    ("too-long", frozenset({400, 422, 500}), (
        "context length", "context size", "too long", "input length", "input token count", "must have less than",
        "maximum prompt length", "tokens + `max_new_tokens`", "exceeded model token limit", "max_seq_len",
        "maximum model length",
    )),
    ("too-long", frozenset({429}), ("request too large",)),
    ("auth", frozenset({400}), ("incorrect api key",)),
    ("missing", frozenset({400}), ("does not exist", "model not exist")),
    ("settings", frozenset({400}), ("unrecognized request argument", "extra inputs are not permitted")),
)  # fmt: skip
_BY_STATUS: dict[int, Kind] = {
    401: "auth", 402: "quota", 403: "auth", 404: "missing", 405: "missing", 408: "timeout", 409: "server",
    410: "missing", 413: "too-long", 424: "server", 425: "server", 429: "rate",
}  # fmt: skip
# Matches a JSON escape sequence; the group matches an unpaired surrogate.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u([dD][89a-fA-F][\da-fA-F]{2})|.)")
_T = TypeVar("_T")
_AGAIN: frozenset[Kind] = frozenset({"timeout", "rate", "server"})


def from_status(status: int, body: str, wait_s: float | None = None) -> Failure:
    """Return the failure for an HTTP status, based on the error in the body if the status is ambiguous.

    Args:
        status: The HTTP status.
        body: The body of the response.
        wait_s: The pause requested in the response headers, in seconds.
    """
    brief = " ".join(body[: 4 * _MAX_DETAIL].split())[:_MAX_DETAIL]
    detail = f"HTTP {status}: {brief}" if brief else f"HTTP {status}"
    if 300 <= status < 400:
        return Failure(
            "protocol", f"HTTP {status}: the server redirects to another URL; set the base URL to the final URL"
        )
    error = read_error(body)
    kind = _kind(status, error)
    wait_s = wait_s if error.wait_s is None else max(error.wait_s, wait_s or 0.0)
    return Failure(kind, detail, again=kind in _AGAIN, wait_s=wait_s if kind in _AGAIN else None, error=error)


def _kind(status: int, error: ServerError) -> Kind:
    lower = error.message.lower()
    if status in _AMBIGUOUS:
        if status == 429 and error.is_daily:
            return "quota"
        if status == 429 and _PER_MINUTE in lower:
            return "rate"
        for kind, codes in _BY_CODE.items():
            if not codes.isdisjoint(error.codes):
                return kind
    for kind, statuses, phrases in _BY_WORDS:
        if status in statuses and any(phrase in lower for phrase in phrases):
            return kind
    return _BY_STATUS.get(status, "server" if status >= 500 else "request" if status >= 400 else "protocol")


def failed(failure: Failure, attempts: int = 1, usage: Mapping[str, int] | None = None) -> Completion:
    """Convert a failure to a case's outcome: `filtered`, `truncated` with hidden reasoning, or `error`.

    Args:
        failure: The last failure.
        attempts: The number of attempts; 0 if the request was not sent.
        usage: The total token usage of all attempts.
    """
    total, response = dict(usage or {}) or None, failure.response
    served = None if response is None else response.served
    if failure.kind == "length":
        return Completion(
            outcome="truncated", reply="", reasoning="", finish="length", usage=total, attempts=attempts, served=served
        )
    filtered = failure.kind == "filter"
    return Completion(
        outcome="filtered" if filtered else "error",
        reasoning=None if response is None else response.reasoning,
        error=None if filtered else str(failure),
        finish="content_filter" if filtered else None,
        usage=total,
        attempts=attempts,
        served=served,
    )


def decode_json(content: bytes, decoder: msgspec.json.Decoder[_T], expected: str, hint: str = "") -> _T:
    """Decode a JSON response, tolerating defects in fields that are not needed.

    Invalid UTF-8 bytes and unpaired surrogates become U+FFFD. Numbers out of range, NaN and unescaped control
    characters are accepted.

    Args:
        content: The body of the response.
        decoder: The decoder for the expected type.
        expected: The name of the expected type for error messages.
        hint: A sentence that tells the user what to check.

    Raises:
        Failure: The body is not JSON or is nested too deeply, or a required field has an invalid type.
    """
    try:
        return decoder.decode(content)
    except MALFORMED_JSON as error:
        with suppress(ValueError, *MALFORMED_JSON):
            return msgspec.convert(_decode_leniently(content.decode("utf-8", "replace")), decoder.type)
        start = content[:60].decode("utf-8", "replace")
        problem = f"the response is not {expected} ({error}): {start!r}{hint}"
        raise Failure("protocol", problem, again=True) from None


def _decode_leniently(text: str) -> Any:  # noqa: ANN401 - a server may send anything
    import json  # noqa: PLC0415 - few servers need it

    text = _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return json.loads(text, strict=False)


# Errors that servers report.

_CODE_FIELDS = ("code", "type", "status", "reason", "__type")
_MESSAGE_FIELDS = ("message", "msg", "detail", "raw")
_NESTED = (
    "error", "innererror", "inner_error", "metadata", "detail", "details", "errors", "violations", "raw", "message",
)  # fmt: skip
_MAX_DEPTH = 10
_MAX_PARTS = 100
# Names of daily limits. The words "per day" do not count, because rolling limits may end within seconds.
_DAILY = re.compile("(?:per|by)[-_]?day", re.IGNORECASE)
_DURATION = re.compile(r"([\d.]{1,12})s")


class ServerError(msgspec.Struct, frozen=True):
    """An error reported by a server.

    Attributes:
        codes: Codes, types and statuses, in lower case.
        param: The parameter that the error is about.
        message: All messages, from the outermost to the innermost.
        wait_s: The pause that the server requests, in seconds.
        is_daily: Whether a daily quota is used up.
    """

    codes: frozenset[str] = frozenset()
    param: str | None = None
    message: str = ""
    wait_s: float | None = None
    is_daily: bool = False


def read_error(body: str) -> ServerError:
    """Parse the error in a response body. If the body is not JSON, the whole text becomes the message."""
    try:
        content = msgspec.json.decode(body.encode("utf-8", "replace"))
    except MALFORMED_JSON:
        return ServerError(message=body)
    parts = [part for part, _ in zip(_parts(content, _MAX_DEPTH), range(_MAX_PARTS), strict=False)]
    values = [value for part in parts for value in map(part.get, _CODE_FIELDS) if isinstance(value, str | int)]
    texts = [value for part in parts for value in map(part.get, _MESSAGE_FIELDS) if isinstance(value, str)]
    params = [param for part in parts if (param := _param(part)) is not None]
    waits = [wait for part in parts if (wait := _wait(part)) is not None]
    return ServerError(
        codes=frozenset(str(value).rpartition("#")[2].lower() for value in values),
        param=params[0] if params else None,
        message=" ".join(dict.fromkeys(texts)) or body,
        wait_s=max(waits, default=None),
        is_daily=any(_DAILY.search(str(value)) for part in parts for value in part.values()),
    )


def _parts(content: Any, depth: int) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - any JSON
    """Yield the JSON objects in an error, including objects that a proxy has embedded in a string."""
    if isinstance(content, str) and content.lstrip()[:1] in ("{", "["):
        try:
            content = msgspec.json.decode(content.encode("utf-8", "replace"))
        except MALFORMED_JSON:
            return
    if depth == 0:
        return
    if isinstance(content, dict):
        yield content
        for name in _NESTED:
            yield from _parts(content.get(name), depth - 1)
    elif isinstance(content, list):
        for part in content[:10]:
            yield from _parts(part, depth - 1)


def _param(part: dict[str, Any]) -> str | None:
    """Return the rejected parameter: the last component of `param`, or of the path in a validation error."""
    param, path = part.get("param"), part.get("loc")
    if isinstance(param, str) and param:
        return param.rpartition(".")[2]
    names = [name for name in path if isinstance(name, str)] if isinstance(path, list) else []
    return names[-1] if names and names[-1] != "body" else None


def _wait(part: dict[str, Any]) -> float | None:
    """Return the number of seconds in a `retryDelay` value, e.g. "1.2s"."""
    delay = part.get("retryDelay")
    found = _DURATION.fullmatch(delay) if isinstance(delay, str) else None
    try:
        return None if found is None else float(found[1])
    except ValueError:
        return None
