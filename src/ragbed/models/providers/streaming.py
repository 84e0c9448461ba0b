"""Read a streamed chat completion: server-sent events whose pieces are joined to one response."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON

_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")
_KEPT = ("id", "model", "provider", "system_fingerprint", "usage", "error")


def is_stream(content: bytes) -> bool:
    """Return whether a body consists of server-sent events."""
    return content.lstrip()[:5] in (b"data:", b"event") or content.lstrip()[:1] == b":"


def join_events(content: bytes) -> bytes:
    """Return the chat completion that a stream describes, as if it had not been streamed."""
    message: dict[str, list[str]] = {}
    choice: dict[str, Any] = {}
    whole: dict[str, Any] = {}
    for line in content.splitlines():
        if not line.startswith(b"data:"):
            continue
        try:
            event = msgspec.json.decode(line.removeprefix(b"data:"), type=dict[str, Any])
        except MALFORMED_JSON:  # also the last event, [DONE]
            continue
        whole |= {name: event[name] for name in _KEPT if event.get(name) is not None}
        choices = event.get("choices")
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        choice |= {name: first[name] for name in ("finish_reason", "error") if first.get(name) is not None}
        delta = first.get("delta")
        for name in _TEXTS:
            if isinstance(delta, dict) and isinstance(delta.get(name), str):
                message.setdefault(name, []).append(delta[name])
    if message or choice:
        whole["choices"] = [choice | {"message": {name: "".join(pieces) for name, pieces in message.items()}}]
    return msgspec.json.encode(whole)
