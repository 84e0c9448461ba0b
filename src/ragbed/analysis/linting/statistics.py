"""Dataset statistics: field shapes, sizes, lengths, answer types and label accuracy."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import partial
from itertools import accumulate

from ragbed.analysis.linting.rules import View
from ragbed.data import kind_of
from ragbed.schema import RawAnswer, Stance
from ragbed.text import bounded, holds_answer

_STANCES: tuple[Stance, ...] = ("supports", "distracts", "contradicts")
_BOTH = "supports+distracts"
# Number of documents per question in the paper. An item with this many documents per label is feasible at every
# noise ratio.
_ENOUGH = 5
_SHORT_LENGTHS = (1, 2, 3)
_DIGIT = re.compile(r"\d")
_DATE_CHARACTER = re.compile(r"[年月日]")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\d\s*[年月日号]|\b{_MONTH}\s+\d|\d\s+{_MONTH}\b|\b{_MONTH},?\s+\d{{4}}|\d{{4}}-\d\d", re.IGNORECASE
)

# Two ways to recognise a date: by the character 年, 月 or 日, or by a number next to such a character or a month name.
CHARACTER, DATED = "character", "dated"


def summarise(counts: Counter[int]) -> dict[str, float] | None:
    """Return the minimum, median, 90th percentile, maximum and sum of a histogram, or None if it is empty."""
    total = counts.total()
    if not total:
        return None
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    lower, upper, ninth = (
        values[bisect_right(ends, rank)] for rank in ((total - 1) // 2, total // 2, 9 * (total - 1) // 10)
    )
    middle = (lower + upper) / 2
    return {
        "min": values[0],
        "median": int(middle) if middle.is_integer() else middle,
        "p90": ninth,
        "max": values[-1],
        "total": sum(value * count for value, count in counts.items()),
    }


class Statistics:
    """Collects statistics about items. `pooled` is the total number of supporting documents and distractors."""

    def __init__(self) -> None:
        self.pooled = 0
        self._records = 0
        self._counters: dict[str, Counter[str]] = defaultdict(Counter)
        self._spreads: dict[str, dict[str, Counter[int]]] = defaultdict(partial(defaultdict, Counter))
        self._counts: Counter[str] = Counter()
        self._fidelity: dict[str, Counter[str]] = defaultdict(Counter)
        self._numbers: dict[str, Counter[str]] = defaultdict(partial(Counter, hits=0, inside=0))

    def add(self, view: View) -> None:
        """Add an item."""
        self._records += 1
        self._counters["languages"][view.item.lang] += 1
        self._counters["kinds"][kind_of(view.item)] += 1
        self._add_answer(view)
        self._add_documents(view)
        self._add_lengths(view)
        self._add_fidelity(view)
        self._add_numbers(view)

    def summary(self) -> dict[str, object]:
        """Return all statistics as a JSON-compatible dictionary."""
        return {
            "records": self._records,
            **{name: dict(counter.most_common()) for name, counter in self._counters.items()},
            **{
                name: {key: summarise(counts) for key, counts in spreads.items()}
                for name, spreads in self._spreads.items()
            },
            **self._counts,
            "label_fidelity": {name: dict(counter) for name, counter in self._fidelity.items()},
            "numeric_hits": {name: dict(counter) for name, counter in self._numbers.items()},
        }

    def _add_answer(self, view: View) -> None:
        answer, first = view.item.answer, view.item.answer[0][0]
        self._counters["answer_parts"][str(len(answer))] += 1
        for name, raw in (view.item.rgb or {}).items():
            if name != "id" and not isinstance(raw, int):
                self._counters[f"shapes_{name}"][_shape(raw)] += 1
        if view.item.lang == "zh":
            self._counters[f"answer_types_{CHARACTER}"][_answer_type(first, _DATE_CHARACTER)] += 1
        self._counters[f"answer_types_{DATED}"][_answer_type(first, _DATE)] += 1
        shortest = min(len(alias) for slot in answer for alias in slot)
        for length in _SHORT_LENGTHS:
            self._counts[f"items_with_gold_of_{length}_characters_or_fewer"] += shortest <= length
        self._counts["items_with_several_parts"] += len(answer) > 1
        self._counts["items_with_aliases"] += any(len(aliases) > 1 for aliases in answer)
        self._counts["items_with_digit_in_gold"] += any(_DIGIT.search(alias) for slot in answer for alias in slot)

    def _add_documents(self, view: View) -> None:
        sizes = {stance: len(view.pools[stance]) for stance in _STANCES}
        pooled, documents = sizes["supports"] + sizes["distracts"], self._spreads["documents"]
        for stance, size in sizes.items():
            if size or stance != "contradicts":
                documents[stance][size] += 1
        self.pooled += pooled
        documents[_BOTH][pooled] += 1
        self._counts["items_with_5_supports"] += sizes["supports"] >= _ENOUGH
        self._counts["items_with_5_distracts"] += sizes["distracts"] >= _ENOUGH
        self._counts["items_with_5_of_both"] += min(sizes["supports"], sizes["distracts"]) >= _ENOUGH
        self._counts["items_with_exactly_5_supports"] += sizes["supports"] == _ENOUGH
        if view.groups:
            self._counters["groups"][str(len(view.groups))] += 1
            parts = Counter(view.item.passages[index].part for index in view.pools["supports"])
            documents["group"].update(parts.values())

    def _add_lengths(self, view: View) -> None:
        for passage in view.item.passages:
            for key in (passage.stance,) if passage.stance == "contradicts" else (passage.stance, _BOTH):
                self._spreads["characters"][key][len(passage.text)] += 1
                if view.item.lang == "en":
                    self._spreads["words"][key][len(passage.text.split())] += 1

    def _add_fidelity(self, view: View) -> None:
        """Count documents whose label correctly indicates whether they contain the answer; skip integration items."""
        if kind_of(view.item) == "integration":
            return
        for name, texts in view.folded.items():
            counter = self._fidelity[name]
            for stance in _STANCES[:2]:
                held = sum(holds_answer(texts[index], view.item.answer) for index in view.pools[stance])
                counter[f"{stance}_agree"] += held if stance == "supports" else len(view.pools[stance]) - held
                counter[f"{stance}_all"] += len(view.pools[stance])

    def _add_numbers(self, view: View) -> None:
        """Count matches in supporting documents of aliases with a leading digit, in total and inside longer numbers."""
        aliases = [alias.lower() for slot in view.item.answer for alias in slot if alias[0].isdigit()]
        for name, texts in view.folded.items():
            counter = self._numbers[name]
            for index in view.pools["supports"] if aliases else ():
                for alias in aliases:
                    if hits := texts[index].count(alias):
                        counter["hits"] += hits
                        counter["inside"] += hits - len(bounded(alias).findall(texts[index]))


def _shape(raw: RawAnswer) -> str:
    if isinstance(raw, str):
        return "string"
    if not raw:
        return "empty list"
    strings = sum(isinstance(slot, str) for slot in raw)
    return "list of strings" if strings == len(raw) else "mixed" if strings else "list of lists"


def _answer_type(alias: str, date: re.Pattern[str]) -> str:
    return "date" if date.search(alias) else "number" if _DIGIT.search(alias) else "entity"
