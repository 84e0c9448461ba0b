"""The planned questions of a monitored run, which determine whether a condition for `--until` can be decided."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from ragbed.analysis.cell_selection import PlannedCells
from ragbed.analysis.comparison import ComparedCondition, ComparedQuestion, compared_condition
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.statistics.rates import Interval
from ragbed.analysis.statistics.sequential import rate_sequence
from ragbed.runs.condition import ClusterSizes
from ragbed.schema import Case
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.prompts.strategies import MARK


@dataclass(frozen=True)
class PlannedClusters:
    """A cell's planned questions, grouped by number of trials.

    Attributes:
        sizes: Number of questions by number of trials.
        largest: The scale of the bets (see `rate_sequence`).
    """

    sizes: Counter[int]
    largest: int

    @property
    def total(self) -> int:
        """Return the number of questions."""
        return self.sizes.total()

    def rate(self, share: float, n: int, alpha: float) -> Interval:
        """Return the interval for n questions with the planned cluster sizes, if every score is `share` (0 or 1)."""
        sizes = list(self.sizes) or [1]
        counts = [n * self.sizes[size] / self.total if self.total else n for size in sizes]
        return rate_sequence([share * size for size in sizes], sizes, counts, alpha, self.largest)


@dataclass
class Plan:
    """The cells and questions that a run will measure, derived from its planned cases."""

    repeats: int
    models: int
    planned: PlannedCells = field(init=False)
    # Number of planned cases for each question.
    questions: defaultdict[tuple[object, ...], Counter[int]] = field(init=False)
    # For each compared condition, a mapping from each planned question to its event, or to itself if it has no event.
    compared: defaultdict[ComparedCondition, dict[int, int]] = field(init=False)
    sizes: ClusterSizes = field(init=False)

    def __post_init__(self) -> None:
        self.planned, self.questions = PlannedCells(self.repeats), defaultdict(Counter)
        self.compared, self.sizes = defaultdict(dict), ClusterSizes()

    def add(self, case: Case) -> None:
        """Add a planned case."""
        self.planned.add(case)
        self.sizes.add(case)
        if case.feasible:
            unit = hash((case.question, case.answer) if case.event is None else ("event", case.event))
            self.compared[compared_condition(case)][hash((case.item, case.question, case.answer))] = unit
            if MARK not in case.profile:
                question = hash(case.item if case.event is None else ("event", case.event))
                self.questions[case.data, case.lang, case.testbed, case.noise][question] += 1

    def count_compared(self, condition: ComparedCondition, questions: Iterable[ComparedQuestion]) -> int:
        """Count the planned questions that are also in a baseline, using the rules of `pair_scores`."""
        units = self.compared.get(condition, {})
        return len({units.get(hash((one.item, one.text, one.answer))) for one in questions} - {None})

    def clusters(self, cell: Cell) -> PlannedClusters:
        """Return the questions available for a planned cell, with their numbers of trials."""
        table, noise = cell.table if cell.table in TESTBEDS else None, cell.place.get("noise")
        found, conditions = Counter[int](), 0
        for (data, lang, testbed, ratio), questions in self.questions.items():
            if (data, lang) == cell.key[1:3] and table in (None, testbed) and noise in (None, ratio):
                found.update(questions)
                conditions += 1
        largest = conditions * self.sizes.largest(self.repeats)
        return PlannedClusters(Counter(self.repeats * trials for trials in found.values()), largest)
