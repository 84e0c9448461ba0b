"""A rule for gold answers that may match by chance, because they also occur in documents for *other* questions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule
from ragbed.data import Dataset
from ragbed.errors import DataError
from ragbed.schema import Item, Lang
from ragbed.text import plain, spaceless

# Maximum number of documents to read from the start of a dataset. This covers each RGB file completely, or about 30 MB
# of a larger file.
_MOST_DOCUMENTS = 20_000
_SHARE = 0.01  # maximum share of other items' documents that match an answer; 24 zh_refine and 2 zh_int items exceed it


@dataset_rule(
    "accidental-match",
    "warning",
    "more than 1% of other questions' documents count as a correct answer",
    fix="Give the answer with its unit or full name.",
    optional=True,
)
def accidental_match(context: DatasetContext) -> Find:
    """Find items whose complete answer the original scorer would find in documents for other items.

    Edited documents are excluded.
    """
    bank = _Bank(context.dataset)
    sums = {"mean": 0.0, "items_above_0": 0, "items_above_1_percent": 0, "items_above_5_percent": 0, "worst": 0.0}
    context.sums["accidental_match"] = sums
    items = 0

    def find(view: View) -> Iterator[Fault]:
        nonlocal items
        hits, tried = bank.count(view.item)
        share = hits / tried if tried else 0.0
        items += 1
        sums["mean"] += (share - sums["mean"]) / items
        for limit in (0, 1, 5):
            sums[f"items_above_{limit}_percent" if limit else "items_above_0"] += share > limit / 100
        sums["worst"] = max(sums["worst"], share)
        if share > _SHARE:
            gold = view.item.answer[0][0]
            yield Fault("answer", f"{gold} matches {hits:,} of {tried:,} documents from other questions ({share:.1%})")

    return find


class _Bank:
    """The documents of a dataset as one long, searchable string per language, with known document boundaries."""

    def __init__(self, dataset: Dataset) -> None:
        texts: dict[Lang, list[str]] = {"en": [], "zh": []}
        self._owners: dict[Lang, list[str]] = {"en": [], "zh": []}
        for line in dataset.lines():
            item = line.content
            if isinstance(item, DataError):
                continue
            fold = spaceless if item.lang == "zh" else plain
            own = [fold(passage.text) for passage in item.passages if passage.stance != "contradicts"]
            texts[item.lang] += own
            self._owners[item.lang] += [item.id] * len(own)
            if len(texts["en"]) + len(texts["zh"]) >= _MOST_DOCUMENTS:
                break
        self._joined = {lang: "\0".join(documents) for lang, documents in texts.items()}
        self._starts = {
            lang: list(accumulate((len(text) + 1 for text in documents[:-1]), initial=0))
            for lang, documents in texts.items()
        }

    def count(self, item: Item) -> tuple[int, int]:
        """Return how many documents for other items contain the complete answer, and how many were searched."""
        owners = self._owners[item.lang]
        held = set.intersection(
            *(set().union(*(self._find(item.lang, alias.lower()) for alias in aliases)) for aliases in item.answer)
        )
        return sum(owners[index] != item.id for index in held), len(owners) - owners.count(item.id)

    def _find(self, lang: Lang, alias: str) -> Iterator[int]:
        joined, starts = self._joined[lang], self._starts[lang]
        at = joined.find(alias)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            yield index
            at = joined.find(alias, starts[index + 1]) if index + 1 < len(starts) else -1
