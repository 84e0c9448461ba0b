"""Where passages are from: how many hosts, how evenly, under which terms, in which language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from ragbed.builder.answers import source_of
from ragbed.builder.quality.divergence import concentration, entropy
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate
from ragbed.text import guess_lang, split_sentences

_REPEATED = 3
"""Items in which a sentence must stand to be boilerplate: two may share an event."""
_LEAST_CHARS = 12
"""Of a sentence that counts: shorter ones ("Read more.") repeat by chance."""
_NONE = "RGB's data has no addresses"

_HOSTS = MeasureSpec(
    "hosts of an item", "median number of hosts, or of files, among its passages", _NONE, QualityGate("≥", 3)
)
_ENTROPY = MeasureSpec("host entropy", "of all passages, in bits", _NONE)
_HHI = MeasureSpec(
    "host concentration", "Herfindahl–Hirschman index of all passages: 1 if all are from one host", _NONE
)
_TERMS = MeasureSpec("terms known", "passages with a licence", _NONE)
_DATED = MeasureSpec("dated", "passages with the date of their page", _NONE)
_LANGUAGE = MeasureSpec(
    "language purity",
    "passages in the script of their question's language",
    "not published",
    QualityGate("≥", 0.95),
)
_BOILERPLATE = MeasureSpec(
    "boilerplate",
    "sentences that stand in passages of three or more items",
    "not published",
    QualityGate("≤", 0.05),
)


class SourceMeasures:
    """Adds items up."""

    def __init__(self) -> None:
        self._hosts: Counter[str] = Counter()
        self._per_item: list[int] = []
        self._counts: Counter[str] = Counter()
        self._sentences: Counter[int] = Counter()
        """Hash of a sentence to the number of items that have it: 64 bits, so that little memory is needed."""

    def add(self, look: ItemView) -> None:
        """Takes one item in."""
        passages = [look.item.passages[place] for place in look.pooled]
        hosts = Counter(host for passage in passages if (host := source_of(passage)))
        self._hosts += hosts
        if hosts:
            self._per_item.append(len(hosts))
        own: set[int] = set()
        for passage in passages:
            self._counts["passages"] += 1
            self._counts["terms"] += passage.licence is not None
            self._counts["dated"] += passage.date is not None
            self._counts["language"] += guess_lang(passage.text) == look.item.lang
            spans = (passage.text[start:end].strip() for start, end in split_sentences(passage.text))
            own |= {hash(sentence) for sentence in spans if len(sentence) >= _LEAST_CHARS}
        self._sentences.update(own)

    def tell(self) -> Iterator[Measure]:
        """What came of it."""
        passages, located = self._counts["passages"], self._hosts.total()
        known = "" if located else "no passage has an address"
        yield _HOSTS.number(median(self._per_item) if located else None, len(self._per_item), known)
        yield _ENTROPY.number(
            entropy(self._hosts) if located else None, located, known or f"{len(self._hosts):,} hosts"
        )
        yield _HHI.number(concentration(self._hosts) if located else None, located, known)
        yield _TERMS.share(self._counts["terms"], passages)
        yield _DATED.share(self._counts["dated"], passages)
        yield _LANGUAGE.share(self._counts["language"], passages)
        repeated = sum(count for count in self._sentences.values() if count >= _REPEATED)
        yield _BOILERPLATE.share(repeated, self._sentences.total())
