"""Gold answers that are met by chance: how many documents of *other* questions would score as right."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from ragbed.analysis.linting.rules import Fault, Find, Survey, View, dataset_rule
from ragbed.data import Dataset
from ragbed.errors import DataError
from ragbed.schema import Item, Lang
from ragbed.text import plain, spaceless

_MOST_DOCUMENTS = 20_000
"""How many documents of a dataset are tried, from its start: all of any RGB file, some 30 MB of a larger one."""
_SHARE = 0.01
"""Above one in a hundred an item is reported: in RGB that is 24 of 300 (zh_refine), 2 of 100 (zh_int)."""


@dataset_rule(
    "accidental-match",
    "warning",
    "over 1 % of other questions' documents score as a right answer",
    fix="Give the answer with its unit or full name.",
    optional=True,
)
def accidental_match(survey: Survey) -> Find:
    """All slots are contained, as the original scorer matches; edited documents are left out."""
    bank = _Bank(survey.dataset)
    sums = {"mean": 0.0, "items_above_0": 0, "items_above_1_percent": 0, "items_above_5_percent": 0, "worst": 0.0}
    survey.sums["accidental_match"] = sums
    items = 0

    def find(view: View) -> Iterator[Fault]:
        nonlocal items
        hits, tried = bank.count(view.item)
        share = hits / tried if tried else 0.0
        items += 1
        sums["mean"] += (share - sums["mean"]) / items
        sums["items_above_0"] += share > 0
        sums["items_above_1_percent"] += share > 0.01
        sums["items_above_5_percent"] += share > 0.05
        sums["worst"] = max(sums["worst"], share)
        if share > _SHARE:
            what = view.item.answer[0][0]
            yield Fault("answer", f"{what} scores in {hits:,} of {tried:,} documents of other questions ({share:.1%})")

    return find


class _Bank:
    """Documents of a dataset in one long string each language, searchable with the documents' borders known."""

    def __init__(self, dataset: Dataset) -> None:
        texts: dict[Lang, list[str]] = {"en": [], "zh": []}
        owners: dict[Lang, list[str]] = {"en": [], "zh": []}
        for line in dataset.lines():
            item = line.content
            if isinstance(item, DataError):
                continue
            fold = spaceless if item.lang == "zh" else plain
            own = [fold(passage.text) for passage in item.passages if passage.stance != "contradicts"]
            texts[item.lang] += own
            owners[item.lang] += [item.id] * len(own)
            if len(texts["en"]) + len(texts["zh"]) >= _MOST_DOCUMENTS:
                break
        self._owners = owners
        self._joined = {lang: "\0".join(documents) for lang, documents in texts.items()}
        self._starts = {
            lang: list(accumulate((len(text) + 1 for text in documents[:-1]), initial=0))
            for lang, documents in texts.items()
        }

    def count(self, item: Item) -> tuple[int, int]:
        """How many documents of other items hold the whole answer, and how many there are."""
        owners = self._owners[item.lang]
        held = set.intersection(
            *(set().union(*(self._holding(item.lang, alias.lower()) for alias in aliases)) for aliases in item.answer)
        )
        return sum(owners[index] != item.id for index in held), len(owners) - owners.count(item.id)

    def _holding(self, lang: Lang, alias: str) -> Iterator[int]:
        joined, starts = self._joined[lang], self._starts[lang]
        at = joined.find(alias)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            yield index
            if index + 1 == len(starts):
                return
            at = joined.find(alias, starts[index + 1])
