"""Measure how many supporting passages contain or state the answer, and how many distracting ones do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ragbed.builder.labelling import STANCES
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate

_HOLDS = MeasureSpec(
    "label fidelity, supporting",
    "supporting passages that contain the answer, ignoring case",
    "zh_refine 2,566/2,571; en_fact 395/395; zh_fact 418/418",
    QualityGate("≥", 0.99),
)
_LACKS = MeasureSpec(
    "label fidelity, distracting",
    "distracting passages that do not contain the answer",
    "zh_refine 5,142/5,144; en_fact 594/594; zh_fact 530/530",
    QualityGate("≥", 0.999),
)
_GIVES = MeasureSpec(
    "positive precision",
    "supporting passages that give the answer by our rules: in some form, asserted, and near the question's words",
    "not published; by the same rules zh_refine 2,479/2,571, en_fact 328/395",
    QualityGate("≥", 0.95),
)
_CLEAR = MeasureSpec(
    "negative purity",
    ("distracting passages without the answer in any form that the rules recognise ($44bn, 27/10/2017, a family name)"),
    "by the same rules zh_refine 5,110/5,144, en_fact 517/594; at most 99.9% verbatim",
    QualityGate("≥", 0.99),
)
_TELLS = MeasureSpec(
    "answers in questions",
    "questions that contain their answer",
    "0 in the Chinese files and en_fact",
    QualityGate("=", 0),
)


class LabelMeasures:
    """Quality measures for label accuracy."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, view: ItemView) -> None:
        """Add one item."""
        question = view.item.question.lower()
        is_told = all(any(alias.lower() in question for alias in aliases) for aliases in view.item.answer)
        self._counts.update({"items": 1, "told": is_told})
        for place in view.pooled if view.is_labelled else ():
            passage = view.item.passages[place]
            stance, by_person = passage.stance, passage.reviewed
            self._counts.update(
                {
                    stance: 1,
                    "reviewed": by_person,
                    f"{stance} plain": by_person or STANCES[view.plain_labels[place].label] == stance,
                    f"{stance} ours": by_person or STANCES[view.labels[place].label] == stance,
                }
            )

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        counts = self._counts
        people = f"{counts['reviewed']:,} labels set by people count as correct" if counts["reviewed"] else ""
        yield _HOLDS.share(counts["supports plain"], counts["supports"])
        yield _LACKS.share(counts["distracts plain"], counts["distracts"])
        yield _GIVES.share(counts["supports ours"], counts["supports"], people or "by rules, not by people")
        note = people or "by rules; paraphrases require a model or people"
        yield _CLEAR.share(counts["distracts ours"], counts["distracts"], note)
        yield _TELLS.count(counts["told"], counts["items"])
