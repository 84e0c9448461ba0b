"""Rules for repeated questions, and for documents repeated within a label or across labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from ragbed.analysis.linting.rules import DatasetContext, Fault, Find, View, dataset_rule, rule
from ragbed.retrieval.near_duplicates import GRAM_CHARS, find_near, unspaced
from ragbed.schema import Stance

_POOLS: tuple[Stance, ...] = ("supports", "distracts", "contradicts")


@rule(
    "exact-duplicate",
    "warning",
    "a document appears twice with the same label",
    fix="Remove one of them: a prompt with both has one document fewer than it seems.",
    definitions=_POOLS,
)
def exact_duplicate(view: View) -> Iterator[Fault]:
    """Find documents that are identical to an earlier document with the same label."""
    for stance in _POOLS:
        first: dict[str, int] = {}
        for index in view.pools[stance]:
            original = first.setdefault(view.item.passages[index].text, index)
            if original != index:
                yield view.fault(index, f"repeats {view.name(original)}", (stance,))


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
    "a distractor is almost the same as a supporting document",
    fix="Decide which label is right: either one label is wrong, or the answer depends on a few words.",
)
def cross_label_duplicate(view: View) -> Iterator[Fault]:
    """Find distractors that are near duplicates of a supporting document."""
    supports = set(view.pools["supports"])
    for index, partners in _near(view).items():
        if index not in supports and (twins := partners & supports):
            yield view.fault(index, f"is almost the same as {view.name(min(twins))}")


@rule(
    "both-labels",
    "error",
    "a distractor is identical to a supporting document",
    fix="Remove it from one of the two lists.",
)
def both_labels(view: View) -> Iterator[Fault]:
    """Find documents that are both supporting documents and distractors for an item."""
    passages = view.item.passages
    supporting = {passages[index].text: index for index in reversed(view.pools["supports"])}
    for index in view.pools["distracts"]:
        twin = supporting.get(passages[index].text)
        if twin is not None:
            yield view.fault(index, f"is identical to {view.name(twin)}")


SAME, OTHER = "same dataset", "other dataset"


@dataset_rule(
    "duplicate-question",
    "warning",
    "another item has the same question",
    fix="Remove one of them; across datasets, treat both as one question when you estimate uncertainty.",
    definitions=(SAME, OTHER),
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
        places = [] if first is None or is_twin else [(SAME, f"item {first}")]
        places += [(OTHER, f"{name}, item {items[key]}") for name, items in others.items() if key in items]
        own.setdefault(key, view.item.id)
        if view.item.twin is not None:
            twins[view.item.id] = view.item.twin
        if places:
            definitions = tuple(dict.fromkeys(definition for definition, _ in places))
            message = f"is also the question of {' and '.join(place for _, place in places)}"
            yield Fault(view.field("question"), message, definitions)

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
        own = copies[text] if len(unspaced(text)) >= GRAM_CHARS else ()
        alike = set(chain(own, *(copies[distinct[other]] for other in partners)))
        near |= {index: alike - {index} for index in copies[text]}
    return dict(sorted(near.items()))
