"""Compute quality measures for integration items (shortcuts) and counterfactual items (false answers and edits)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ragbed.builder.edits import check_edit, check_fake
from ragbed.builder.pools import find_shortcuts
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate

_SHORTCUTS = MeasureSpec(
    "integration shortcuts",
    "supporting passages of integration items that state all parts of the answer",
    (
        "zh_int 0 of 1,578 by containment; 13 by these rules, 7 of them confirmed by reading (other characters, "
        "3,499 for 3499)"
    ),
    QualityGate("=", 0),
)
_ALONE = MeasureSpec(
    "parts without evidence",
    "parts of integration answers that no supporting passage contains",
    "zh_int 0",
    QualityGate("=", 0),
)
_FAKES = MeasureSpec(
    "unusable false answers",
    (
        "false answers that are equal to the true answer, contain it or are contained in it, are of another "
        "kind, or are more than ten times as large"
    ),
    "zh_fact 1 identical, 2 superstrings; en_fact 0",
    QualityGate("=", 0),
)
_EDITS = MeasureSpec(
    "unusable edits",
    "edited passages that are unchanged, still contain the true answer in some form, or do not give the false one",
    "en_fact 2 unchanged of 395, 17 by these rules; zh_fact 2 that still contain the true answer",
    QualityGate("=", 0),
)
_PAIRS = MeasureSpec(
    "counterfactual items with 5 edits",
    "items with at least five edited passages, enough to fill all five documents",
    "en_fact 38%; zh_fact 41%",
    QualityGate("=", 1),
)
_ENOUGH = 5  # minimum number of edited passages per item, because the paper uses five documents per question


class AbilityMeasures:
    """Quality measures for integration and counterfactual items."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, view: ItemView) -> None:
        """Add one item."""
        if view.kind == "integration":
            self._add_integration(view)
        elif view.kind == "counterfactual":
            self._add_counterfactual(view)

    def _add_integration(self, view: ItemView) -> None:
        supports, parts = view.places["supports"], len(view.item.answer)
        shortcuts = find_shortcuts(view.item, [view.item.passages[place].text for place in supports])
        stated = {part for place in supports for part in view.plain_labels[place].parts}
        self._counts.update(
            {"evidence": len(supports), "shortcuts": len(shortcuts), "parts": parts, "alone": parts - len(stated)}
        )

    def _add_counterfactual(self, view: ItemView) -> None:
        item = view.item
        fake = tuple(tuple(alias.strip() for alias in aliases) for aliases in item.fake or ())
        edited = [item.passages[place] for place in view.places["contradicts"]]
        is_bad = [
            bool(check_edit(item, fake, item.passages[passage.edit_of].text, passage.text))
            for passage in edited
            if passage.edit_of is not None
        ]
        self._counts.update({"fakes": 1, "bad fakes": bool(check_fake(item, fake)), "filled": len(edited) >= _ENOUGH})
        self._counts.update({"edits": len(is_bad), "bad edits": sum(is_bad)})

    def results(self) -> Iterator[Measure]:
        """Yield the measures for the kinds of items in the dataset."""
        counts = self._counts
        if counts["parts"]:
            yield _SHORTCUTS.count(counts["shortcuts"], counts["evidence"])
            yield _ALONE.count(counts["alone"], counts["parts"])
        if counts["fakes"]:
            yield _FAKES.count(counts["bad fakes"], counts["fakes"])
            yield _EDITS.count(counts["bad edits"], counts["edits"])
            yield _PAIRS.share(counts["filled"], counts["fakes"])
