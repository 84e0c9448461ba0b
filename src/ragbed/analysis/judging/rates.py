"""Rates of judged metrics (Rej*, ED* and CR): counts by condition, and the cells of reports.

Every response is counted in exactly one category. Rates are shares of all attempted cases, as in other tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import structs

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA, Verdict
from ragbed.analysis.judging.judge_run import Scope, needs_judge, read_judgements, verdict_on
from ragbed.analysis.metrics.cells import JUDGED, Cell, CellKey, to_estimate
from ragbed.analysis.statistics.rates import UNDEFINED, Interval, clustered_wilson
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.io.locations import place_inside
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_store
from ragbed.scoring import score

# Suffix of the metrics for the share of correct answers among responses with the verdict "yes" (CR).
THEN = "_then_correct"
# The categories in which every result is counted once: the judged model gave no response because of an error, because
# its response was truncated, or because of a content filter; the verdict is yes, or no (of an empty response, too,
# which needs no judge); there was nothing to judge; there is no verdict, because the judge gave none, its call failed,
# the prompt was too long, or the judge has not been called yet.
_OUTCOMES = ("errors", "truncated", "filtered")
_UNDECIDED = ("unparsed", "failed", "too_long", "pending")
_COUNTS = (*_OUTCOMES, "yes", "no", "empty", "none", *_UNDECIDED)
_COLUMNS: dict[Verdict, str] = {
    True: "yes",
    False: "no",
    "too-long": "too_long",
    **dict.fromkeys(("truncated", "filtered", "error"), "failed"),
}


@dataclass
class JudgedCounts:
    """One judge's counts for one model under one condition.

    Attributes:
        counts: The number of results in each category, and of the empty responses in `no`.
        then: Responses with a yes verdict that have the right answer: corrections of detected errors (CR).
        by_cluster: Numbers of trials, `yes` and `then` per question or event, from which intervals are computed.
        outcomes: Calls of the judged model by outcome, even if the criterion does not need its response.
    """

    judge: str
    criterion: str
    condition: Condition
    counts: Counter[str] = field(default_factory=Counter)
    then: int | None = None
    by_cluster: dict[str, Counter[str]] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def asked(self) -> int:
        """Return the number of cases."""
        return self.outcomes.total()

    @property
    def judged(self) -> int:
        """Return the number of responses on which the judge reached a verdict."""
        return self.counts["yes"] + self.counts["no"] + self.counts["none"] - self.counts["empty"]

    @property
    def rate(self) -> Interval:
        """Return the share of yes verdicts among all attempted cases; undefined if the judge reached no verdict."""
        clusters = self.by_cluster.values()
        if not self.judged:
            return UNDEFINED
        return clustered_wilson([one["yes"] for one in clusters], [one["trials"] for one in clusters])

    def as_json(self) -> dict[str, object]:
        """Return the counts and the rate with its interval as a JSON-compatible dictionary."""
        named = {"judge": self.judge, "criterion": self.criterion, "asked": self.asked}
        counts = {name: self.counts[name] for name in _COUNTS} | {"then": self.then}
        found = zip(("rate", "low", "high"), self.rate.defined, strict=True)
        rates = {name: None if value is None else round(value, 6) for name, value in found}
        return structs.asdict(self.condition) | named | counts | rates


def tabulate(
    scope: Scope, replies: Iterable[StoredResult], judgements: Mapping[str, Mapping[str, Verdict]]
) -> list[JudgedCounts]:
    """Return the counts of all judges by condition."""
    criterion = scope.criterion
    found: dict[tuple[str, Condition], JudgedCounts] = {}
    for stored in replies:
        condition = condition_of(stored.model, stored.case)
        has_reply = stored.completion.outcome == "ok" or not criterion.of_reply
        for judge, given in judgements.items():
            counts = found.setdefault((judge, condition), JudgedCounts(judge, criterion.name, condition))
            verdict = verdict_on(criterion, stored, given)
            is_then = False
            if criterion.then is not None:
                values = score(stored.case, stored.completion.reply or "") if verdict is True else {}
                is_then = bool(values.get(criterion.then))
                counts.then = (counts.then or 0) + is_then
            outcome = stored.completion.outcome
            unjudged = outcome if outcome in _OUTCOMES else "errors"
            counts.counts[_COLUMNS.get(verdict, str(verdict)) if has_reply else unjudged] += 1
            counts.counts["empty"] += has_reply and not needs_judge(criterion, stored)
            counts.outcomes[outcome] += 1
            cluster = counts.by_cluster.setdefault(stored.case.event or f"item {stored.case.item}", Counter())
            cluster.update(trials=1, yes=verdict is True, then=is_then)
    return list(found.values())


def read_judged_cells(runs: Sequence[Path], labels: Mapping[tuple[Path, str], str] | None = None) -> list[Cell]:
    """Return all judges' cells for several runs.

    If only unsure responses were judged, the rates are shares of these. If a judge rated the same responses several
    times by the same criterion, e.g. at different temperatures, the judgements with the most verdicts are used,
    or the latest of these.

    Args:
        runs: Folders of the runs.
        labels: The models' labels by run and model string; by default, the model strings.
    """
    cells: list[Cell] = []
    for run in runs:
        best: dict[tuple[str, str, Condition], tuple[tuple[int, float], JudgedCounts, Scope]] = {}
        for path in sorted((run / FOLDER).glob(f"*/{NAME}")):
            for planned_at, counts, scope in _read(run, place_inside(run, FOLDER, path.parent.name)):
                key, rank = (counts.judge, counts.criterion, counts.condition), (counts.judged, planned_at)
                if key not in best or rank > best[key][0]:
                    best[key] = rank, counts, scope
        for _, counts, scope in best.values():
            model = counts.condition.model
            cells += _to_cells(counts, scope, (labels or {}).get((run, model), model))
    return cells


def _read(run: Path, folder: Path) -> Iterator[tuple[float, JudgedCounts, Scope]]:
    """Yield the counts in a folder of judgements, with the time at which they were planned and their scope."""
    try:
        with open_store(folder, create=False) as store:
            settings, planned_at = store.settings(), store.planned_at()
            judges = [name for name, _ in store.models().values()]
    except EmptyRun:  # the judge's run was killed while its file was being created
        return
    criterion = CRITERIA.get(settings.get("criterion", ""))
    if criterion is None or settings.get("prompt") != criterion.prompt:  # the judge was given a different prompt
        return
    testbeds = frozenset(filter(None, settings.get("testbeds", "").split(",")))
    scope = Scope(run, criterion, testbeds, settings.get("unsure") == "yes")
    for counts in tabulate(scope, scope.replies(), read_judgements(folder, criterion, judges)):
        if counts.judged or any(counts.counts[name] for name in ("unparsed", "failed", "too_long")):
            yield planned_at, counts, scope


def _to_cells(counts: JudgedCounts, scope: Scope, model: str) -> Iterator[Cell]:
    """Yield the cell of a rate and, if the criterion counts them, of the right answers among its hits (CR)."""
    clusters, condition, outcomes = list(counts.by_cluster.values()), counts.condition, counts.outcomes
    place = CellKey(noise=condition.noise, k=condition.k, correct=condition.correct)
    if condition.arm != "related":
        place["arm"] = condition.arm
    estimate = to_estimate(
        counts.criterion, counts.rate, counts.asked, len(clusters), errors=outcomes["error"],
        truncated=outcomes["truncated"], filtered=outcomes["filtered"],
        unsure=sum(counts.counts[name] for name in _UNDECIDED),
    )  # fmt: skip
    key = TrialGroup(model, condition.data, condition.lang, condition.profile)
    of: Literal["all", "unsure"] = "unsure" if scope.only_unsure else "all"
    yield Cell(condition.testbed, key, f"{JUDGED}{counts.judge}", of, estimate, place)
    if scope.criterion.then is not None and counts.counts["yes"]:
        hits = [one for one in clusters if one["yes"]]
        interval = clustered_wilson([one["then"] for one in hits], [one["yes"] for one in hits])
        then = to_estimate(f"{counts.criterion}{THEN}", interval, counts.counts["yes"], len(hits))
        yield Cell(condition.testbed, key, f"{JUDGED}{counts.judge}", of, then, place)
