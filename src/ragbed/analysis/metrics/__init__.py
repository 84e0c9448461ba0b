"""Compute the cells of a report from scored trials; each ability has its own module.

To add a metric that is the rate of scores, add an entry to `metrics.toml`: reports, their columns, gates and the
reference read it. Other metrics also need a function here. To add a table, add its function to METRICS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragbed.analysis.locale import find_metric
from ragbed.analysis.metrics import abilities, given, injection, knowledge, length, own_rag, prompting, search
from ragbed.analysis.metrics.cells import USUAL, Cell, CellBuilder
from ragbed.analysis.statistics.rates import ALPHA
from ragbed.analysis.trials.columns import SCORERS, TrialColumns
from ragbed.errors import UsageError
from ragbed.runs.condition import Condition
from ragbed.scoring import own_metric
from ragbed.testbeds import TESTBEDS

# The function that computes each table, keyed by table name.
METRICS: dict[str, Callable[[CellBuilder], Iterator[Cell]]] = {
    "noise": abilities.measure_noise,
    "position": abilities.measure_positions,
    "rejection": abilities.measure_rejection,
    "integration": abilities.measure_integration,
    "counterfactual": abilities.measure_counterfactual,
    "conflict": knowledge.measure_conflict,
    "length": length.measure,
    "closed-book": knowledge.measure_closed_book,
    "given": given.measure,
    "own-rag": own_rag.measure,
    "citations": prompting.measure_citations,
    "search": search.measure,
    "injection": injection.measure,
}

_PLUGIN_SCORES = {"accuracy": "correct", "refusal": "refused", "error_detection": "flagged"}


def measure(groups: Sequence[TrialColumns], scorers: Sequence[str] = SCORERS, alpha: float = ALPHA) -> Iterator[Cell]:
    """Yield the cells of all models and datasets.

    Args:
        groups: The trials.
        scorers: The scorers whose scores are used.
        alpha: The error probability of the intervals of a run that was monitored (see `CellBuilder`).
    """
    for scorer in scorers:
        scored = [trials for trials in groups if _is_scored(trials, scorer)]
        for group in scored:
            for table in dict.fromkeys([*METRICS, *(testbed for testbed, _ in group.kinds if testbed not in TESTBEDS)]):
                yield from measure_table(table, group, alpha, scorer)
        if len(scored) > 1:
            yield from prompting.measure_strategies(scored, scorer, alpha)
        if scorer not in SCORERS:
            for group in groups:
                for condition, trials in group.conditions():
                    yield from measure_own(condition, trials, scorer, alpha)


def _is_scored(trials: TrialColumns, scorer: str) -> bool:
    """Return whether a table shows the trials. Given documents are shown also if only a judge can decide."""
    is_given = scorer == "robust" and any(testbed == given.NAME for testbed, _ in trials.kinds)
    return is_given or trials.has("correct", scorer) or trials.is_silent


def measure_table(table: str, trials: TrialColumns, alpha: float, scorer: str = "robust") -> Iterator[Cell]:
    """Yield the cells of one table, or of a plug-in's testbed by number of documents."""
    builder = CellBuilder(table, trials, scorer, alpha=alpha)
    if table in METRICS:
        yield from METRICS[table](builder)
        return
    for k, mask in trials.split(trials.of(table), "k"):
        for metric, name in _PLUGIN_SCORES.items():
            yield builder.at(k=k).rate(metric, mask, builder.score(name))


def measure_own(condition: Condition, trials: TrialColumns, scorer: str, alpha: float = ALPHA) -> Iterator[Cell]:
    """Yield the metrics of a user's scorer for the trials under one condition.

    Raises:
        UsageError: A metric has the name of another one.
    """
    names = [name.removeprefix(f"{scorer}.") for name in trials.scores if name.startswith(f"{scorer}.")]
    for name in names:
        if find_metric(metric := own_metric(scorer, name)) is not None:
            raise UsageError(
                f"{scorer} returns a score named {metric}, which is a metric of ragbed. Choose another name."
            )
    builder = CellBuilder(condition.testbed, trials, scorer, alpha=alpha).at(
        noise=condition.noise,
        k=condition.k,
        arm=None if condition.arm == USUAL else condition.arm,
        correct=condition.correct or None,
    )
    yield from (builder.own(name) for name in names if name not in ("refused", "flagged"))
