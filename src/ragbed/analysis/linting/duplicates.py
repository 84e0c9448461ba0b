"""Rules for repeated questions, and for documents repeated within a label or across labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule, rule
from ragbed.retrieval.near_duplicates import find_near


@rule(
    "near-duplicate",
    "warning",
    "a document is the same or almost the same as an earlier document of the item",
    fix="Keep the more complete document.",
)
def near_duplicate(view: View) -> Iterator[Fault]:
    """Find near duplicates by character 5-grams, ignoring whitespace: |A∩B| / min(|A|,|B|) ≥ 0.8.

    Edited documents are excluded.
    """
    for index, partners in _near(view).items():
        earlier = min(partners, default=index)
        if earlier < index:
            yield view.fault(index, f"is almost the same as {view.name(earlier)}")


@rule(
    "cross-label-duplicate",
    "warning",
    "a distractor is the same or almost the same as a supporting document",
    fix="Decide which label is right: either one label is wrong, or the answer depends on a few words.",
)
def cross_label_duplicate(view: View) -> Iterator[Fault]:
    """Find distractors that are near duplicates of a supporting document."""
    supports = set(view.pools["supports"])
    for index, partners in _near(view).items():
        if index not in supports and (twins := partners & supports):
            yield view.fault(index, f"is almost the same as {view.name(min(twins))}")


@dataset_rule(
    "duplicate-question",
    "warning",
    "another item has the same question",
    fix="Remove one of them. `ragbed run` counts them as one question when it estimates uncertainty.",
)
def duplicate_question(context: DatasetContext) -> Find:
    """Find questions that are identical to an earlier question in this dataset or a previously checked dataset.

    The two items of a minimal pair are not reported, because they intentionally have the same question.
    """
    own = context.questions.setdefault(context.dataset.name, {})
    others = {name: items for name, items in context.questions.items() if name != context.dataset.name}
    twins: dict[str, str] = {}

    def find(view: View) -> Iterator[Fault]:
        # With 64-bit hashes and a million questions, the probability of a false alarm is below 1 in 10⁷.
        key = hash(view.item.question)
        first = own.get(key)
        is_twin = first is not None and (first == view.item.twin or twins.get(first) == view.item.id)
        places = [] if first is None or is_twin else [f"item {first}"]
        places += [f"{name}, item {items[key]}" for name, items in others.items() if key in items]
        own.setdefault(key, view.item.id)
        if view.item.twin is not None:
            twins[view.item.id] = view.item.twin
        if places:
            yield Fault(view.field("question"), f"is also the question of {' and '.join(places)}")

    return find


@lru_cache(maxsize=1)  # two rules use the result for each item
def _near(view: View) -> dict[int, set[int]]:
    """Return the near duplicates of each supporting document and distractor, including exact copies."""
    copies: dict[str, list[int]] = {}
    for index, passage in enumerate(view.item.passages):
        if passage.stance != "contradicts":
            copies.setdefault(passage.text, []).append(index)
    distinct = list(copies)
    near: dict[int, set[int]] = {}
    for text, partners in zip(distinct, find_near(distinct), strict=True):
        alike = set(chain(copies[text], *(copies[distinct[other]] for other in partners)))
        near |= {index: alike - {index} for index in copies[text]}
    return dict(sorted(near.items()))
