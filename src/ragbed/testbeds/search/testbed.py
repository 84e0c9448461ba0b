"""Generate the cases for the `search` testbed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ragbed.data import Dataset, kind_of
from ragbed.schema import Case, Injection, Item, Message, ScoreName
from ragbed.testbeds.cases import count_parts, make_case, selected_items
from ragbed.testbeds.search.corpora import SearchCondition, SearchCorpus, conditions
from ragbed.testbeds.search.protocol import read_texts
from ragbed.testbeds.search.settings import DEFAULT_K
from ragbed.testbeds.settings import Settings

NAME = "search"


class SearchTestbed(Struct, frozen=True):
    """The `search` testbed."""

    name: str = NAME
    headline: ScoreName = "correct"
    secondary: tuple[ScoreName, ...] = ("refused",)

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield one case for each item and each condition that applies to the item's kind."""
        limit = dataset.resolve_limit(settings.limit)
        for condition in conditions(dataset, settings):
            corpus: SearchCorpus | None = None
            for item in selected_items(dataset, settings):
                if kind_of(item) == condition.kind:
                    corpus = corpus or SearchCorpus(dataset, condition, limit)
                    yield _make_case(dataset, item, settings, condition, corpus)


def _make_case(
    dataset: Dataset, item: Item, settings: Settings, condition: SearchCondition, corpus: SearchCorpus
) -> Case:
    reason = corpus.shortfall or _missing_pairs(item, condition)
    return make_case(
        dataset.name,
        item,
        settings,
        NAME,
        f"arm={condition.name}",
        _messages(item, settings),
        k=DEFAULT_K,
        arm=condition.name,
        true_ratio=0.0 if condition.false is None else float(1 - condition.false),
        feasible=reason is None,
        reason=reason,
        expect=condition.expect,
        corpus=corpus.id,
        parts=count_parts(item),
        injection=_find_injection(item, condition),
    )


def _missing_pairs(item: Item, condition: SearchCondition) -> str | None:
    if condition.false is None:
        return None
    pairs = sum(passage.edit_of is not None for passage in item.passages)
    needed = condition.false.denominator
    return None if pairs >= needed else f"needs {needed} pairs of true and edited passages, has {pairs}"


def _find_injection(item: Item, condition: SearchCondition) -> Injection | None:
    """Return the instruction in the first supporting passage of an item, or None if its passages have none."""
    if condition.injected is None:
        return None
    first = next((passage.text for passage in item.passages if passage.stance == "supports"), "")
    return condition.injected.instruct(first, item.lang)


def _messages(item: Item, settings: Settings) -> tuple[Message, ...]:
    """Return the question, preceded by a system message with the instructions for documents and for searching."""
    given = settings.instructions.messages(item.lang, item.question, ())
    before = [message.content for message in given if message.role == "system"]
    system = "\n\n".join([*before, read_texts(item.lang)["system"]])
    return (Message(role="system", content=system), Message(role="user", content=item.question))


SEARCH = SearchTestbed()
