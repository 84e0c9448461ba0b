"""What a case is called: `data/item/testbed@noise=0.6,k=5,…`, a name that parses back."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

_RESERVED = re.compile(r"[%/@,\x00-\x20\x7f]")


class CaseName(NamedTuple):
    """The parts of a name."""

    data: str
    item: str
    testbed: str
    settings: dict[str, str]


def name_case(data: str, item: str, testbed: str, settings: str) -> str:
    """The name; characters that separate its parts are written as %2F where they stand inside one."""
    return f"{_quote(data)}/{_quote(item)}/{testbed}@{settings}"


def parse_case(name: str) -> CaseName:
    """The parts again.

    Raises:
        ValueError: It is no name of a case.
    """
    place, at, settings = name.partition("@")
    parts = place.split("/")
    if not at or len(parts) != 3:
        raise ValueError(f"{name!r} is no name of a case, as data/item/testbed@profile=robust,seed=0")
    pairs = dict(pair.split("=", 1) for pair in settings.split(","))
    return CaseName(unquote(parts[0]), unquote(parts[1]), parts[2], pairs)


def _quote(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
