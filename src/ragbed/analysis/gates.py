"""Gates for CI: what a run must reach, or must not lose against another.

A gate fails only where the numbers show it, and all gates of a command together err as seldom as one would, so that
chance alone hardly ever turns a build red. Where there are too few questions to tell, it says so and how many would do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple, TypeAlias
from xml.etree import ElementTree as Xml

from msgspec import structs

from ragbed.analysis.comparison import Comparison, describe
from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics import METRICS, measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.trial import Scored, ScoreValue, to_scored
from ragbed.analysis.statistics.binomial import lower_tail
from ragbed.analysis.statistics.multiple import holm
from ragbed.analysis.statistics.rates import ALPHA, LEVEL, Interval, quantile, trials_behind, two_sided
from ragbed.errors import UnknownName, UsageError
from ragbed.schema import Case, Estimate
from ragbed.testbeds.prompts.strategies import MARK

_SCORES: dict[str, ScoreValue] = dict.fromkeys(
    ("correct", "partial", "aligned", "refused", "flagged", "misled", "paper.refused"), 1.0
)
"""All at once, which no reply has: so there is something to count for metrics that look at some replies only."""
_REPEATS = 2
"""More tell nothing that two do not: the first chooses questions, the second is scored."""


class PlannedCells:
    """Looks at cases as they are planned; what is held grows with the conditions, not with the questions."""

    def __init__(self, repeats: int) -> None:
        self._repeats = range(min(repeats, _REPEATS))
        self._first: dict[tuple[object, ...], str] = {}
        """Of every condition the question that came first: all orders of its documents are kept, and no other's."""
        self._trials: list[Scored] = []

    def add(self, case: Case) -> None:
        """Takes notice of a case, if it is one that will be asked by the plain prompt."""
        if not case.feasible or MARK in case.profile:
            return
        condition = (case.data, case.lang, case.testbed, case.noise, case.noise_real, case.correct, case.k, case.arm)
        if self._first.setdefault(condition, case.item) == case.item:
            one = to_scored(case, "", 0, "ok", _SCORES)
            self._trials += [structs.replace(one, item="", cluster=None, repeat=repeat) for repeat in self._repeats]

    def cells(self) -> list[Cell]:
        """The numbers of the robust track; only where they stand means something."""
        return list(measure(self._trials, ["robust"]))


State: TypeAlias = Literal["passed", "failed", "inconclusive"]

_FLOOR = re.compile(
    r"(?P<table>[\w-]+)\.(?P<metric>\w+)(?:@(?P<noise>[\d.]+))?(?::(?P<lang>en|zh))?=(?P<least>[\d.]+)(?P<per_cent>%?)"
)
FAMILIES = {
    "outcomes": r"(?:correct|misled|both|refused|other)_(?:un)?flagged",
    "by_false_share": r".*_by_false_share",
    "paths": r"(?:right|wrong)(?:_(?:right|wrong)){2}",
}
"""Definitions that stand for several metrics."""
_FOUND = frozenset({"own-retrieval"})
"""Tables whose numbers hang on what systems find, so that a plan does not tell which there will be."""
_FORM = "write TESTBED.METRIC[@NOISE][:LANG]=SHARE, as noise.accuracy@0.8:en=0.6"
_FALSE_ALARM = (1 - LEVEL) / 2
"""How often a floor may fail a run whose truth is just the floor, at the most: one bound of an interval."""
_POWER = 0.8
"""The chance to see what is there, for telling how many questions would do."""
_MOST = 1_000_000
"""Questions that somebody might ask."""


class GateResult(NamedTuple):
    """One gate on one number."""

    name: str
    state: State
    told: str
    """The numbers, in a sentence."""


@dataclass(frozen=True)
class Floor:
    """A share that a metric must reach."""

    text: str
    """As the user wrote it."""
    table: str
    metric: str
    noise: float | None
    lang: str | None
    least: float


def parse_floor(text: str) -> Floor:
    """Reads `TESTBED.METRIC[@NOISE][:LANG]=SHARE`.

    Raises:
        UsageError: It is none.
    """
    match = _FLOOR.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--fail-under {text}: {_FORM}.")
    if match["table"] not in METRICS:
        raise UnknownName("testbed", match["table"], METRICS)
    if not _is_defined(match["metric"]):
        raise UnknownName("metric", match["metric"], read_words("en").section("definitions"))
    try:
        noise, least = (None if match[name] is None else float(match[name]) for name in ("noise", "least"))
    except ValueError:
        raise UsageError(f"--fail-under {text}: {_FORM}.") from None
    least = (least or 0.0) / (100 if match["per_cent"] else 1)
    if not 0 <= least <= 1:
        raise UsageError(f"--fail-under {text}: a share lies between 0 and 1, or 0% and 100%.")
    return Floor(text, match["table"], match["metric"], noise, match["lang"], least)


def _is_defined(metric: str) -> bool:
    is_of_family = any(re.fullmatch(one, metric) for one in FAMILIES.values())
    return is_of_family or metric in read_words("en").section("definitions")


def check_plan(floors: Sequence[Floor], cases: Iterable[Case], repeats: int) -> Iterator[Case]:
    """The cases of a plan as they come; after the last one, whether they can tell of every floor.

    Raises:
        UsageError: They cannot.
    """
    foreseen = PlannedCells(repeats)
    for case in cases:
        foreseen.add(case)
        yield case
    cells = foreseen.cells()
    for floor in floors:
        _check_foreseen(floor, cells)


def _check_foreseen(floor: Floor, cells: Sequence[Cell]) -> None:
    there = _of_table(floor, cells)
    if floor.table in _FOUND and any(floor.lang in (None, cell.key.lang) for cell in there):
        return
    try:
        _meant(floor, cells)
    except UsageError:
        metrics = [metric for metric in dict.fromkeys(cell.estimate.metric for cell in there) if _is_defined(metric)]
        has_others = metrics and floor.metric not in metrics
        others = f" Of {floor.table} it will have {', '.join(metrics)}." if has_others else ""
        raise UsageError(
            f"--fail-under {floor.text}: no case of this run would tell of it.{others} Change the gate, or the "
            "cases: -d, --testbeds, --noise, --num-docs, --distractors, --positions, --lang, --limit, --shard. "
            "Nothing was asked."
        ) from None


def check_floors(floors: Iterable[Floor], cells: Sequence[Cell]) -> list[GateResult]:
    """Floors against every model, dataset, language and ratio that each is meant for, asked by the plain prompt.

    Raises:
        UsageError: There is no such number.
    """
    meant = [(floor, cell) for floor in floors for cell in _meant(floor, cells)]
    shown = holm([_chance(cell.estimate, floor.least) for floor, cell in meant]).tolist()
    return [_check(floor, cell, p, len(meant)) for (floor, cell), p in zip(meant, shown, strict=True)]


def _meant(floor: Floor, cells: Iterable[Cell]) -> list[Cell]:
    """The numbers that a floor is about; other arms count only for what is measured nowhere else, as `noise_effect`."""
    tables = _of_table(floor, cells)
    named = [cell for cell in tables if cell.estimate.metric == floor.metric]
    if tables and not named:
        raise UnknownName(f"metric of {floor.table}", floor.metric, {cell.estimate.metric for cell in tables})
    usual = [cell for cell in named if cell.place.get("arm") is None]
    meant = [
        cell
        for cell in usual or named
        if floor.lang in (None, cell.key.lang) and floor.noise in (None, cell.place.get("noise"))
    ]  # fmt: skip
    if not meant:
        raise UsageError(
            f"--fail-under {floor.text}: the run has no such number; `ragbed report RUN -f csv` lists all."
        )
    if not any(cell.estimate.asked for cell in meant):  # the gate would be inconclusive in every run
        raise UsageError(
            f"--fail-under {floor.text}: nothing was asked of which it could tell; no item has such a mix of "
            "documents, as `ragbed cases` says."
        )
    return meant


def _of_table(floor: Floor, cells: Iterable[Cell]) -> list[Cell]:
    return [
        cell
        for cell in cells
        if cell.table == floor.table and cell.scope == "all" and cell.track == "robust" and MARK not in cell.key.profile
    ]


def _chance(estimate: Estimate, least: float) -> float:
    """How likely so low a number is where the truth is the floor, one-sided.

    Exact for a share of questions that are independent; where they come in clusters, as of so many independent ones as
    the interval shows. Of what is no share, as a difference, the interval is taken to widen in proportion. A number
    without an interval is never unlikely.
    """
    if estimate.n == 0 or estimate.value is None or estimate.value >= least or not _has_interval(estimate):
        return 1.0
    interval = Interval(*(math.nan if one is None else one for one in (estimate.value, estimate.low, estimate.high)))
    if (trials := trials_behind(interval)) is not None:
        return lower_tail(interval.value * trials, trials, least)
    return NormalDist().cdf(-two_sided(LEVEL) * (least - interval.value) / (interval.high - interval.value))


def _has_interval(estimate: Estimate) -> bool:
    """Whether it is known how far the truth may lie above; resamples that are all alike do not tell."""
    return None not in (estimate.value, estimate.high) and estimate.high != estimate.value


def _check(floor: Floor, cell: Cell, p: float, among: int) -> GateResult:
    """One number; p is adjusted for all that are checked together, so many."""
    estimate = cell.estimate
    name = f"{floor.table}.{floor.metric} of {cell.key.model} on {cell.key.data}, {cell.key.lang}{_where(cell)}"
    if estimate.value is None or estimate.n == 0:
        return GateResult(name, "inconclusive", "nothing was asked")
    low, high = (estimate.value if bound is None else bound for bound in (estimate.low, estimate.high))
    bounds = "" if estimate.low is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    told = f"{100 * estimate.value:.1f} %{bounds} of {estimate.n}; asked for {100 * floor.least:.1f} %"
    if p < _FALSE_ALARM:
        return GateResult(name, "failed", told)
    spreads = (_spread(floor.least), _spread(estimate.value))
    enough = _enough(abs(floor.least - estimate.value), spreads, _FALSE_ALARM / among, estimate.n)
    if estimate.value < floor.least:
        if not _has_interval(estimate):
            return GateResult(name, "inconclusive", f"{told}; without an interval nothing can be told")
        return GateResult(name, "inconclusive", f"{told}; too few to tell, {enough} would do")
    return GateResult(
        name, "passed", told if low >= floor.least else f"{told}; {enough} would show that it is no lower"
    )


def _where(cell: Cell) -> str:
    """What else tells a number from others of its name, so that gates never share one."""
    shown = {name: value for name, value in cell.place.items() if value is not None and (name, value) != ("correct", 0)}
    return "".join(
        f", {name} {value:.3g}" if isinstance(value, float) else f", {name} {value}" for name, value in shown.items()
    )


def check_declines(rows: Sequence[Comparison], least: float) -> list[GateResult]:
    """Whether the second side has lost more than a share, for all comparisons that were adjusted together."""
    return [_check_decline(row, least, len(rows)) for row in rows]


def _check_decline(row: Comparison, least: float, among: int) -> GateResult:
    data, testbed, lang, noise, correct = describe(row.condition)
    name = f"{testbed} on {data}, {lang}, noise {noise}"
    name += f", correct {correct}" if row.condition.correct else ""
    name += f", k {row.condition.k}" if row.condition.k else ""
    low, high = (100 * bound for bound in (row.difference.low, row.difference.high))
    told = f"{100 * row.difference.value:+.1f} [{low:+.1f}, {high:+.1f}] points on {row.n} questions"
    if row.decline_p < ALPHA:
        return GateResult(name, "failed", f"{told}: more than {100 * least:g} lost, p {row.decline_p:.2g}")
    if row.difference.low >= -least:
        return GateResult(name, "passed", told)
    # As far as the truth, were it what was seen, lies from the loss that counts: there more questions would tell.
    spread = max((row.won + row.lost) / row.n - row.difference.value**2, 1 / row.n)
    enough = _enough(abs(row.difference.value + least), (spread, spread), _FALSE_ALARM / among, row.n)
    return GateResult(
        name, "inconclusive", f"{told}: a loss of more than {100 * least:g} cannot be excluded; {enough} would tell"
    )


def _spread(share: float) -> float:
    """The variance of one verdict; none of what is no share."""
    return max(0.0, share * (1 - share))


def _enough(distance: float, spreads: tuple[float, float], alpha: float, asked: int) -> str:
    """How many questions see a distance with a fair chance, one-sided, in words.

    Args:
        distance: Of what was seen from what was asked for.
        spreads: The variance of one question's score at what was asked for, and at what was seen.
        alpha: How often a difference may be seen where there is none.
        asked: So many were too few.
    """
    limit, seen = map(math.sqrt, spreads)
    needed = ((quantile(1 - alpha) * limit + quantile(_POWER) * seen) / distance) ** 2 if distance else math.inf
    if needed > _MOST:
        return "no number of questions that can be had"
    return f"some {_round(max(needed, asked + 1))} questions"


def _round(count: float) -> str:
    """A number of questions, two digits of which mean something."""
    digits = max(0, len(str(int(count))) - 2)
    return f"{math.ceil(count / 10**digits) * 10**digits:,}"


def as_junit(suite: str, checked: Sequence[GateResult]) -> bytes:
    """Gates as JUnit XML, one test case each; an inconclusive one passes, with a message."""
    failed = sum(one.state == "failed" for one in checked)
    root = Xml.Element("testsuite", name=_plain(suite), tests=str(len(checked)), failures=str(failed))
    for one in checked:
        case = Xml.SubElement(root, "testcase", classname="ragbed", name=_plain(one.name))
        if one.state == "failed":
            Xml.SubElement(case, "failure", message=_plain(one.told))
        else:
            Xml.SubElement(case, "system-out").text = _plain(f"{one.state}: {one.told}")
    written: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _plain(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
