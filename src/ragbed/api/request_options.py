"""Read the options for model requests: token limit, temperature, thinking, and extra fields and headers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from ragbed.errors import MALFORMED_JSON, UsageError, option

if TYPE_CHECKING:
    from ragbed.api.spec import CallOptions
    from ragbed.models.base import Sampling

AUTO, NONE = "auto", "none"
# Options of all commands that call models that change the responses, and are therefore stored.
REQUEST_SETTINGS = ("temperature", "reasoning_effort", "thinking", "seed_model", "extra_body")
# Request fields that are not allowed in `extra_body`, each with the option that sets it instead, if there is one.
_OWN_FIELDS = {
    **dict.fromkeys(("messages", "prompt", "system", "input"), "prompt"),
    **{name: name for name in ("model", "temperature", "top_p", "max_tokens", "reasoning_effort")},
    "max_completion_tokens": "max_tokens",
    **dict.fromkeys(("seed", "random_seed"), "seed_model"),
    "n": "repeats",
    **dict.fromkeys(("stream", "stream_options"), ""),
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


def read_request_options(spec: CallOptions) -> dict[str, Any]:
    """Return the `Sampling` fields set by the request options.

    Raises:
        UsageError: Two options conflict.
    """
    extra = read_extra_body(spec.extra_body)
    if conflict := _find_conflict(spec, extra):
        raise UsageError(f"{conflict}. Remove one of them.")
    fields = {
        "temperature": spec.temperature,
        "thinking": read_thinking(spec.thinking),
        "reasoning_effort": spec.reasoning_effort,
        "extra_body": extra or None,
        "seed": spec.seed_model,
    }
    given = {name: value for name, value in fields.items() if value is not None}
    return given | {"temperature": None} if given.get("temperature") == NONE else given


def _find_conflict(spec: CallOptions, extra: Mapping[str, Any]) -> str | None:
    """Describe two options that contradict each other or set the same parameter; return None if there are none."""
    thinking, effort = read_thinking(spec.thinking), spec.reasoning_effort
    if thinking is False and effort not in (None, NONE, "minimal"):
        return (
            f"{option('thinking', 'off')} and {option('reasoning_effort', effort)} contradict each other, because the "
            "latter turns thinking on"
        )
    if thinking not in (None, False) and effort == NONE:
        return f"{option('thinking')} and {option('reasoning_effort', NONE)} contradict each other"
    given = next((name for name in _THINKING_OPTIONS if getattr(spec, name) is not None), None)
    field = min(_THINKING_FIELDS & {*extra}, default=None)
    if given is None or field is None:
        return None
    return f"{option(given)} and {field!r} in {option('extra_body')} set the same parameter"


def settings_of(spec: CallOptions) -> dict[str, str]:
    """Return the settings to store for the request options that are set and change the responses."""
    extra = read_extra_body(spec.extra_body)
    body = msgspec.json.encode(extra, order="sorted").decode() if extra else None
    given = {name: body if name == "extra_body" else getattr(spec, name) for name in REQUEST_SETTINGS}
    return {name: str(value) for name, value in given.items() if value is not None}


def read_thinking(value: str | None) -> bool | int | None:
    """Return a boolean for `on` and `off`, or the thinking budget in tokens for `budget=N`."""
    if value is None:
        return None
    return int(value.removeprefix("budget=")) if value.startswith("budget=") else value == "on"


def check_thinking(name: str, value: object) -> str:
    """Check a value of the form `on`, `off` or `budget=N`."""
    if isinstance(value, str):
        budget = re.fullmatch(r"budget=([0-9]{1,7})", value)
        if value in ("on", "off") or (budget is not None and 1 <= int(budget[1]) <= _MAX_THINKING):
            return value
    raise UsageError(
        f"{option(name, repr(value))} is not valid. Use 'on', 'off' or 'budget=N', where N is a number of tokens."
    )


def check_effort(name: str, value: object) -> str:
    """Check a reasoning effort; the levels differ between providers."""
    if not (isinstance(value, str) and re.fullmatch("[a-z]{1,20}", value)):
        raise UsageError(
            f"{option(name, repr(value))} is not valid. Use a level that the provider supports, e.g. none, low, medium "
            "or high."
        )
    return value


def check_extra_body(_: str, value: object) -> object:
    """Check extra request fields."""
    read_extra_body(value)
    return value


def check_header(_: str, value: object) -> object:
    """Check additional headers."""
    read_headers(value)
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
            f"{option('extra_body')} is not valid JSON: {error}. Use None, strings, numbers, booleans, lists and "
            "dictionaries."
        ) from None
    for name, instead in _OWN_FIELDS.items():
        if name in fields:
            advice = (
                f"use {option(instead)}" if instead else "remove it; ragbed streams responses if a server requires it"
            )
            prompts = "prompts come from the testbeds; " if instead == "prompt" else ""
            raise UsageError(f"{option('extra_body')} must not contain {name!r}: {prompts}{advice}.")
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
                f"""{option("extra_body")} is not valid JSON: {error}. Use an object, e.g. '{{"top_k": 20}}'."""
            ) from None
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise UsageError(
            f"{option('extra_body')} is not a JSON object. Use an object with request fields, e.g. '{{\"top_k\": 20}}'."
        )
    return dict(value)


def _check_names(fields: list[tuple[str, Any]]) -> None:
    names = [name for name, _ in fields]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"{option('extra_body')} contains {twice[0]!r} more than once. Remove one of them.")


def read_headers(value: object) -> dict[str, str]:
    """Parse headers of the form `Name: value`.

    Raises:
        UsageError: A header is malformed, contains a line break, occurs twice or is set by the HTTP client.
    """
    headers: dict[str, str] = {}
    for text in [value] if isinstance(value, str) else value if isinstance(value, Iterable) else [value]:
        name, colon, content = text.partition(":") if isinstance(text, str) else ("", "", "")
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            raise UsageError(
                f"{option('header')} does not have the form 'Name: value', e.g. 'HTTP-Referer: https://example.org'."
            )
        if not (content.isascii() and content.strip().isprintable()):
            raise UsageError(
                f"{option('header')}: the value for {name.strip()} must not contain line breaks or non-ASCII "
                "characters."
            )
        if name.strip().lower() in _OWN_HEADERS:
            raise UsageError(
                f"{option('header')}: {name.strip()} is set automatically and cannot be overridden. Remove this header."
            )
        if name.strip().lower() in map(str.lower, headers):
            raise UsageError(f"{option('header')} contains {name.strip()} more than once. Remove one of them.")
        headers[name.strip()] = content.strip()
    return headers


def check_max_tokens(name: str, value: object) -> int | str:
    """Check a token limit: a number or `auto`."""
    if value == AUTO:
        return AUTO
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 16 else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise UsageError(f"{option(name, repr(value))} is out of range. Use 'auto' or an integer of at least 1.")
    return number


def check_temperature(name: str, value: object) -> float | str:
    """Parse a temperature: a number, or `none` to omit it from requests."""
    if value == NONE:
        return NONE
    try:
        number = -1.0 if isinstance(value, bool) else float(value)  # type: ignore[arg-type]  # TypeError is caught
    except (ValueError, TypeError):
        number = -1.0
    if not math.isfinite(number):
        raise UsageError(f"{option(name, repr(value))} is not a finite number. Use a value such as 0 or 0.7.")
    if not 0 <= number <= _MAX_TEMPERATURE:
        raise UsageError(
            f"{option(name, repr(value))} is out of range. Use 'none' or a number from 0 to {_MAX_TEMPERATURE}."
        )
    return number


def with_limit(sampling: Sampling, max_tokens: int | str | None) -> Sampling:
    """Return sampling parameters whose token limit is fixed (for a number) or can be raised (for `auto` and None)."""
    if isinstance(max_tokens, int):
        return structs.replace(sampling, max_tokens=max_tokens, raises_limit=False)
    return structs.replace(sampling, raises_limit=True)
