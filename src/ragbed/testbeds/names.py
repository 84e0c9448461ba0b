"""Create and parse case names such as `data/item/testbed@noise=0.6,k=5,…`."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

_RESERVED = re.compile(r"[%/@,\x00-\x20\x7f]")


class CaseName(NamedTuple):
    """The components of a case name."""

    data: str
    item: str
    testbed: str
    settings: dict[str, str]


def name_case(data: str, item: str, testbed: str, settings: str) -> str:
    """Return the name of a case; separators within a component are escaped, e.g. as %2F."""
    return f"{_quote(data)}/{_quote(item)}/{testbed}@{settings}"


def parse_case(name: str) -> CaseName:
    """Parse a case name.

    Raises:
        ValueError: The text is not a case name.
    """
    place, at, settings = name.partition("@")
    parts = place.split("/")
    if not at or len(parts) != 3:
        raise ValueError(f"{name!r} is not a valid case name; use the form data/item/testbed@profile=robust,seed=0")
    pairs = dict(pair.split("=", 1) for pair in settings.split(","))
    return CaseName(unquote(parts[0]), unquote(parts[1]), parts[2], pairs)


def _quote(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
