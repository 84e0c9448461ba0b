"""Convert a streamed chat completion to an ordinary one by joining its server-sent events."""

from __future__ import annotations

from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON
from ragbed.models.base import read_served
from ragbed.models.failures import Failure, read_minimax_status
from ragbed.models.providers.usage import read_usage
from ragbed.schema import Completion

_TEXTS = ("content", "reasoning_content", "reasoning", "thinking", "thinking_blocks", "reasoning_details", "refusal")
_KEPT = (
    "id", "object", "model", "provider", "system_fingerprint", "usage", "error", "base_resp", "prompt_feedback",
    "promptFeedback", "amazon-bedrock-guardrailAction",
)  # fmt: skip


class _ToolCall(msgspec.Struct):
    """A streamed tool call, whose arguments arrive in pieces."""

    fields: dict[str, Any] = {}
    name: str = ""
    arguments: list[str] = []

    def continues(self, piece: dict[str, Any]) -> bool:
        """Return whether a piece with the same index belongs to this call rather than to the next one.

        Some servers send several calls with one index, each with its own ID and name. Some proxies send another ID
        with every piece, but the name only once.
        """
        function = piece.get("function")
        has_name = isinstance(function, dict) and bool(function.get("name"))
        return not has_name or piece.get("id") in (None, "", self.fields.get("id", piece.get("id")))

    def add(self, piece: dict[str, Any]) -> None:
        """Add a piece; later pieces may repeat the ID and the name, or leave them empty."""
        self.fields = {name: value for name, value in piece.items() if value not in (None, "")} | self.fields
        function = piece.get("function")
        if isinstance(function, dict):
            self.name = self.name or (function["name"] if isinstance(function.get("name"), str) else "")
            self.arguments += [function["arguments"]] if isinstance(function.get("arguments"), str) else []

    def join(self) -> dict[str, Any]:
        """Return the call as in an ordinary chat completion."""
        return self.fields | {"function": {"name": self.name, "arguments": "".join(self.arguments)}}


class _Message(msgspec.Struct):
    """A streamed message: the pieces of each text, all tool calls, and the latest call of each index.

    A piece is a string or, if the server sends lists, a part of a list: Mistral sends `content` and OpenRouter sends
    `reasoning_details` as lists.
    """

    texts: dict[str, list[Any]] = {}
    calls: list[_ToolCall] = []
    latest: dict[int, _ToolCall] = {}

    def add(self, delta: dict[str, Any]) -> None:
        """Add the text and the tool calls of an event."""
        for name in _TEXTS:
            piece = delta.get(name)
            if isinstance(piece, str | list):
                self.texts.setdefault(name, []).extend([piece] if isinstance(piece, str) else piece)
        for at, piece in enumerate(_list_in(delta, "tool_calls")):
            if isinstance(piece, dict):
                index = piece["index"] if isinstance(piece.get("index"), int) else at
                if index not in self.latest or not self.latest[index].continues(piece):
                    self.latest[index] = _ToolCall()
                    self.calls.append(self.latest[index])
                self.latest[index].add(piece)

    def join(self) -> dict[str, Any]:
        """Return the message as in an ordinary chat completion."""
        calls = {"tool_calls": [call.join() for call in self.calls]} if self.calls else {}
        return {name: _join_pieces(pieces) for name, pieces in self.texts.items()} | calls


def is_stream(content: bytes) -> bool:
    """Return whether a body consists of server-sent events."""
    return content.lstrip()[:5] in (b"data:", b"event") or content.lstrip()[:1] == b":"


def join_events(content: bytes) -> bytes:
    """Join the events of a streamed chat completion into the body of an ordinary one.

    Raises:
        Failure: The stream is incomplete.
    """
    message = _Message()
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
        if event.get("object") == "error":  # goes without the field `error` in some versions of vLLM
            whole["error"] = whole.get("error") or event
        found = [part for part in _list_in(event, "choices") if isinstance(part, dict)]
        first = next((part for part in found if part.get("index") in (None, 0)), {})
        choice |= {name: first[name] for name in ("finish_reason", "error") if first.get(name)}
        for place in (first, event.get("x_groq")):  # Moonshot and Groq may report the usage only here
            used = place.get("usage") if isinstance(place, dict) else None
            if isinstance(used, dict) and used and not whole.get("usage"):
                whole["usage"] = used
        if isinstance(first.get("delta"), dict):
            message.add(first["delta"])
    is_over = is_done or "finish_reason" in choice
    unknown = None if choice or message.texts else 500
    has_error = whole.get("error") or choice.get("error") or read_minimax_status(whole.get("base_resp"), unknown)
    if (is_damaged or not is_over) and not has_error:
        problem = "contains a malformed event" if is_damaged else "ended without finish_reason and [DONE]"
        usage, served = read_usage(whole.get("usage")), read_served(model=whole.get("model"), id=whole.get("id"))
        response = Completion(outcome="error", served=served)
        raise Failure("network", f"the streamed response {problem}", again=True, usage=usage, response=response)
    if message.texts or message.calls or choice:
        whole["choices"] = [choice | {"message": message.join()}]
    return msgspec.json.encode(whole)


def _join_pieces(pieces: list[Any]) -> str | list[Any]:
    """Return the text that consists of the pieces, or the pieces themselves if some of them are not strings."""
    return "".join(pieces) if all(isinstance(piece, str) for piece in pieces) else pieces


def _list_in(fields: object, name: str) -> list[Any]:
    """Return a field of a JSON object if it is a list, otherwise an empty list."""
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if isinstance(found, list) else []
