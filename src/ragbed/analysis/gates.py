"""Gates for CI: minimum or maximum rates for a run, and maximum losses compared with another run.

A gate selects report cells with a string such as `noise.accuracy@0.8:en`, and a plan is checked for whether it produces
them. A gate fails only on significant evidence. All gates of a command together have the false-alarm rate of one test,
so a build rarely fails by chance. If there are too few questions to decide, the message says how many are needed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias, get_args
from xml.etree import ElementTree as Xml

from msgspec import structs

from ragbed.analysis.comparison import Comparison, format_p, name_condition
from ragbed.analysis.locale import find_metric, read_words
from ragbed.analysis.metrics import METRICS, measure
from ragbed.analysis.metrics.cells import ONE_SUPPORTING, USUAL, Cell, full_place, interval_of
from ragbed.analysis.run_cells import decided_in, is_monitored, read_report_cells
from ragbed.analysis.statistics.planning import POWER, rate_size
from ragbed.analysis.statistics.rates import ALPHA, LEVEL, Interval, quantile, student, trials_behind, two_sided
from ragbed.analysis.statistics.testing import holm
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.errors import UnknownName, UsageError, option
from ragbed.runs.decided import DecidedInterval
from ragbed.runs.display_names import require_one_served
from ragbed.schema import Case
from ragbed.scoring import open_scorers
from ragbed.testbeds import WITHOUT_DOCUMENTS
from ragbed.testbeds.injection import INJECTION
from ragbed.testbeds.own_rag import NAME as OWN_RAG
from ragbed.testbeds.prompts.strategies import MARK
from ragbed.testbeds.settings import Arm

# Verdicts of a hypothetical trial. No real response is both correct and a refusal, but every score is 1 here, because
# some metrics use only trials in which a certain score is 1 and would otherwise have no data.
_NAMES = "correct partial aligned refused flagged misled expected paper.refused attacked reported injected_supports"
_VERDICTS = dict.fromkeys(_NAMES.split(), 1.0)
# Number of repeats needed to predict which cells a run will produce: the first repeat is used to select questions, and
# the second is scored.
_REPEATS = 2

SELECTOR = r"(?P<table>[\w-]+)\.(?P<metric>\w+)(?:@(?P<at>[\w.=,]+))?(?::(?P<lang>en|zh))?"
"""The regular expression for selectors."""
_ARMS = {OWN_RAG: "corpus", INJECTION.name: "instruction"}  # what the conditions of other testbeds are
_UNPREDICTABLE = frozenset({"own-rag"})  # tables whose cells depend on the documents that a system retrieves


@dataclass(frozen=True)
class CellSelector:
    """A selector for a metric's cells.

    Attributes:
        parameter: The option that contains the selector: `fail_under` or `until`.
        text: The value of the option, as entered by the user.
        arm: The condition or the distractors, e.g. `withheld` or `fixed`; None for the usual ones.
        bound: The minimum or maximum that a gate requires, or the maximum width of the intervals.
    """

    parameter: str
    text: str
    table: str
    metric: str
    noise: float | None
    lang: str | None
    arm: str | None
    bound: float

    def __str__(self) -> str:
        return option(self.parameter, self.text)

    @property
    def is_maximum(self) -> bool:
        """Whether the bound of a gate is a maximum, because lower values of the metric are better."""
        return (metric := find_metric(self.metric)) is not None and metric.is_lower_better

    def as_minimum(self, cell: Cell) -> tuple[Cell, float]:
        """Return a cell with the minimum that a gate requires of it; a maximum is a minimum of the complement."""
        if not self.is_maximum:
            return cell, self.bound
        value, high, low = Interval(*(1 - one for one in interval_of(cell.estimate))).defined
        sums, bounds = cell.sums and cell.sums.complement(), {"value": value, "low": low, "high": high}
        return replace(cell, estimate=structs.replace(cell.estimate, **bounds), sums=sums), 1 - self.bound

    def decide(self, low: float, high: float) -> State | None:
        """Return the result of a gate that an interval decides, or None if it contains the bound."""
        if self.is_maximum:
            return "failed" if low > self.bound else "passed" if high <= self.bound else None
        return "failed" if high < self.bound else "passed" if low >= self.bound else None


def parse_selector(
    parameter: str, text: str, match: re.Match[str] | None, form: str, scorers: Sequence[str] = ()
) -> CellSelector:
    """Convert a match of the `SELECTOR` pattern and a `number`, the bound, to a selector.

    With scorers of the user, which have metrics of their own, the name of the metric is checked with the plan.

    Raises:
        UnknownName: The testbed or the metric does not exist.
        UsageError: There is no match, the number is not valid, or the condition is neither a noise ratio nor
            distractors, nor both, e.g. `0.8,fixed`.
    """
    if match is None:
        raise UsageError(f"{option(parameter, text)}: {form}.")
    if match["table"] not in METRICS:
        raise UnknownName("testbed", match["table"], METRICS)
    if find_metric(match["metric"]) is None and not scorers:
        raise UnknownName("metric", match["metric"], read_words("en").section("definitions"))
    parts = match["at"].split(",") if match["at"] else []
    known = parts if match["table"] in (*WITHOUT_DOCUMENTS, INJECTION.name) else get_args(Arm)
    arm = parts.pop() if parts and parts[-1] in known else None
    try:
        noise, number = float(",".join(parts)) if parts else None, float(match["number"])
    except ValueError:
        return parse_selector(parameter, text, None, form)
    return CellSelector(parameter, text, match["table"], match["metric"], noise, match["lang"], arm, number)


class PlannedCells:
    """Predicts a run's cells from its planned cases, using memory proportional to the number of conditions."""

    def __init__(self, repeats: int, scorers: Sequence[str] = ()) -> None:
        self._repeats, self._scorers = range(min(repeats, _REPEATS)), scorers
        self._score, self._prefixes = open_scorers(scorers), tuple(f"{name}." for name in scorers)
        self._first: dict[tuple[object, ...], str] = {}  # first item in each condition; other items are skipped
        self._trials: list[Trial] = []

    def add(self, case: Case) -> None:
        """Add a planned case if the case is feasible and uses the plain prompt."""
        if not case.feasible or MARK in case.profile:
            return
        has_answer = bool(case.answer)
        condition = (case.data, case.lang, case.testbed, case.noise, case.true_ratio, case.k, case.arm, has_answer)
        if self._first.setdefault(condition, case.item) == case.item:
            reply = next((alias for aliases in case.answer for alias in aliases), "")
            scores = self._score(case, reply) if self._scorers else {}
            own = {name: 1.0 for name, value in scores.items() if name.startswith(self._prefixes) and value is not None}
            verdicts = {name: value for name, value in _VERDICTS.items() if has_answer or name != "correct"}
            self._trials += [
                Trial(
                    model="", data=case.data, item="", lang=case.lang, testbed=case.testbed, profile=case.profile,
                    noise=case.noise, correct=case.true_ratio, k=case.k, arm=case.arm,
                    seed=case.seed, slots=case.slots, repeat=repeat, scores=verdicts | own,
                )
                for repeat in self._repeats
            ]  # fmt: skip

    def cells(self, *, is_monitored: bool = False) -> list[Cell]:
        """Return the predicted cells of the robust scorer and the user's. Only their keys are meaningful."""
        return list(measure(group_rows(self._trials, largest=is_monitored), ["robust", *self._scorers]))


def check_planned(selector: CellSelector, cells: Sequence[Cell]) -> list[Cell]:
    """Return the planned cells that match a selector, or an empty list if they depend on retrieved documents.

    Raises:
        UsageError: No planned case measures the metric.
    """
    present = _table_cells(selector, cells)
    if selector.table in _UNPREDICTABLE and any(
        selector.lang in (None, cell.key.lang) and selector.arm in (None, cell.mix) for cell in present
    ):
        return []
    try:
        return select_cells(selector, cells)
    except UsageError:
        metrics = dict.fromkeys(
            cell.estimate.metric for cell in present if cell.is_own or find_metric(cell.estimate.metric)
        )
        setting = "corpus" if selector.table == OWN_RAG else "noise"
        advice = f"Change {option(setting)}, {option('data')}, {option('lang')} or {option('limit')}"
        if selector.metric not in metrics:
            advice = (
                f"The metrics of its cases are {', '.join(metrics)}" if metrics else "It has no cases for this testbed"
            )
        raise UsageError(
            f"{selector}: no case in this run contributes to this metric. {advice}. No model was called."
        ) from None


def select_cells(selector: CellSelector, cells: Iterable[Cell]) -> list[Cell]:
    """Return the plain-prompt cells that match a selector, for every model, dataset, language and noise ratio.

    Raises:
        UsageError: No cell matches the selector, or it names no distractors and the metric has several.
    """
    table = _table_cells(selector, cells)
    named = [cell for cell in table if cell.estimate.metric == selector.metric]
    if table and not named:
        raise UnknownName(f"metric of {selector.table}", selector.metric, {cell.estimate.metric for cell in table})
    if selector.arm is not None:
        named = [cell for cell in named if cell.mix == selector.arm]
    # Use other conditions only for metrics that the default condition lacks, such as `noise_effect`.
    usual = [cell for cell in named if cell.has_usual_distractors]
    selected = [
        cell
        for cell in usual or named
        if selector.lang in (None, cell.key.lang) and selector.noise in (None, cell.place.get("noise"))
    ]
    if not selected:
        raise UsageError(
            f"{selector}: the run has no value with this name. `ragbed report RUN -f csv` lists all values."
        )
    if not any(cell.estimate.asked for cell in selected):  # a check of zero cases would always be inconclusive
        raise UsageError(
            f"{selector}: all cases for this value are infeasible, because no item has enough documents of "
            "each kind. `ragbed export DATA --to jsonl` counts the infeasible cases."
        )
    return selected


def _table_cells(selector: CellSelector, cells: Iterable[Cell]) -> list[Cell]:
    """Return the plain-prompt cells of a selector's testbed, which has one mix of documents or that of the selector."""
    found = [
        cell
        for cell in cells
        if cell.table == selector.table
        and cell.scope == "all"
        and (cell.scorer == "robust" or cell.is_own)
        and MARK not in cell.key.profile
        # At all positions together and, unless the gate names a kind of instruction, for all kinds together.
        and (cell.table != INJECTION.name or (cell.place.get("slot") is None and cell.mix == (selector.arm or USUAL)))
    ]
    mixes = {(cell.mix, cell.place.get("noise")) for cell in found if cell.estimate.metric == selector.metric}
    arms = sorted({arm for arm, _ in mixes})
    if selector.arm is None and USUAL in arms and len(arms) > 1:
        noise, metric = selector.noise, f"{selector.table}.{selector.metric}"
        ways = [f"{noise:g},{arm}" if noise is not None and (arm, noise) in mixes else arm for arm in arms]
        spellings = ", ".join(f"{metric}@{way}" for way in ways)
        raise UsageError(f"{selector}: the run has several distractor conditions. Name one: {spellings}.")
    return found


def describe_cell(cell: Cell) -> str:
    """Describe how a cell differs from the metric's other cells, e.g. `gpt-4o on en_refine, en, noise 0.8, k 5`."""
    is_own = cell.table == OWN_RAG  # its system chooses the number of documents
    hidden = {"correct": 0, "k": cell.place.get("k") if is_own else ONE_SUPPORTING}
    place = "".join(
        f", {name if name != 'arm' else _ARMS.get(cell.table, 'distractors')} "
        + (f"{value:.3g}" if isinstance(value, float) else str(value))
        for name, value in cell.place.items()
        if value != hidden.get(name)
    )
    return f"{cell.key.model} on {cell.key.data}, {cell.key.lang}{place}"


State: TypeAlias = Literal["passed", "failed", "inconclusive"]

_FLOOR = re.compile(SELECTOR + r"=(?P<number>-?[\d.]+)%?")
# Short names for a RAG system's own testbed.
_SHORT = {"accuracy": "own-rag.accuracy", "refusal": "own-rag.accuracy@withheld", "recall": "own-rag.retrieval_recall"}
_FORM = (
    "use TESTBED.METRIC[@CONDITION][:LANG]=SHARE, e.g. noise.accuracy@0.8:en=0.6, or for your own RAG system "
    "accuracy=0.7, accuracy@noisy=0.6, refusal=0.8 or recall=0.9"
)
_FALSE_ALARM = (1 - LEVEL) / 2  # maximum probability that a run fails when its true rate equals the minimum
MIN_DROP = 0.03  # margin of the gate against a baseline run, as in `ragbed compare`
_MOST = 1_000_000  # maximum sample size to report; larger ones are reported as "more than 1,000,000 questions"


class GateResult(NamedTuple):
    """The result of one gate for one cell, with a one-sentence explanation."""

    name: str
    state: State
    message: str


def parse_floor(text: str, scorers: Sequence[str] = ()) -> CellSelector:
    """Parse `TESTBED.METRIC[@CONDITION][:LANG]=SHARE`, or a short name such as `accuracy=0.7`.

    Args:
        text: The gate.
        scorers: The user's scorers, which may have further metrics, with any number as their minimum.

    Raises:
        UsageError: The text has a different form, an unknown name, or a share that is not between 0 and 1.
    """
    name, rest = re.fullmatch(r"\s*(\w*)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # always matches
    match = _FLOOR.fullmatch(f"{_SHORT.get(name, name) if rest[:1] in '@:=' else name}{rest}".strip())
    floor = parse_selector("fail_under", text, match, _FORM, scorers)
    minimum = floor.bound / (100 if text.rstrip().endswith("%") else 1)
    metric = find_metric(floor.metric)
    if metric is not None and not metric.share:
        raise UsageError(f"{floor}: {floor.metric} is not a rate, so it cannot have a minimum.")
    if metric is not None and not 0 <= minimum <= 1:
        raise UsageError(f"{floor}: the threshold must be between 0 and 1, or between 0% and 100%.")
    return replace(floor, bound=minimum)


def check_plan(
    floors: Sequence[CellSelector], cases: Iterable[Case], repeats: int, scorers: Sequence[str] = ()
) -> Iterator[Case]:
    """Yield the cases of a plan. After the last one, check that there are enough cases to decide every gate.

    The user's scorers are tried on a case of each condition, with its answer as the response.

    Raises:
        UsageError: A gate cannot be decided.
        PluginFailed: A scorer raises an exception.
    """
    planned = PlannedCells(repeats, scorers)
    for case in cases:
        planned.add(case)
        yield case
    cells = planned.cells()
    for floor in floors:
        check_planned(floor, cells)


def check_run(floors: Sequence[CellSelector], folder: Path, scorers: Sequence[str] = ()) -> list[GateResult]:
    """Check the results of a run against minimum and maximum rates.

    Raises:
        UsageError: A gate selects no cell, or a model's server served several models.
    """
    used = ["robust", *scorers]
    cells = read_report_cells([folder], used, current=True)
    require_one_served(folder, {cell.key.model for floor in floors for cell in select_cells(floor, cells)})
    if not is_monitored(folder):
        return check_floors(floors, cells)
    alpha = ALPHA / max(1, sum(len(select_cells(floor, cells)) for floor in floors))
    decided = [interval for interval in decided_in(folder) if interval.alpha <= alpha]
    return check_floors(floors, read_report_cells([folder], used, alpha, current=True), decided)


def check_floors(
    floors: Iterable[CellSelector], cells: Sequence[Cell], decided: Sequence[DecidedInterval] | None = None
) -> list[GateResult]:
    """Check every plain-prompt cell (model, dataset, language, ratio) against each bound that applies to it.

    Args:
        floors: The gates.
        cells: The cells of a report.
        decided: For a monitored run, the intervals of its decisions; None for other runs. In a monitored run, the
            intervals, not p-values, decide. They must be valid at any stopping time and adjusted for the number of
            selected cells.

    Raises:
        UsageError: A gate selects no cell.
    """
    selected = [(floor, cell) for floor in floors for cell in select_cells(floor, cells)]
    if decided is not None:
        return [_check_monitored(floor, cell, decided, len(selected)) for floor, cell in selected]
    adjusted = holm([_p_value(*floor.as_minimum(cell)) for floor, cell in selected]).tolist()
    return [_check(floor, cell, p, len(selected)) for (floor, cell), p in zip(selected, adjusted, strict=True)]


def _check_monitored(floor: CellSelector, cell: Cell, decided: Iterable[DecidedInterval], among: int) -> GateResult:
    """Check one cell of a monitored run. Responses that arrive after the decision do not change the result."""
    tested, minimum = floor.as_minimum(cell)
    estimate = tested.estimate
    is_below = estimate.high is not None and estimate.high < minimum
    is_below |= minimum == 1 and estimate.value is not None and estimate.value < 1
    checked = _check(floor, cell, 0.0 if is_below else 1.0, among)
    subject = (cell.key.model, cell.table, estimate.metric, full_place(cell))
    own = (one for one in decided if (one.model, one.table, one.metric, one.place) == subject)
    decision, state = next(((one, state) for one in own if (state := floor.decide(one.low, one.high))), (None, None))
    if decision is None or state is None or estimate.value is None:
        return checked
    if is_below if state == "failed" else estimate.low is not None and estimate.low >= minimum:
        return checked
    bounds = f"[{100 * decision.low:.1f}, {100 * decision.high:.1f}]"
    message = f"{_describe(floor, cell)}; decided earlier in the run by the interval {bounds}"
    return GateResult(checked.name, state, message)


def _p_value(cell: Cell, minimum: float) -> float:
    """Return the one-sided p-value for a rate, under the hypothesis that the true rate equals the minimum.

    The test is exact for a rate over independent questions: p is below 0.025 if Clopper and Pearson's 95% interval
    lies below the minimum. It is monotone: another right answer never decreases p (see `ClusterSums.below_p`). Values
    that are not means over questions, e.g. differences, are assumed to be normal with the width of their interval.
    """
    value = cell.estimate.value
    if value is None or value >= minimum:
        return 1.0
    if cell.sums is not None:
        return cell.sums.below_p(minimum)
    reach = interval_of(cell.estimate).high - value
    return NormalDist().cdf(-two_sided(LEVEL) * (minimum - value) / reach) if reach else 0.0


def _check(floor: CellSelector, cell: Cell, p: float, among: int) -> GateResult:
    """Check one cell. `p` must already be adjusted for the number of cells that are checked together."""
    tested, minimum = floor.as_minimum(cell)
    estimate, name = tested.estimate, f"{floor.table}.{floor.metric} of {describe_cell(cell)}"
    if estimate.value is None:
        return GateResult(name, "inconclusive", "no case counts for this metric (0 of 0), so it has no value")
    message = _describe(floor, cell)
    if p < _FALSE_ALARM:
        return GateResult(name, "failed", message)
    if estimate.low is None:
        reason = "it has no interval, because all questions have the same value or the run has a stopping condition"
        return GateResult(name, "inconclusive", f"{message}; {reason}")
    if estimate.low >= minimum or estimate.value >= minimum == 1:
        doubt = f"; no number of questions can confirm {100 * floor.bound:g}%, but one failure refutes it"
        return GateResult(name, "passed", message + (doubt if minimum == 1 else ""))
    needed = _describe_needed(_needed_for_floor(tested, minimum, among), estimate.questions)
    if estimate.value >= minimum:
        return GateResult(name, "passed", f"{message}; {needed} would be needed to confirm this")
    message += f"; too few questions to decide{_adjustment(among)}: {needed} would be needed"
    return GateResult(name, "inconclusive", message)


def _adjustment(among: int) -> str:
    return f" after adjustment for {among} gates" if among > 1 else ""


def _describe(floor: CellSelector, cell: Cell) -> str:
    estimate, unit = cell.estimate, "" if cell.is_number else "%"
    numbers = (estimate.value, estimate.low, estimate.high, floor.bound)
    value, low, high, bound = (f"{one or 0:.2f}" if cell.is_number else f"{100 * (one or 0):.1f}" for one in numbers)
    bounds = "" if estimate.low is None else f" [{low}, {high}]"
    return f"{value}{unit}{bounds} of {estimate.n}, required {'at most ' * floor.is_maximum}{bound}{unit}"


def check_declines(rows: Sequence[Comparison], min_drop: float) -> list[GateResult]:
    """Check each comparison for a drop of more than `min_drop` in the second side's score, using adjusted p-values."""
    return [_check_decline(row, min_drop, len(rows)) for row in rows]


def _check_decline(row: Comparison, min_drop: float, among: int) -> GateResult:
    name = name_condition(row.condition)
    value, low, high = (f"{100 * bound:+.1f}" for bound in row.difference)
    message = f"{value} [{low}, {high}] points on {row.n} questions"
    if row.decline_p < ALPHA:
        found = f"a drop of more than {100 * min_drop:g}, p {format_p(row.decline_p)}"
        return GateResult(name, "failed", f"{message}: {found}")
    if row.difference.low >= -min_drop:
        return GateResult(name, "passed", message)
    level = LEVEL if row.difference.value >= -min_drop else 1 - 2 * _FALSE_ALARM / among
    needed = _describe_needed(_needed_by_reach(row.difference, -min_drop, 0.5 + level / 2, row.n), row.n)
    is_below = row.difference.high < -min_drop  # the gate would fail without the adjustment for multiple tests
    doubt = f"is not significant{_adjustment(among)}" if is_below else "cannot be ruled out"
    message += f": a drop of more than {100 * min_drop:g} {doubt}; {needed} would be needed"
    return GateResult(name, "inconclusive", message)


def _needed_for_floor(cell: Cell, minimum: float, among: int) -> float:
    """Return the approximate number of questions that would decide a gate with a probability of 80%.

    This assumes that the estimate is correct, and that every question has as many trials as in the run. Only the level
    of the test is adjusted for the number of gates, not the interval that confirms a minimum.
    """
    estimate = cell.estimate
    value, low, high = interval_of(estimate)
    level = 1 - (_FALSE_ALARM / among if value < minimum else _FALSE_ALARM)
    if not 0 <= value <= 1 or cell.is_number:
        return _needed_by_reach(Interval(value, low, high), minimum, level, estimate.questions)
    # No misses are like no hits.
    behind = Interval(value, low, high) if value < 1 else Interval(0.0, 0.0, 1 - low)
    return rate_size(minimum, value, level) * estimate.questions / trials_behind(behind, estimate.questions)


def _needed_by_reach(interval: Interval, limit: float, level: float, n: int) -> float:
    """Return the same if the width of the interval is proportional to 1/√n."""
    value, low, high = interval
    reach = (high - value if value < limit else value - low) / student(LEVEL, n)
    return n * ((quantile(level) + quantile(POWER)) * reach / abs(value - limit)) ** 2 if value != limit else math.inf


def _describe_needed(count: float, asked: int) -> str:
    """Return the number of questions needed, as text, given that `asked` questions were too few."""
    if count > _MOST:
        return f"more than {_MOST:,} questions"
    count = max(math.ceil(count), asked + 1)
    digits = max(0, len(str(count)) - 2)  # keep two significant digits
    return f"about {math.ceil(count / 10**digits) * 10**digits:,} questions"


def with_strict(checked: Iterable[GateResult]) -> list[GateResult]:
    """Return gate results in which those that are inconclusive fail."""
    return [
        gate._replace(state="failed", message=f"inconclusive, which `strict` counts as failed: {gate.message}")
        if gate.state == "inconclusive"
        else gate
        for gate in checked
    ]


def as_junit(suite: str, checked: Sequence[GateResult]) -> bytes:
    """Return gates as JUnit XML, one test case per gate. Inconclusive gates pass with a message."""
    failed = sum(gate.state == "failed" for gate in checked)
    root = Xml.Element("testsuite", name=_valid_xml(suite), tests=str(len(checked)), failures=str(failed))
    for gate in checked:
        case = Xml.SubElement(root, "testcase", classname="ragbed", name=_valid_xml(gate.name))
        if gate.state == "failed":
            Xml.SubElement(case, "failure", message=_valid_xml(gate.message))
        else:
            Xml.SubElement(case, "system-out").text = _valid_xml(f"{gate.state}: {gate.message}")
    written: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _valid_xml(text: str) -> str:
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
