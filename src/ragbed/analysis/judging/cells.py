"""Judged metrics as cells of a report: Rej*, ED* and CR next to the rule-based scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.analysis.judging.criteria import CRITERIA, Criterion
from ragbed.analysis.judging.judge_run import FOLDER, Scope, needs_judge, read_judgements, verdict_on
from ragbed.analysis.judging.verdict import Verdict
from ragbed.analysis.metrics.cells import JUDGED, Cell, CellKey
from ragbed.analysis.metrics.trial_columns import TrialGroup
from ragbed.analysis.statistics.rates import UNDEFINED, clustered_wilson
from ragbed.io.locations import place_inside
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.database import NAME, EmptyRun
from ragbed.runs.store import StoredResult, open_store
from ragbed.schema import Estimate
from ragbed.scoring import score

THEN = "_then_correct"  # suffix of a criterion's metric: the share of yes with the right answer (CR)


def read_judged_cells(runs: Sequence[Path]) -> list[Cell]:
    """Return the cells of all judges of runs. Rates are over all attempted cases, as in other tables."""
    found = [(run, path.parent.name) for run in runs for path in sorted((run / FOLDER).glob(f"*/{NAME}"))]
    return [cell for run, judge in found for cell in _read(run, place_inside(run, FOLDER, judge, NAME))]


@dataclass
class _JudgedCounts:
    """Hits and trials of one condition under one judge, by question or event."""

    hits: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    judged: int = 0  # decided by the judge
    decided: int = 0  # also without the judge: failed calls and empty responses need none
    errors: int = 0

    def add(self, stored: StoredResult, *, is_hit: bool, is_decided: bool, is_judged: bool) -> None:
        cluster = stored.case.event or f"item {stored.case.item}"
        self.hits[cluster] += is_hit
        self.trials[cluster] += 1
        self.judged += is_judged and is_decided
        self.decided += is_decided
        self.errors += stored.completion.outcome != "ok"

    def estimate(self, metric: str) -> Estimate:
        interval = UNDEFINED
        if self.judged:
            interval = clustered_wilson(list(self.hits.values()), list(self.trials.values()))
        value, low, high = (float(number) if math.isfinite(number) else None for number in interval)
        return Estimate(
            metric=metric, value=value, low=low, high=high, n=self.decided,
            questions=min(self.decided, len(self.trials)), asked=self.trials.total(), errors=self.errors, infeasible=0,
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
    judgements = read_judgements(path.parent, criterion, judges)
    counts: dict[tuple[str, Condition, str], _JudgedCounts] = {}
    for stored in Scope(run, criterion).replies():
        is_judged = needs_judge(criterion, stored)
        for judge in judges:
            verdict = verdict_on(criterion, stored, judgements[judge])
            for metric, is_hit, is_decided in _results(criterion, stored, verdict):
                found = counts.setdefault((judge, condition_of(stored.model, stored.case), metric), _JudgedCounts())
                found.add(stored, is_hit=is_hit, is_decided=is_decided, is_judged=is_judged)
    for (judge, condition, metric), found in counts.items():
        yield _cell(judge, condition, found.estimate(metric))


def _results(criterion: Criterion, stored: StoredResult, verdict: Verdict) -> Iterator[tuple[str, bool, bool]]:
    """Yield the metric, whether it is met, and whether that is decided."""
    has_failed = criterion.of_reply and stored.completion.outcome != "ok"  # never a yes, whoever judges
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
