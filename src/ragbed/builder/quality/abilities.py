"""What integration and counterfactual items need beside the rest: no shortcut, and edits that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ragbed.builder.edits import check_edit, check_fake
from ragbed.builder.passage_filter import find_shortcuts
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate

_SHORTCUTS = MeasureSpec(
    "integration shortcuts",
    "supporting passages of integration items that say all parts of the answer",
    "zh_int 0 of 1,578 by containment; 13 by these rules, 7 of them on reading (other characters, 3,499 for 3499)",
    QualityGate("=", 0),
)
_ALONE = MeasureSpec(
    "parts without evidence",
    "parts of integration answers that no supporting passage holds",
    "zh_int 0",
    QualityGate("=", 0),
)
_FAKES = MeasureSpec(
    "false answers that will not do",
    "equal to the true one, containing it or contained in it, of another kind, or more than ten times as large",
    "zh_fact 1 identical, 2 superstrings; en_fact 0",
    QualityGate("=", 0),
)
_EDITS = MeasureSpec(
    "edits that will not do",
    "edited passages that are unchanged, still hold the true answer in some form, or do not give the false one",
    "en_fact 2 unchanged of 395, 17 by these rules; zh_fact 2 with the truth left",
    QualityGate("=", 0),
)
_PAIRS = MeasureSpec(
    "counterfactual items with 5 edits",
    "items that can fill five documents with edited ones",
    "en_fact 38 %; zh_fact 41 %",
    QualityGate("=", 1),
)
_ENOUGH = 5


class AbilityMeasures:
    """Adds items up."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, look: ItemView) -> None:
        """Takes one item in."""
        if look.kind == "integration":
            self._add_integration(look)
        elif look.kind == "counterfactual":
            self._add_counterfactual(look)

    def _add_integration(self, look: ItemView) -> None:
        texts = [look.item.passages[place].text for place in look.places["supports"]]
        self._counts["evidence"] += len(texts)
        self._counts["shortcuts"] += len(find_shortcuts(look.item, texts))
        self._counts["parts"] += len(look.item.answer)
        held = {part for place in look.places["supports"] for part in look.plain_labels[place].parts}
        self._counts["alone"] += len(look.item.answer) - len(held)

    def _add_counterfactual(self, look: ItemView) -> None:
        item = look.item
        fake = tuple(tuple(alias.strip() for alias in aliases) for aliases in item.fake or ())
        self._counts["fakes"] += 1
        self._counts["bad fakes"] += bool(check_fake(item, fake))
        self._counts["filled"] += len(look.places["contradicts"]) >= _ENOUGH
        for place in look.places["contradicts"]:
            passage = item.passages[place]
            if passage.edit_of is not None:
                true = item.passages[passage.edit_of].text
                self._counts["edits"] += 1
                self._counts["bad edits"] += bool(check_edit(item, fake, true, passage.text))

    def tell(self) -> Iterator[Measure]:
        """What came of it: nothing of what the dataset does not have."""
        counts = self._counts
        if counts["parts"]:
            yield _SHORTCUTS.count(counts["shortcuts"], counts["evidence"])
            yield _ALONE.count(counts["alone"], counts["parts"])
        if counts["fakes"]:
            yield _FAKES.count(counts["bad fakes"], counts["fakes"])
            yield _EDITS.count(counts["bad edits"], counts["edits"])
            yield _PAIRS.share(counts["filled"], counts["fakes"])
