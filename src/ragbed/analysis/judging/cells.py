"""What judges said as cells of a report: Rej*, ED* and CR beside what rules see."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.analysis.judging.criteria import CRITERIA, Criterion
from ragbed.analysis.judging.judge_run import FOLDER, Scope, needs_judge, read_judgements, verdict_on
from ragbed.analysis.judging.verdict import Verdict
from ragbed.analysis.metrics.cells import JUDGED, Cell, CellKey
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.rates import clustered_wilson
from ragbed.io.locations import place_inside
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Estimate
from ragbed.scoring import score

THEN = "_then_correct"
"""After the name of a criterion: of the yes, the share with the right answer (CR)."""


def read_judged_cells(runs: Sequence[Path]) -> list[Cell]:
    """The cells of all judges of runs; none where nobody judged. Rates are of all asked, as everywhere."""
    found = [(run, path.parent.name) for run in runs for path in sorted((run / FOLDER).glob(f"*/{NAME}"))]
    return [cell for run, judge in found for cell in _read(run, place_inside(run, FOLDER, judge, NAME))]


@dataclass
class _Sum:
    """One condition under one judge: hits and trials by question, or event."""

    hits: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    judged: int = 0
    """Decided by the judge."""
    decided: int = 0
    """By whomever: a failed call and an empty reply need no judge."""
    errors: int = 0

    def add(self, stored: StoredResult, *, is_hit: bool, is_decided: bool, is_judged: bool) -> None:
        cluster = stored.case.event or f"item {stored.case.item}"
        self.hits[cluster] = self.hits.get(cluster, 0) + is_hit
        self.asked[cluster] = self.asked.get(cluster, 0) + 1
        self.judged += is_judged and is_decided
        self.decided += is_decided
        self.errors += stored.completion.outcome != "ok"

    def estimate(self, metric: str) -> Estimate:
        """A judge that decided nothing has no rate."""
        asked = sum(self.asked.values())
        value, low, high = math.nan, math.nan, math.nan
        if self.judged:
            value, low, high = clustered_wilson(list(self.hits.values()), list(self.asked.values()))
        told = [float(number) if math.isfinite(number) else None for number in (value, low, high)]
        return Estimate(
            metric=metric, value=told[0], low=told[1], high=told[2], n=self.decided,
            questions=min(self.decided, len(self.asked)), asked=asked, errors=self.errors, infeasible=0,
        )  # fmt: skip


def _read(run: Path, path: Path) -> Iterator[Cell]:
    try:
        with open_store(path.parent, create=False) as store:
            settings = store.settings()
            criterion = CRITERIA.get(settings.get("criterion", ""))
            judges = [name for name, _ in store.models().values()]
    except EmptyRun:  # the judge was killed while its file was created
        return
    if criterion is None or settings.get("prompt") != criterion.prompt:  # verdicts on other instructions
        return
    said = read_judgements(path.parent, criterion, judges)
    sums: dict[tuple[str, Condition, str], _Sum] = {}
    for stored in Scope(run, criterion).replies():
        for judge in judges:
            for metric, is_hit, is_decided in _count(criterion, stored, verdict_on(criterion, stored, said[judge])):
                key = (judge, condition_of(stored.model, stored.case), metric)
                is_judged = needs_judge(criterion, stored)
                sums.setdefault(key, _Sum()).add(stored, is_hit=is_hit, is_decided=is_decided, is_judged=is_judged)
    for (judge, condition, metric), total in sums.items():
        yield _cell(judge, condition, total.estimate(metric))


def _count(criterion: Criterion, stored: StoredResult, verdict: Verdict) -> Iterator[tuple[str, bool, bool]]:
    """Metric, whether it is met, and whether somebody decided that."""
    has_failed = criterion.of_reply and stored.completion.outcome != "ok"  # which is never a yes, whoever judges
    yield criterion.name, verdict is True, isinstance(verdict, bool) or verdict == "none" or has_failed
    if criterion.then is not None and verdict is True:
        values = score(stored.case, stored.completion.reply or "")
        yield f"{criterion.name}{THEN}", bool(values.get(criterion.then)), True


def _cell(judge: str, condition: Condition, estimate: Estimate) -> Cell:
    key = TrialGroup(condition.model, condition.data, condition.lang, condition.profile)
    place = CellKey(noise=condition.noise, k=condition.k, correct=condition.correct)
    if condition.arm != "related":
        place["arm"] = condition.arm
    return Cell(condition.testbed, key, f"{JUDGED}{judge}", "all", estimate, place)
