"""Does the evidence stand in texts that models may have been trained on? Measured where such texts are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ragbed.builder.contamination import RUN, SEEN, find_seen
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate
from ragbed.schema import Lang

_SEEN = MeasureSpec(
    "n-gram overlap",
    f"items of whose supporting passages {SEEN:.0%} or more stand word for word in the corpora, by runs of "
    f"{RUN['en']} words or {RUN['zh']} characters",
    "not published",
    QualityGate("≤", 0.1),
)


class ContaminationMeasures:
    """Adds items up.

    Args:
        corpora: See `find_seen`.
    """

    def __init__(self, corpora: Sequence[Path]) -> None:
        self._corpora = corpora
        self._texts: dict[str, tuple[Lang, str]] = {}

    def add(self, look: ItemView) -> None:
        """Takes one item in."""
        text = "\n".join(look.item.passages[place].text for place in look.places["supports"])
        self._texts[f"{look.data}/{look.item.id}"] = look.item.lang, text

    def tell(self) -> Iterator[Measure]:
        """What came of it."""
        seen = find_seen(self._texts, self._corpora)
        short = len(self._texts) - len(seen)
        note = f"most: {max(seen.values()):.0%}" if seen else ""
        yield _SEEN.share(
            sum(share >= SEEN for share in seen.values()), len(seen), f"{note}; {short:,} too short" if short else note
        )
