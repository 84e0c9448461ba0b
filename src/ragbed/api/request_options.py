"""Read the options for model requests: token limit, temperature, thinking, and extra fields and headers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from ragbed.errors import MALFORMED_JSON, UsageError

if TYPE_CHECKING:
    from ragbed.models.base import Sampling

AUTO, NONE = "auto", "none"
# Options of all commands that call models that change the responses, and are therefore stored.
REQUEST_SETTINGS = ("temperature", "reasoning_effort", "thinking", "seed_model", "extra_body")
# Request fields that are not allowed in `extra_body`, each with the option that sets it instead.
_OWN_FIELDS = {
    **dict.fromkeys(("messages", "prompt", "system", "input"), "prompts come from the testbeds; use `prompt`"),
    "model": "use `model`",
    "temperature": "use `temperature`",
    "top_p": "use `top_p`",
    **dict.fromkeys(("max_tokens", "max_completion_tokens"), "use `max_tokens`"),
    "reasoning_effort": "use `reasoning_effort`",
    **dict.fromkeys(("seed", "random_seed"), "use `seed_model`"),
    "n": "use `repeats`",
    **dict.fromkeys(("stream", "stream_options"), "remove it; ragbed streams responses if a server requires it"),
}
# Options that control thinking, and the fields with which `extra_body` can do so instead.
_THINKING_OPTIONS = ("thinking", "reasoning_effort")
_THINKING_FIELDS = frozenset({"thinking", "enable_thinking", "reasoning"})
# Headers that the HTTP client sets itself.
_OWN_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_MAX_THINKING = 1_000_000
_MAX_TEMPERATURE = 100  # Maximum temperature, far above what any provider accepts; larger values are probably typos.


def read_request_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `Sampling` fields set by the request options.

    Raises:
        UsageError: A value is invalid, or two options conflict.
    """
    thinking, effort = read_thinking(options["thinking"]), _read_effort(options["reasoning_effort"])
    extra = read_extra_body(options["extra_body"])
    if conflict := _find_conflict(options, extra):
        raise UsageError(f"{conflict}. Remove one of them.")
    read_headers(options["header"])
    fields = {
        "temperature": check_temperature(options["temperature"]),
        "thinking": thinking,
        "reasoning_effort": effort,
        "extra_body": extra or None,
        "seed": options["seed_model"],
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return given | {"temperature": None} if given.get("temperature") == NONE else given


def _find_conflict(options: Mapping[str, Any], extra: Mapping[str, Any]) -> str | None:
    """Describe two options that contradict each other or set the same parameter; return None if there are none."""
    thinking, effort = read_thinking(options.get("thinking")), _read_effort(options.get("reasoning_effort"))
    if thinking is False and effort not in (None, NONE, "minimal"):
        return f"thinking=off and reasoning_effort={effort} contradict each other, because the latter turns thinking on"
    if thinking not in (None, False) and effort == NONE:
        return "`thinking` and reasoning_effort=none contradict each other"
    option = next((name for name in _THINKING_OPTIONS if options.get(name) is not None), None)
    field = min(_THINKING_FIELDS & {*extra}, default=None)
    return f"`{option}` and {field!r} in `extra_body` set the same parameter" if option and field else None


def settings_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings to store for the request options that are set and change the responses."""
    extra = read_extra_body(options["extra_body"])
    given = {**options, "extra_body": msgspec.json.encode(extra, order="sorted").decode() if extra else None}
    return {name: str(given[name]) for name in REQUEST_SETTINGS if given[name] is not None}


def read_thinking(value: object) -> bool | int | None:
    """Parse `on`, `off` or `budget=N`, and return a boolean or the thinking budget in tokens."""
    if value is None:
        return None
    budget = re.fullmatch(r"budget=([0-9]{1,7})", value) if isinstance(value, str) else None
    if budget is not None and 1 <= int(budget[1]) <= _MAX_THINKING:
        return int(budget[1])
    if value not in ("on", "off"):
        raise UsageError(
            f"thinking={value!r} is not valid. Use 'on', 'off' or 'budget=N', where N is a number of tokens."
        )
    return value == "on"


def _read_effort(value: object) -> str | None:
    if value is not None and not (isinstance(value, str) and re.fullmatch("[a-z]{1,20}", value)):
        raise UsageError(
            f"reasoning_effort={value!r} is not valid. Use a level that the provider supports, e.g. none, "
            "low, medium or high."
        )
    return value


def read_extra_body(value: object) -> dict[str, Any]:
    """Read extra request fields from a dictionary or from JSON.

    Raises:
        UsageError: The value is not an object, contains a field twice, cannot be sent as JSON, or contains a field that
            another option sets.
    """
    import json

    fields = _parse_fields(value)
    try:
        json.dumps(fields, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise UsageError(
            f"`extra_body` is not valid JSON: {error}. Use None, strings, numbers, booleans, lists and dictionaries."
        ) from None
    for name, instead in _OWN_FIELDS.items():
        if name in fields:
            raise UsageError(f"`extra_body` must not contain {name!r}: {instead}.")
    return fields


def _parse_fields(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        import json

        try:
            text = value.encode("utf-8", "replace")
            value = msgspec.json.decode(text)
            json.loads(text, object_pairs_hook=_check_names)
        except MALFORMED_JSON as error:
            raise UsageError(
                f"""`extra_body` is not valid JSON: {error}. Use an object, e.g. '{{"top_k": 20}}'."""
            ) from None
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise UsageError(
            "`extra_body` is not a JSON object. Use an object with request fields, e.g. '{\"top_k\": 20}'."
        )
    return dict(value)


def _check_names(fields: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in fields]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"`extra_body` contains {twice[0]!r} more than once. Remove one of them.")


def read_headers(value: object) -> dict[str, str]:
    """Parse headers of the form `Name: value`.

    Raises:
        UsageError: A header is malformed, contains a line break, occurs twice or is set by the HTTP client.
    """
    headers: dict[str, str] = {}
    for text in [value] if isinstance(value, str) else value if isinstance(value, Iterable) else [value]:
        name, colon, content = text.partition(":") if isinstance(text, str) else ("", "", "")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            raise UsageError("`header` does not have the form 'Name: value', e.g. 'HTTP-Referer: https://example.org'.")
        if not (content.isascii() and content.strip().isprintable()):
            raise UsageError(
                f"`header`: the value for {name.strip()} must not contain line breaks or non-ASCII characters."
            )
        if name.strip().lower() in _OWN_HEADERS:
            raise UsageError(
                f"`header`: {name.strip()} is set automatically and cannot be overridden. Remove this header."
            )
        if name.strip().lower() in map(str.lower, headers):
            raise UsageError(f"`header` contains {name.strip()} more than once. Remove one of them.")
        headers[name.strip()] = content.strip()
    return headers


def check_max_tokens(value: object) -> int | str | None:
    """Check a token limit: a number, `auto`, or None for the default."""
    if value is None or value == AUTO:
        return AUTO if value else None
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise UsageError(f"max_tokens={value!r} is out of range. Use 'auto' or an integer of at least 1.")
    return number


def check_temperature(value: object) -> float | str | None:
    """Parse a temperature: a number, `none` to omit it from requests, or None for the default."""
    if value is None or value == NONE:
        return NONE if value else None
    try:
        number = -1.0 if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # TypeError is caught
    except (ValueError, TypeError):
        number = -1.0
    if not math.isfinite(number):
        raise UsageError(f"temperature={value!r} is not a finite number. Use a value such as 0 or 0.7.")
    if not 0 <= number <= _MAX_TEMPERATURE:
        raise UsageError(f"temperature={value!r} is out of range. Use 'none' or a number from 0 to {_MAX_TEMPERATURE}.")
    return number


def with_limit(sampling: Sampling, max_tokens: int | str | None) -> Sampling:
    """Return sampling parameters whose token limit is fixed (for a number) or can be raised (for `auto` and None)."""
    if isinstance(max_tokens, int):
        return structs.replace(sampling, max_tokens=max_tokens, raises_limit=False)
    return structs.replace(sampling, raises_limit=True)
