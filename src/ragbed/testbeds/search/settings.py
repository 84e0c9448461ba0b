"""The settings of the `search` testbed: the limits for an episode, and the conditions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from ragbed.errors import UnknownName, UsageError, option
from ragbed.schema import InjectionKind

Protocol: TypeAlias = Literal["auto", "tools", "text"]

DEFAULT_K, MAX_K = 5, 20  # default and maximum number of documents per search
MAX_QUERY_CHARS = 1_000
MAX_INVALID_IN_TURN = 16  # number of invalid searches in one response after which an episode ends
MAX_INVALID = 3  # number of consecutive responses without a valid search after which an episode ends
# The largest value of each limit; for the size of a corpus, docs/project/benchmarks.md states the time and memory.
_LARGEST = {"turns": 100, "calls": 1_000, "sizes": 1_000_000}


class SearchSettings(Struct, frozen=True):
    """The limits for an episode, and the conditions to evaluate.

    Attributes:
        turns: Maximum number of responses.
        calls: Maximum number of searches.
        protocol: How the model calls the tool; `auto` uses tool calls if the provider supports them, otherwise text.
        false: Shares of edited passages in the evidence for counterfactual items.
        sizes: Corpus sizes in passages; generated news is used to pad the corpus.
        injected: Kinds of instructions that the evidence contains, each in a corpus of its own.
    """

    turns: int = 8
    calls: int = 16
    protocol: Protocol = "auto"
    false: tuple[Fraction, ...] = (Fraction(0), Fraction(1, 2), Fraction(1))
    sizes: tuple[int, ...] = ()
    injected: tuple[InjectionKind, ...] = ()

    def __str__(self) -> str:
        """Return the settings in the format that `parse_search` accepts."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return ",".join(f"{name}={_show(value)}" for name, value in values.items() if name != "injected" or value)


def parse_search(text: str | None) -> SearchSettings:
    """Parse settings given as `name=value,…`; multiple values are joined with `+`, e.g. `sizes=1000+10000`.

    Raises:
        UsageError: A name or a value is invalid.
    """
    given: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, _, value = part.strip().partition("=")
        if name not in _READERS:
            raise UnknownName(f"setting of {option('search')}", name, _READERS)
        given[name] = _READERS[name](name, value)
    return SearchSettings(**given)


def _show(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _limit(name: str, value: str) -> int:
    most = _LARGEST[name]
    if not (value.isascii() and value.isdecimal() and len(value) < 12 and 1 <= int(value) <= most):
        raise UsageError(f"{option('search', f'{name}={value}')}: expected a whole number from 1 to {most:,}.")
    return int(value)


def _choice(name: str, value: str) -> str:
    if value not in get_args(Protocol):
        raise UnknownName(f"{name} of {option('search')}", value, get_args(Protocol))
    return value


def _shares(_: str, value: str) -> tuple[Fraction, ...]:
    from ragbed.testbeds.settings import parse_ratio  # noqa: PLC0415 - that module imports this one

    return tuple(dict.fromkeys(parse_ratio(part, "search") for part in value.split("+")))


def _kinds(name: str, value: str) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(value.split("+")))
    for kind in kinds:
        if kind not in get_args(InjectionKind):
            raise UnknownName(f"kind of instruction in {option('search', name)}", kind, get_args(InjectionKind))
    return kinds


def _sizes(name: str, value: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(_limit(name, part) for part in value.split("+") if value))


_READERS: dict[str, Callable[[str, str], object]] = {
    "turns": _limit,
    "calls": _limit,
    "protocol": _choice,
    "false": _shares,
    "sizes": _sizes,
    "injected": _kinds,
}
