"""What a dataset is like, in figures: shapes, sizes, lengths, kinds of answer, fidelity of labels."""

from __future__ import annotations

import re
from collections import Counter

from ragbed.analysis.linting.rules import View
from ragbed.data import kind_of
from ragbed.schema import RawAnswer, Stance
from ragbed.text import bounded, holds_answer

_STANCES: tuple[Stance, ...] = ("supports", "distracts", "contradicts")
_ENOUGH = 5
"""Documents per question in the paper: with so many of each label an item can fill every ratio."""
_SHORT_LENGTHS = (1, 2, 3)
_DIGIT = re.compile(r"\d")
_DATE_CHARACTER = re.compile(r"[年月日]")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\d\s*[年月日号]|\b{_MONTH}\s+\d|\d\s+{_MONTH}\b|\b{_MONTH},?\s+\d{{4}}|\d{{4}}-\d\d", re.IGNORECASE
)

CHARACTER, DATED = "character", "dated"
"""Two ways to tell a date: by a character 年, 月 or 日 anywhere, or by a number beside one of these or a month."""


class Distribution:
    """Whole numbers kept as a histogram: exact minimum, median and maximum in little memory."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, value: int) -> None:
        """Takes one value in."""
        self._counts[value] += 1

    def summary(self) -> dict[str, float] | None:
        """Least, middle and greatest, with the ninth decile and the sum; None for no values."""
        total = self._counts.total()
        if not total:
            return None
        middle = (self._at((total - 1) // 2) + self._at(total // 2)) / 2
        return {
            "min": min(self._counts),
            "median": int(middle) if middle.is_integer() else middle,
            "p90": self._at(9 * (total - 1) // 10),
            "max": max(self._counts),
            "total": sum(value * count for value, count in self._counts.items()),
        }

    def _at(self, rank: int) -> int:
        for value in sorted(self._counts):
            rank -= self._counts[value]
            if rank < 0:
                return value
        raise IndexError(rank)


class Statistics:
    """Adds items up, one by one."""

    def __init__(self) -> None:
        self.pooled = 0
        """Supporting and distracting documents: what duplicates and lengths are counted over."""
        self._records = 0
        self._counters: dict[str, Counter[str]] = {}
        self._spreads: dict[str, dict[str, Distribution]] = {}
        self._counts: Counter[str] = Counter()
        self._fidelity: dict[str, Counter[str]] = {}
        self._numbers: dict[str, Counter[str]] = {}

    def add(self, view: View) -> None:
        """Takes one item in."""
        self._records += 1
        self._tally("languages", view.item.lang)
        self._tally("kinds", kind_of(view.item))
        self._add_answer(view)
        self._add_documents(view)
        self._add_fidelity(view)
        self._add_numbers(view)

    def summary(self) -> dict[str, object]:
        """All figures as plain values, for JSON."""
        return {
            "records": self._records,
            **{name: dict(counter.most_common()) for name, counter in self._counters.items()},
            **{
                name: {key: spread.summary() for key, spread in spreads.items()}
                for name, spreads in self._spreads.items()
            },
            **self._counts,
            "label_fidelity": {name: dict(counter) for name, counter in self._fidelity.items()},
            "numeric_hits": {name: dict(counter) for name, counter in self._numbers.items()},
        }

    def _tally(self, name: str, value: str) -> None:
        self._counters.setdefault(name, Counter())[value] += 1

    def _measure(self, name: str, key: str, value: int) -> None:
        self._spreads.setdefault(name, {}).setdefault(key, Distribution()).add(value)

    def _add_answer(self, view: View) -> None:
        answer = view.item.answer
        self._tally("answer_parts", str(len(answer)))
        for name, raw in (view.item.rgb or {}).items():
            if name != "id" and not isinstance(raw, int):
                self._tally(f"shapes_{name}", _shape(raw))
        if view.item.lang == "zh":
            self._tally(f"answer_types_{CHARACTER}", _answer_type(answer[0][0], _DATE_CHARACTER))
        self._tally(f"answer_types_{DATED}", _answer_type(answer[0][0], _DATE))
        shortest = min(len(alias) for slot in answer for alias in slot)
        for length in _SHORT_LENGTHS:
            self._counts[f"items_with_gold_of_{length}_characters_or_fewer"] += shortest <= length
        self._counts["items_with_several_parts"] += len(answer) > 1
        self._counts["items_with_aliases"] += any(len(aliases) > 1 for aliases in answer)
        self._counts["items_with_digit_in_gold"] += any(_DIGIT.search(alias) for slot in answer for alias in slot)

    def _add_documents(self, view: View) -> None:
        enough = {stance: len(view.pools[stance]) >= _ENOUGH for stance in _STANCES}
        for stance in _STANCES:
            if view.pools[stance] or stance != "contradicts":
                self._measure("documents", stance, len(view.pools[stance]))
        pooled = view.pools["supports"] + view.pools["distracts"]
        self.pooled += len(pooled)
        self._measure("documents", "supports+distracts", len(pooled))
        self._counts["items_with_5_supports"] += enough["supports"]
        self._counts["items_with_5_distracts"] += enough["distracts"]
        self._counts["items_with_5_of_both"] += enough["supports"] and enough["distracts"]
        self._counts["items_with_exactly_5_supports"] += len(view.pools["supports"]) == _ENOUGH
        self._add_lengths(view, pooled)
        if view.groups:
            self._tally("groups", str(len(view.groups)))
            sizes = Counter(view.item.passages[index].part for index in view.pools["supports"])
            for size in sizes.values():
                self._measure("documents", "group", size)

    def _add_lengths(self, view: View, pooled: list[int]) -> None:
        for passage in view.item.passages:
            self._measure("characters", passage.stance, len(passage.text))
            if view.item.lang == "en":
                self._measure("words", passage.stance, len(passage.text.split()))
        for index in pooled:
            text = view.item.passages[index].text
            self._measure("characters", "supports+distracts", len(text))
            if view.item.lang == "en":
                self._measure("words", "supports+distracts", len(text.split()))

    def _add_fidelity(self, view: View) -> None:
        """Whether containment of the answer gives the labels that the documents have; not for shared answers."""
        if kind_of(view.item) == "integration":
            return
        for name, texts in view.folded.items():
            counter = self._fidelity.setdefault(name, Counter())
            for stance in _STANCES[:2]:
                held = sum(holds_answer(texts[index], view.item.answer) for index in view.pools[stance])
                counter[f"{stance}_agree"] += held if stance == "supports" else len(view.pools[stance]) - held
                counter[f"{stance}_all"] += len(view.pools[stance])

    def _add_numbers(self, view: View) -> None:
        """How often an alias that begins with a digit stands in supporting documents, and inside longer numbers."""
        aliases = [alias.lower() for slot in view.item.answer for alias in slot if alias[0].isdigit()]
        for name, texts in view.folded.items():
            counter = self._numbers.setdefault(name, Counter(hits=0, inside=0))
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
    if date.search(alias):
        return "date"
    return "number" if _DIGIT.search(alias) else "entity"
