"""Create cases and their names, such as `data/item/testbed@noise=0.6,k=5,…`, and parse the names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from ragbed.data import Dataset
from ragbed.data.rgb import spelled_answer
from ragbed.schema import Case, Item, Message
from ragbed.testbeds.prompts.requests import plain_case
from ragbed.testbeds.settings import Settings

_RESERVED = re.compile(r"[%/@,\x00-\x20\x7f]")


class CaseName(NamedTuple):
    """The components of a case name before its settings."""

    data: str
    item: str
    testbed: str


def selected_items(dataset: Dataset, settings: Settings, *, given: bool | None = False) -> Iterator[Item]:
    """Yield the items that are within the limit and in one of the languages given by the settings.

    Args:
        dataset: The dataset.
        settings: The settings.
        given: Whether to yield only items with given documents, or only others; None for all.
    """
    items = islice(dataset.items(), dataset.resolve_limit(settings.limit))
    kinds = (True, False) if given is None else (given,)
    return (item for item in items if item.lang in settings.langs and (item.expect is not None) in kinds)


def make_case(
    data: str, item: Item, settings: Settings, testbed: str, condition: str, messages: tuple[Message, ...],
    **fields: Any,  # noqa: ANN401 - fields of `Case`
) -> Case:  # fmt: skip
    """Return the case for an item under a condition.

    Args:
        data: The dataset's name.
        item: The item.
        settings: The settings for generating cases.
        testbed: The testbed's name.
        condition: The condition as it appears in the case's name, or an empty text if the testbed has only one.
        messages: The messages to send.
        fields: Other fields that differ from those of a feasible case without documents.
    """
    return plain_case(
        case=name_case(data, item.id, testbed, f"{condition},{settings.label}" if condition else settings.label),
        data=data,
        item=item.id,
        lang=item.lang,
        testbed=testbed,
        question=item.question,
        profile=settings.full_profile,
        seed=settings.seed,
        messages=messages,
        answer=item.answer,
        fake=item.fake,
        event=item.event,
        dial=item.dial,
        twin=item.twin,
        rgb_answer=spelled_answer(item),
        **fields,
    )


def count_parts(item: Item) -> int | None:
    """Return the number of an item's parts that have passages, if it is smaller than the number of parts of its answer.

    RGB lists the passages by sub-question; the answer to a sub-question may consist of several parts.
    """
    parts = {passage.part for passage in item.passages if passage.part is not None}
    return len(parts) if 0 < len(parts) < len(item.answer) else None


def name_case(data: str, item: str, testbed: str, settings: str) -> str:
    """Return the name of a case; separators within a component are escaped, e.g. as %2F."""
    return f"{_quote(data)}/{_quote(item)}/{testbed}@{settings}"


@lru_cache(maxsize=65_536)  # many trials have the same case
def parse_case(name: str) -> CaseName:
    """Parse a case name.

    Raises:
        ValueError: The text is not a case name.
    """
    place, _, settings = name.partition("@")
    parts = place.split("/")
    if len(parts) != 3 or not all("=" in pair for pair in settings.split(",")):
        raise ValueError(f"{name!r} is not a valid case name; use the form data/item/testbed@profile=robust,seed=0")
    return CaseName(unquote(parts[0]), unquote(parts[1]), parts[2])


def _quote(text: str) -> str:
    return _RESERVED.sub(lambda match: f"%{ord(match[0]):02X}", text)
