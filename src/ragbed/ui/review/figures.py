"""What a review tells of the data: how many items are wrong at the most, and how far two raters agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ragbed.analysis.statistics.agreement import agreement
from ragbed.analysis.statistics.binomial import trials_for_bound, upper_bound
from ragbed.analysis.statistics.rates import Interval
from ragbed.ui.review.points import kind_of_point
from ragbed.ui.review.state import DECIDED, WRONG, ReviewState, State, judge


class ReviewCounts(Struct, frozen=True, kw_only=True):
    """One dataset under review."""

    data: str
    items: int
    states: dict[State, int]
    flagged: int
    flagged_done: int
    drawn: int
    """Items that are not flagged."""
    sampled: int
    """Of these, in the order drawn, those decided up to the first that is not."""
    wrong: int
    """Of these, those that had to be fixed or rejected."""
    bound: float | None
    """The share of wrong items among all that are not flagged, at the most (one-sided, 95 %); none before the first."""
    more: int
    """Items to look at before the bound is the target, if none of them is wrong."""


class RaterAgreement(Struct, frozen=True, kw_only=True):
    """How far two raters agree on whether something can stay as it is; each figure with its interval."""

    kind: str
    """Of point; `item` is the whole of it."""
    n: int
    agreed: Interval
    kappa: Interval
    """Cohen's; nothing where both say the same of all, so that chance would too."""
    ac1: Interval
    """Gwet's, which stays steady where nearly everything is accepted."""


def tally(standing: ReviewState) -> list[ReviewCounts]:
    """Every dataset."""
    return [_tally(standing, name) for name in standing.docket.data]


def _tally(standing: ReviewState, name: str) -> ReviewCounts:
    entries = [entry for entry in standing.docket.entries.values() if entry.data == name]
    states = {entry.key: standing.of(entry.key).state for entry in entries}
    drawn = [states[entry.key] for entry in standing.docket.draw(name, standing.begun.seed)]
    flagged = [states[entry.key] for entry in entries if entry.flags]
    # One that was passed over ends the sample: those who skip what is hard would else make the data look good.
    sampled = next((place for place, state in enumerate(drawn) if state not in DECIDED), len(drawn))
    wrong = sum(state in WRONG for state in drawn[:sampled])
    return ReviewCounts(
        data=name,
        items=len(entries),
        states=dict(Counter(states.values())),
        flagged=len(flagged),
        flagged_done=sum(state in DECIDED for state in flagged),
        drawn=len(drawn),
        sampled=sampled,
        wrong=wrong,
        bound=_bound(wrong, sampled, len(drawn)),
        more=max(0, min(trials_for_bound(wrong, standing.begun.target), len(drawn)) - sampled),
    )


def _bound(wrong: int, sampled: int, drawn: int) -> float | None:
    if sampled == 0:
        return None
    return wrong / drawn if sampled == drawn else upper_bound(wrong, sampled)


def concord(standing: ReviewState) -> list[RaterAgreement]:
    """Items, and every kind of point that both raters have decided; before anything was settled."""
    rows: dict[str, list[tuple[int, bool, bool]]] = {}
    for kind, item, first, second in _pairs(standing):
        rows.setdefault(kind, []).append((item, first, second))
    return [_concord(kind, pairs) for kind, pairs in rows.items()]


def _pairs(standing: ReviewState) -> Iterator[tuple[str, int, bool, bool]]:
    """What both raters say of each thing: whether it can stay as it is."""
    names = standing.raters[:2]
    if standing.begun.raters == 1 or len(names) < 2:
        return
    for number, key in enumerate(standing.docket.entries):
        sheets = standing.of(key).whole
        if all(name in sheets for name in names):
            first, second = (sheets[name] for name in names)
            yield "item", number, judge(first) == "accepted", judge(second) == "accepted"
            for point in first:
                if point in second:
                    verdicts = (first[point].verdict == "accept", second[point].verdict == "accept")
                    yield kind_of_point(point), number, *verdicts


def _concord(kind: str, pairs: list[tuple[int, bool, bool]]) -> RaterAgreement:
    items, first, second = zip(*pairs, strict=True)
    told = agreement(first, second, items)
    return RaterAgreement(kind=kind, n=told.n, agreed=told.agreed, kappa=told.kappa, ac1=told.ac1)
