"""Convert a streamed chat completion to an ordinary one by joining its server-sent events."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.models.failures import Failure

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_KEPT = ("id", "model", "provider", "system_fingerprint", "usage", "error")


def is_stream(content: bytes) -> bool:
    """Return whether a body consists of server-sent events."""
    return content.lstrip()[:5] in (b"data:", b"event") or content.lstrip()[:1] == b":"


def join_events(content: bytes) -> bytes:
    """Join the events of a streamed chat completion into the body of an ordinary one.

    Raises:
        Failure: The stream is incomplete.
    """
    message: dict[str, list[str]] = {}
    choice: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    is_done = is_damaged = False
    for line in content.splitlines():
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or not data:
            continue
        try:
            event = msgspec.json.decode(data, type=dict[str, Any])
        except MALFORMED_JSON:
            is_done = is_done or data == b"[DONE]"
            is_damaged = is_damaged or data != b"[DONE]"
            continue
        whole |= {name: event[name] for name in _KEPT if event.get(name) is not None}
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        choice |= {name: first[name] for name in ("finish_reason", "error") if first.get(name) is not None}
        delta = first.get("delta")
        for name in _TEXTS:
            if isinstance(delta, dict) and isinstance(delta.get(name), str):
                message.setdefault(name, []).append(delta[name])
    is_over = is_done or "finish_reason" in choice
    if (is_damaged or not is_over) and not (whole.get("error") or choice.get("error")):
        problem = "contains a malformed event" if is_damaged else "ended without finish_reason and [DONE]"
        raise Failure("network", f"the streamed response {problem}", again=True)
    if message or choice:
        whole["choices"] = [choice | {"message": {name: "".join(pieces) for name, pieces in message.items()}}]
    return msgspec.json.encode(whole)
