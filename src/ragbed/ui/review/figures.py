"""Review statistics: an upper confidence bound on the share of wrong items, and the agreement between two raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ragbed.analysis.statistics.labels import agreement
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.testing import trials_for_bound, upper_bound
from ragbed.ui.review.points import kind_of_point
from ragbed.ui.review.state import DECIDED, WRONG, ReviewState, State, judge


class ReviewCounts(Struct, frozen=True, kw_only=True):
    """The review counts for one dataset.

    `drawn` is the number of unflagged items. In their random order, the first `sampled` items have all been decided,
    and `wrong` of these had to be fixed or rejected. `bound` is the one-sided 95% upper bound on the share of wrong
    items among all unflagged items. `more` is the number of further error-free items that would lower the bound to the
    target.
    """

    data: str
    items: int
    states: dict[State, int]
    flagged: int
    flagged_done: int
    drawn: int
    sampled: int
    wrong: int
    bound: float | None
    more: int


class RaterAgreement(Struct, frozen=True, kw_only=True):
    """The agreement between two raters on whether review points need changes, with confidence intervals.

    `kind` is the type of review point, or `item`. Cohen's kappa is undefined if both raters give the same verdict
    everywhere; Gwet's AC1 is stable even if nearly everything is accepted.
    """

    kind: str
    n: int
    agreed: Interval
    kappa: Interval
    ac1: Interval


def tally(review: ReviewState) -> list[ReviewCounts]:
    """Return the review counts for every dataset."""
    return [_tally(review, name) for name in review.queue.data]


def _tally(review: ReviewState, name: str) -> ReviewCounts:
    entries = [entry for entry in review.queue.entries.values() if entry.data == name]
    states = {entry.key: review.of(entry.key).state for entry in entries}
    drawn = [states[entry.key] for entry in review.queue.draw(name, review.settings.seed)]
    flagged = [states[entry.key] for entry in entries if entry.flags]
    # The sample ends at the first item without a decision. Otherwise, raters could make the data look better by
    # skipping difficult items.
    sampled = next((place for place, state in enumerate(drawn) if state not in DECIDED), len(drawn))
    wrong = sum(state in WRONG for state in drawn[:sampled])
    bound = None if not sampled else wrong / sampled if sampled == len(drawn) else upper_bound(wrong, sampled)
    return ReviewCounts(
        data=name,
        items=len(entries),
        states=dict(Counter(states.values())),
        flagged=len(flagged),
        flagged_done=sum(state in DECIDED for state in flagged),
        drawn=len(drawn),
        sampled=sampled,
        wrong=wrong,
        bound=bound,
        more=max(0, min(trials_for_bound(wrong, review.settings.target), len(drawn)) - sampled),
    )


def concord(review: ReviewState) -> list[RaterAgreement]:
    """Return the raters' agreement before adjudication, on items and on each type of review point that both judged."""
    rows: dict[str, list[tuple[int, bool, bool]]] = {}
    for kind, item, first_keeps, second_keeps in _pairs(review):
        rows.setdefault(kind, []).append((item, first_keeps, second_keeps))
    found = []
    for kind, pairs in rows.items():
        items, first, second = zip(*pairs, strict=True)
        measured = agreement(first, second, items)
        found.append(
            RaterAgreement(kind=kind, n=measured.n, agreed=measured.agreed, kappa=measured.kappa, ac1=measured.ac1)
        )
    return found


def _pairs(review: ReviewState) -> Iterator[tuple[str, int, bool, bool]]:
    """Yield the two raters' verdicts on each item and on each of its points, where True means accepted."""
    names = review.raters[:2]
    if review.settings.raters == 1 or len(names) < 2:
        return
    for number, key in enumerate(review.queue.entries):
        sheets = review.of(key).whole
        if all(name in sheets for name in names):
            first, second = (sheets[name] for name in names)
            yield "item", number, judge(first) == "accepted", judge(second) == "accepted"
            for point in first:
                if point in second:
                    verdicts = (first[point].verdict == "accept", second[point].verdict == "accept")
                    yield kind_of_point(point), number, *verdicts
