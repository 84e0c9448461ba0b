"""Convert a streamed chat completion to an ordinary one by joining its server-sent events."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.models.base import read_served
from ragbed.models.failures import Failure
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Completion

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def is_stream(content: bytes) -> bool:
    """Return whether a body consists of server-sent events."""
    return content.lstrip()[:5] in (b"data:", b"event") or content.lstrip()[:1] == b":"


def join_events(content: bytes) -> bytes:
    """Join the events of a streamed chat completion into the body of an ordinary one.

    Raises:
        Failure: The stream is incomplete.
    """
    whole, choice = dict[str, Any](), dict[str, Any]()
    texts, calls = dict[str, str](), dict[int, dict[str, Any]]()
    is_over = is_damaged = False
    for line in content.splitlines():
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or not data:
            continue
        try:
            event = msgspec.json.decode(data, type=dict[str, Any])
        except MALFORMED_JSON:
            is_over, is_damaged = is_over or data == b"[DONE]", is_damaged or data != b"[DONE]"
            continue
        if event.get("object") == "error":  # some versions of vLLM send no field `error`
            event.setdefault("error", event.copy())
        whole |= {name: value for name, value in event.items() if value is not None and name != "choices"}
        first = _find_first(event.get("choices"))
        choice |= {name: first[name] for name in ("finish_reason", "error") if first.get(name)}
        delta = first.get("delta")
        if isinstance(delta, dict):
            for name in _TEXTS:
                if isinstance(delta.get(name), str):
                    texts[name] = texts.get(name, "") + delta[name]
            _add_calls(calls, delta.get("tool_calls"))
    if (is_damaged or not (is_over or "finish_reason" in choice)) and not (whole.get("error") or choice.get("error")):
        problem = "contains a malformed event" if is_damaged else "ended without finish_reason and [DONE]"
        usage, served = read_usage(whole.get("usage")), read_served(model=whole.get("model"), id=whole.get("id"))
        response = Completion(outcome="error", served=served)
        raise Failure("network", f"the streamed response {problem}", again=True, usage=usage, response=response)
    if texts or calls or choice:
        whole["choices"] = [choice | {"message": texts | ({"tool_calls": list(calls.values())} if calls else {})}]
    return msgspec.json.encode(whole)


def _find_first(choices: object) -> dict[str, Any]:
    """Return the first choice of an event, or an empty object if it has none, as in the last event."""
    found = choices if isinstance(choices, list) else []
    return next((one for one in found if isinstance(one, dict) and one.get("index") in (None, 0)), {})


def _add_calls(calls: dict[int, dict[str, Any]], pieces: object) -> None:
    """Add the pieces of tool calls; the first piece of each call has the ID and the name."""
    for at, piece in enumerate(pieces if isinstance(pieces, list) else ()):
        function = piece.get("function") if isinstance(piece, dict) else None
        if isinstance(function, dict):
            index = piece["index"] if isinstance(piece.get("index"), int) else at
            call = calls.setdefault(index, piece | {"function": {"name": "", "arguments": ""}})["function"]
            call["name"] = call["name"] or function.get("name") or ""
            call["arguments"] += function["arguments"] if isinstance(function.get("arguments"), str) else ""
