"""The same text twice: within a list, across labels, or as a question."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from ragbed.analysis.linting.rules import Fault, Find, Survey, View, dataset_rule, rule
from ragbed.retrieval.near_duplicates import GRAM_CHARS, find_near, unspaced
from ragbed.schema import Stance

_POOLS: tuple[Stance, ...] = ("supports", "distracts", "contradicts")


@rule(
    "exact-duplicate",
    "warning",
    "a document stands twice in its list",
    fix="Remove the later one: a prompt with both has one document less than it seems.",
    definitions=_POOLS,
)
def exact_duplicate(view: View) -> Iterator[Fault]:
    """Equal, character by character, to an earlier document of the same stance."""
    for stance in _POOLS:
        first: dict[str, int] = {}
        for index in view.pools[stance]:
            original = first.setdefault(view.item.passages[index].text, index)
            if original != index:
                yield view.fault(index, f"is {view.name(original)} again", (stance,))


@rule(
    "near-duplicate",
    "warning",
    "a document is nearly, or exactly, an earlier one of the item",
    fix="Keep the fuller one of the two.",
)
def near_duplicate(view: View) -> Iterator[Fault]:
    """5-character grams without white space, |A∩B| / min(|A|,|B|) ≥ 0.8; supporting and distracting documents."""
    for index, partners in _near(view).items():
        earlier = min(partners, default=index)
        if earlier < index:
            yield view.fault(index, f"is nearly {view.name(earlier)}")


@rule(
    "cross-label-duplicate",
    "warning",
    "a distracting document is nearly a supporting one",
    fix="Decide which it is: one label must be wrong, or the answer hangs on a few words.",
)
def cross_label_duplicate(view: View) -> Iterator[Fault]:
    """Near duplicates, as above, of opposite label; the distracting one is counted."""
    supports = set(view.pools["supports"])
    for index, partners in _near(view).items():
        if index not in supports and (twins := partners & supports):
            yield view.fault(index, f"is nearly {view.name(min(twins))}")


@rule(
    "both-labels",
    "error",
    "a distracting document is identical to a supporting one",
    fix="Remove it from one of the two lists.",
)
def both_labels(view: View) -> Iterator[Fault]:
    """Equal, character by character."""
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
    "another item asks the same question",
    fix="Remove one; in two datasets, treat both as one question when estimating uncertainty.",
    definitions=(SAME, OTHER),
)
def duplicate_question(survey: Survey) -> Find:
    """Equal, character by character, within the dataset or in one that was linted before it.

    An item and its twin ask the same on purpose.
    """
    own = survey.questions.setdefault(survey.dataset.name, {})
    others = {name: asked for name, asked in survey.questions.items() if name != survey.dataset.name}
    twins: dict[str, str] = {}

    def find(view: View) -> Iterator[Fault]:
        key = hash(view.item.question)  # 64 bits: among a million questions a false alarm is a 1 in 10⁷ event
        first = own.get(key)
        is_twin = first is not None and (first == view.item.twin or twins.get(first) == view.item.id)
        places = [] if first is None or is_twin else [(SAME, f"item {first}")]
        places += [(OTHER, f"{name}, item {asked[key]}") for name, asked in others.items() if key in asked]
        own.setdefault(key, view.item.id)
        if view.item.twin is not None:
            twins[view.item.id] = view.item.twin
        if places:
            senses = tuple(dict.fromkeys(sense for sense, _ in places))
            yield Fault(view.field("question"), f"is asked by {' and '.join(at for _, at in places)} too", senses)

    return find


@lru_cache(maxsize=1)  # two rules ask in turn about the same item
def _near(view: View) -> dict[int, set[int]]:
    """For each supporting or distracting passage its near duplicates, copies of its own text among them."""
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
