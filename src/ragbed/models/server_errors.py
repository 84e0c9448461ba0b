"""Parse a server's error response: its codes, the parameter that it names, its message and the requested pause.

| Server | Body |
|---|---|
| OpenAI, Azure, DeepSeek, Groq, vLLM | `{"error": {"message", "type", "param", "code"}}`, also without `error` |
| Anthropic | `{"type": "error", "error": {"type", "message"}}` |
| Gemini | `{"error": {"code", "status", "message", "details": [{"@type", …}]}}`, also as the only item of a list |
| DashScope, SiliconFlow, Bedrock | `{"code", "message"}` |
| Mistral, FastAPI | `{"detail": [{"type", "loc", "msg"}]}` |
| xAI | `{"code", "error"}`, in which `code` is a sentence |
| OpenRouter | `{"error": {"code", "message", "metadata": {"raw", "reasons", "provider_name"}}}` |
| MiniMax | `{"base_resp": {"status_code", "status_msg"}}`, with HTTP status 200; or as OpenAI or Anthropic |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON

_CODE_FIELDS = ("code", "type", "status", "reason", "__type", "status_code")
_MESSAGE_FIELDS = ("message", "msg", "detail", "raw", "status_msg")
_NESTED = (
    "error",
    "innererror",
    "inner_error",
    "metadata",
    "detail",
    "details",
    "errors",
    "violations",
    "raw",
    "message",
    "base_resp",
)
# HTTP statuses that correspond to MiniMax's codes: https://platform.minimax.io/docs/api-reference/errorcode
_MINIMAX = {
    "1000": 500, "1001": 408, "1002": 429, "1004": 401, "1008": 402, "1024": 500, "1026": 400, "1027": 400, "1039": 429,
    "1041": 429, "1042": 400, "2013": 400, "2045": 429, "2049": 401, "2056": 402,
}  # fmt: skip
_MAX_DEPTH = 10
_MAX_PARTS = 100
_SEPARATOR = re.compile("[-_]")
_DURATION = re.compile(r"([\d.]{1,12})s")


class ServerError(msgspec.Struct, frozen=True):
    """An error reported by a server.

    Attributes:
        codes: Codes, types and statuses, in lower case.
        param: The parameter that the error is about.
        message: All messages, from the outermost to the innermost.
        wait_s: The pause that the server requests, in seconds.
        is_daily: Whether a daily quota is used up.
        is_flagged: Whether a moderation service lists reasons.
        status: The HTTP status that corresponds to MiniMax's code, which replaces the status of the response.
    """

    codes: frozenset[str] = frozenset()
    param: str | None = None
    message: str = ""
    wait_s: float | None = None
    is_daily: bool = False
    is_flagged: bool = False
    status: int | None = None


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
        is_daily=any(_is_daily(str(value)) for part in parts for value in part.values()),
        is_flagged=any(part.get("reasons") and "flagged_input" in part for part in parts),
        status=next(filter(None, (read_minimax_status(part.get("base_resp")) for part in parts)), None),
    )


def read_minimax_status(base_resp: object, unknown: int | None = None) -> int | None:
    """Return the HTTP status that corresponds to the code in MiniMax's field `base_resp`.

    Args:
        base_resp: The field, in which the code 0 means success.
        unknown: The status for other codes.
    """
    code = base_resp.get("status_code") if isinstance(base_resp, dict) else None
    return None if code in (None, 0, "0") else _MINIMAX.get(str(code), unknown)


def _is_daily(text: str) -> bool:
    """Return whether a text contains the name of a daily limit: `PerDay`, `per-day`, `per_day` or `ByDay`.

    The words "per day" do not count, because rolling limits, which they also describe, may end within seconds.
    """
    return re.search("(?:per|by)day", _SEPARATOR.sub("", text.lower())) is not None


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
