"""Learn from a server's rejections which parameters a model accepts.

A request is first sent as configured. If the server rejects a parameter, the parameter is omitted or renamed, or
streaming is enabled; all later requests to the model are sent the same way. Parameters that the user has set
(`--temperature`, `--top-p`, `--extra-body`, `--thinking`, `--reasoning-effort`, `--seed-model`) are never changed,
because that would evaluate a different configuration. If a preset or a command sets another temperature or top_p than
the default, it is omitted only if the server does not support the parameter, not if its value is out of range.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from ragbed.models.failures import REJECTED, Failure, ServerError

_LIMITS = ("max_tokens", "max_completion_tokens")
# Parameters that may be omitted. If an error message names several of them, the first one in this order is omitted.
_OPTIONAL = ("top_p", "temperature", "structured_outputs", "response_format", "stream_options", "stop")
_DEFAULTS = {"temperature": 0, "top_p": 1}
# Phrases of Anthropic for parameters that a model does not accept with any value. OpenAI sends codes instead.
_UNSUPPORTED = ("is deprecated", "cannot both be specified", "may only be set")
# Phrases of DashScope and Fireworks for models that require streaming.
_STREAM_ONLY = (
    "only support stream", "must have stream=true", "not support non-stream", "enable_thinking must be set to false",
    "enable_thinking必须设置为false",
)  # fmt: skip
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}


Learned: TypeAlias = dict[str, dict[str, Any] | None]


def adjust(body: Mapping[str, Any], learned: Learned) -> dict[str, Any]:
    """Return a request body with the parameters that the server accepts (see `Negotiation.learned`)."""
    adjusted = dict(body)
    for name, change in learned.items():
        if change is None:
            adjusted.pop(name, None)
        elif "as" in change:
            if name in adjusted:
                adjusted[change["as"]] = adjusted.pop(name)
        else:
            adjusted[name] = change["set"]
    return adjusted


class Negotiation:
    """The parameter changes that a model's server requires.

    Args:
        fixed: Names of the parameters that the user has set.

    Attributes:
        learned: The change for each parameter: `None` if it is omitted, `{"as": name}` if it is renamed,
            and `{"set": value}` if it is set to a value.
    """

    def __init__(self, fixed: frozenset[str] = frozenset()) -> None:
        self._fixed = fixed
        self.learned: Learned = {}

    def add(self, learned: Learned) -> None:
        """Add changes, e.g. from an earlier session, except to parameters that the user has set."""
        self.learned |= {name: change for name, change in learned.items() if name not in self._fixed}

    def apply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request body with the parameters that the server accepts."""
        return adjust(body, self.learned)

    def learn(self, failure: Failure, sent: Mapping[str, Any], *, may_stream: bool = True) -> bool:
        """Learn from a rejected request, and return whether to send a changed request.

        The caller makes sure that a body that was rejected before is not sent again.

        Args:
            failure: The rejection.
            sent: The body of the request.
            may_stream: Whether the response may be streamed.
        """
        if failure.kind not in REJECTED or failure.error is None:
            return False
        message, param = failure.error.message.lower(), failure.error.param
        is_needed = param == "stream" or any(phrase in message for phrase in _STREAM_ONLY)
        if may_stream and is_needed and not sent.get("stream"):
            self.add({name: {"set": value} for name, value in _STREAM.items()})
            return True
        return self._learn_named(failure, sent)

    def describe(self) -> str:
        """Return a description of the parameter changes."""
        return ", ".join(_describe(name, change) for name, change in self.learned.items())

    def _learn_named(self, failure: Failure, sent: Mapping[str, Any]) -> bool:
        """Rename or omit a parameter that the error names."""
        error = failure.error or ServerError()
        message, param = error.message.lower().replace("response format", "response_format"), error.param
        named = ({param} if param in sent else {name for name in sent if _names(message, name)}) - self._fixed
        is_unsupported = failure.kind == "settings"
        for limit, other in (_LIMITS, _LIMITS[::-1]):
            if limit in named and (_names(message, other) or is_unsupported):
                return self._change(limit, {"as": other})
        is_unsupported = is_unsupported or any(phrase in message for phrase in _UNSUPPORTED)
        for name in _OPTIONAL:
            if name in named and (is_unsupported or sent[name] == _DEFAULTS.get(name, sent[name])):
                return self._change(name, None)
        return False

    def _change(self, name: str, change: dict[str, Any] | None) -> bool:
        former = None if change is None else change.get("as")
        if former in self.learned:  # the server now accepts the former parameter name again
            del self.learned[former]
        else:
            self.learned[name] = change
        return True


def _names(message: str, name: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message, re.ASCII) is not None


def _describe(name: str, change: dict[str, Any] | None) -> str:
    if change is None:
        return f"{name} is omitted"
    if "as" in change:
        return f"{name} is sent as {change['as']}"
    return f"{name} is set to {msgspec.json.encode(change['set']).decode()}"
