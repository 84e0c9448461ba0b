"""Compute quality measures for questions and answers, e.g. answer types, aliases and repeated questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2

from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate, divergence, entropy
from ragbed.builder.topic_terms import find_anchors
from ragbed.schema import Lang
from ragbed.scoring.robust.gold import prepare

# Number of answers of each type in zh_refine; digits, 年, 月 and 日 determine the type (docs/reference/build.md).
_RGB = {"name": 158, "quantity": 90, "date": 52}
_YES_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b|是否|是不是|吗[？?]?$", re.IGNORECASE
)

_TYPES = MeasureSpec(
    "answer types",
    "answers that are names; the note lists quantities and dates too",
    "zh_refine 158 names, 90 numbers, 52 dates of 300",
)
_DISTANCE = MeasureSpec(
    "answer types, distance to RGB",
    "Jensen–Shannon divergence, in bits, to zh_refine",
    "0 by definition",
)
_TOPICS = MeasureSpec(
    "topic entropy",
    (
        "entropy of the content words of questions, in bits; the note states the maximum, which is reached if no "
        "word repeats"
    ),
    "zh_refine 9.98 of 10.99; en_fact 7.02 of 8.61",
)
_SEVERAL = MeasureSpec("several parts", "items whose answer has more than one part", "zh_refine 43 of 300")
_ALIASES = MeasureSpec("aliases", "items with more than one accepted form of a part", "zh_refine 17 of 300")
_CLOSED = MeasureSpec(
    "yes-or-no questions",
    "questions that can be answered by guessing",
    "not published",
    QualityGate("=", 0),
)
_AGAIN = MeasureSpec(
    "repeated questions",
    (
        "questions that also appear in an earlier item; minimal pairs of synthetic items and fluent variants do "
        "not count"
    ),
    "0 within a file; 15 questions of zh_int are also in zh",
    QualityGate("=", 0),
)
_EVENTS = MeasureSpec(
    "shared events", "items about the same event as an earlier item, so they are not independent", "not recorded"
)


class AnswerMeasures:
    """Quality measures for questions and answers."""

    def __init__(self) -> None:
        self._types: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._topics: dict[Lang, Counter[str]] = {}
        self._seen: set[int] = set()  # questions and events seen so far, stored as hashes to save memory

    def add(self, view: ItemView) -> None:
        """Add one item."""
        item = view.item
        gold = prepare(item.question, item.answer, None, item.lang)
        self._types[gold.slots[0].kind.split()[0]] += 1
        self._topics.setdefault(item.lang, Counter()).update(find_anchors(item.question, item.lang))
        # A counterfactual item and its fluent variant share a question, so this question does not count as repeated.
        variant = "fluent" if any(passage.kind == "rewritten" for passage in item.passages) else ""
        self._counts.update(
            {
                "items": 1,
                "several": len(item.answer) > 1,
                "aliases": any(len(aliases) > 1 for aliases in item.answer),
                "closed": _YES_NO.search(item.question.strip()) is not None,
                "again": self._is_seen(f"question {variant} {item.question}") and item.twin is None,
            }
        )
        if item.event is not None:
            self._counts.update({"events": 1, "shared": self._is_seen(f"event {item.event}")})

    def _is_seen(self, text: str) -> bool:
        key = hash(" ".join(text.split()))
        was_seen = key in self._seen
        self._seen.add(key)
        return was_seen

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        items = self._counts["items"]
        spread = ", ".join(f"{name} {count:,}" for name, count in self._types.most_common())
        yield _TYPES.share(self._types["name"], items, spread)
        yield _DISTANCE.number(divergence(self._types, _RGB) if items else None, items)
        for lang, words in self._topics.items():
            if words:
                yield _TOPICS.number(entropy(words), words.total(), f"of {log2(words.total()):.2f}", lang)
        yield _SEVERAL.share(self._counts["several"], items)
        yield _ALIASES.share(self._counts["aliases"], items)
        yield _CLOSED.count(self._counts["closed"], items)
        yield _AGAIN.count(self._counts["again"], items)
        if self._counts["events"]:
            yield _EVENTS.share(self._counts["shared"], self._counts["events"])
