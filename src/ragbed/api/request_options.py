"""Read the options for model requests: token limit, temperature, thinking, and extra fields and headers."""

from __future__ import annotations

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
# Request fields that are not allowed in `extra_body`.
_OWN_FIELDS = (
    *("messages", "prompt", "system", "input", "model", "n", "stream", "stream_options"),
    *("temperature", "top_p", "max_tokens", "max_completion_tokens", "reasoning_effort", "seed", "random_seed"),
)
_HEADER = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100})\s*:[ \t]*([ -~]*)")
_MAX_THINKING = 1_000_000
_MAX_TEMPERATURE = 100  # Maximum temperature, far above what any provider accepts; larger values are probably typos.


def apply_options(sampling: Sampling, spec: CallOptions) -> Sampling:
    """Return sampling parameters with the values of the request options that are set."""
    thinking: bool | int | None = None
    if spec.thinking is not None:
        budget = spec.thinking.removeprefix("budget=")
        thinking = int(budget) if budget != spec.thinking else spec.thinking == "on"
    fields = {
        "temperature": spec.temperature,
        "thinking": thinking,
        "reasoning_effort": spec.reasoning_effort,
        "extra_body": spec.extra_body or None,
        "seed": spec.seed_model,
    }
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    return structs.replace(sampling, **given | ({"temperature": None} if spec.temperature == NONE else {}))


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


def read_extra_body(_: str, value: object) -> dict[str, Any]:
    """Read extra request fields from a dictionary or from JSON.

    Raises:
        UsageError: The value is not an object, cannot be sent as JSON, or contains a field that ragbed sets.
    """
    import json

    name = option("extra_body")
    try:
        fields = msgspec.json.decode(value.encode("utf-8", "replace")) if isinstance(value, str) else value
        json.dumps(fields, allow_nan=False)
    except (*MALFORMED_JSON, TypeError) as error:
        raise UsageError(f"""{name} is not valid JSON: {error}. Use an object, e.g. '{{"top_k": 20}}'.""") from None
    if fields is None:
        return {}
    if not isinstance(fields, dict) or not all(isinstance(field, str) for field in fields):
        raise UsageError(f"{name} is not a JSON object. Use an object, e.g. '{{\"top_k\": 20}}'.")
    if own := [field for field in _OWN_FIELDS if field in fields]:
        raise UsageError(f"{name} must not contain {own[0]!r}, which ragbed sets. Use its own option if there is one.")
    return fields


def read_headers(_: str, value: object) -> dict[str, str]:
    """Read headers from a dictionary or from texts of the form `Name: value`.

    Raises:
        UsageError: A header is malformed, or contains a line break or a non-ASCII character.
    """
    headers: dict[str, str] = {}
    value = [f"{name}: {text}" for name, text in value.items()] if isinstance(value, Mapping) else value
    for text in [value] if isinstance(value, str) else value if isinstance(value, Iterable) else [value]:
        match = _HEADER.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise UsageError(
                f"{option('header')} does not have the form 'Name: value', e.g. 'HTTP-Referer: https://example.org'. "
                "The value must not contain line breaks or non-ASCII characters."
            )
        headers[match[1]] = match[2].strip()
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
    if not 0 <= number <= _MAX_TEMPERATURE:  # false for NaN
        raise UsageError(
            f"{option(name, repr(value))} is out of range. Use 'none' or a number from 0 to {_MAX_TEMPERATURE}."
        )
    return number


def with_limit(sampling: Sampling, max_tokens: int | str | None) -> Sampling:
    """Return sampling parameters whose token limit is fixed (for a number) or can be raised (for `auto` and None)."""
    if isinstance(max_tokens, int):
        return structs.replace(sampling, max_tokens=max_tokens, raises_limit=False)
    return structs.replace(sampling, raises_limit=True)
