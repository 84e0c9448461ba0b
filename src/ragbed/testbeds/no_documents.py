"""Cases in which no document stands, whatever they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ragbed.data import Dataset
from ragbed.schema import Case, Expectation, Item, Message
from ragbed.testbeds.names import name_case
from ragbed.testbeds.settings import Settings


def items_of(dataset: Dataset, settings: Settings) -> Iterator[Item]:
    """The items that are asked for, by number and language."""
    return (
        item for item in islice(dataset.items(), dataset.resolve_limit(settings.limit)) if item.lang in settings.langs
    )


def bare_case(  # noqa: PLR0913 - what differs between such testbeds
    dataset: Dataset, item: Item, settings: Settings, testbed: str, messages: tuple[Message, ...],
    *, expect: Expectation = "answer", k: int = 0, corpus: str | None = None,
) -> Case:  # fmt: skip
    """An item as such a case.

    Args:
        dataset: Whose item it is.
        item: What is asked.
        settings: How.
        testbed: Its name.
        messages: What is said.
        expect: What a good reply does.
        k: How many documents whoever is asked shall find by itself.
        corpus: Where.
    """
    label = f"k={k},{settings.label}" if k else settings.label
    return Case(
        case=name_case(dataset.name, item.id, testbed, label),
        data=dataset.name,
        item=item.id,
        lang=item.lang,
        testbed=testbed,
        question=item.question,
        noise=None,
        noise_real=None,
        k=k,
        correct=0.0,
        arm="related",
        profile=settings.way,
        seed=settings.seed,
        feasible=True,
        documents=(),
        slots=(),
        messages=messages,
        answer=item.answer,
        fake=item.fake,
        expect=expect,
        event=item.event,
        dial=item.dial,
        twin=item.twin,
        corpus=corpus,
    )
