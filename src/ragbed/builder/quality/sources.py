"""Compute quality measures for passage sources: hosts, licences, dates, languages and boilerplate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median

from ragbed.builder.answers import source_of
from ragbed.builder.quality.item_view import ItemView
from ragbed.builder.quality.measure import Measure, MeasureSpec, QualityGate, concentration, entropy
from ragbed.schema import Passage
from ragbed.text import guess_lang, split_sentences

_REPEATED = 3  # a sentence on at least this many pages counts as boilerplate; two pages may quote the same text
_MIN_CHARS = 12  # minimum number of characters in a boilerplate sentence; shorter ones ("Read more.") repeat by chance
_NONE = "RGB's data has no URLs"

_HOSTS = MeasureSpec("hosts per item", "median number of distinct hosts or files per item", _NONE, QualityGate("≥", 3))
_ENTROPY = MeasureSpec("host entropy", "entropy of the hosts of all passages, in bits", _NONE)
_HHI = MeasureSpec(
    "host concentration", "Herfindahl–Hirschman index of the hosts of all passages: 1 if there is only one host", _NONE
)
_TERMS = MeasureSpec("known licence", "passages with a licence", _NONE)
_DATED = MeasureSpec("dated", "passages whose page has a date", _NONE)
_LANGUAGE = MeasureSpec(
    "language purity",
    "passages in the script of their question's language",
    "not published",
    QualityGate("≥", 0.95),
)
_BOILERPLATE = MeasureSpec(
    "boilerplate",
    "sentences that appear on three or more pages or files",
    "not published",
    QualityGate("≤", 0.05),
)


class SourceMeasures:
    """Quality measures for passage sources: hosts, licences, dates, language and boilerplate."""

    def __init__(self) -> None:
        self._hosts: Counter[str] = Counter()
        self._per_item: list[int] = []
        self._counts: Counter[str] = Counter()
        self._sentences: Counter[int] = Counter()  # number of pages per sentence, keyed by hash to save memory
        self._seen: set[int] = set()  # hashes of the (page, sentence) pairs counted so far; items often share pages

    def add(self, view: ItemView) -> None:
        """Add one item."""
        passages = [view.item.passages[place] for place in view.pooled]
        hosts = Counter(host for passage in passages if (host := source_of(passage)))
        self._hosts += hosts
        if hosts:
            self._per_item.append(len(hosts))
        for passage in passages:
            self._counts.update(
                {
                    "passages": 1,
                    "terms": passage.licence is not None,
                    "dated": passage.date is not None,
                    "language": guess_lang(passage.text) == view.item.lang,
                }
            )
            spans = (passage.text[start:end].strip() for start, end in split_sentences(passage.text))
            self._add_sentences(passage, {span for span in spans if len(span) >= _MIN_CHARS})

    def _add_sentences(self, passage: Passage, sentences: set[str]) -> None:
        page = passage.page or passage.url or passage.text
        new = {hash((page, sentence)): hash(sentence) for sentence in sentences}
        self._sentences.update(new[pair] for pair in new.keys() - self._seen)
        self._seen |= new.keys()

    def results(self) -> Iterator[Measure]:
        """Yield the measures for all items."""
        passages, located = self._counts["passages"], self._hosts.total()
        known = "" if located else "no passage has a URL"
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
