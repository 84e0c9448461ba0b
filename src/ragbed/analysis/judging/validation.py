"""Validate a judge: measure its agreement with human labels, and use the labels to correct its rates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragbed.analysis.judging.criteria import CRITERIA, Verdict
from ragbed.analysis.judging.judge_run import LabelledUnit, Scope, needs_judge, read_judgements, verdict_on
from ragbed.analysis.judging.labels import AgreedLabel, Labels, check_unlabelled, draw_sample, read_labels
from ragbed.analysis.judging.rates import JudgedCounts, tabulate
from ragbed.analysis.metrics.cells import JUDGED, RULES, Cell, CellKey, to_estimate
from ragbed.analysis.statistics.labels import Agreement, Corrected, agreement, prediction_powered
from ragbed.analysis.statistics.rates import UNDEFINED, Interval, clustered_wilson
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.analysis.trials.table import TrialTable
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import check_regular, place_inside
from ragbed.runs.condition import Condition, condition_of
from ragbed.runs.store import StoredResult

LABELS = "labels.jsonl"  # the file in a run's folder with the labels that people give in the viewer
_RULES = ("correct", "refused", "flagged")  # scores that labels correct
TRUSTED = 0.8  # minimum lower confidence bound of Cohen's kappa for reporting a judge's rates without correction
# Minimum number of labelled questions for a corrected rate. With ten labels, the interval spans half of the scale.
MIN_QUESTIONS = 30
MIN_LABELS = 150  # minimum number of labels for trusting a judge; with fewer, kappa's confidence bounds are unreliable


@dataclass(frozen=True)
class JudgedResult:
    """A result with the judge's verdict and the human label.

    `is_settled` is set if there is no response, so that the result counts as `no` without a judge.
    """

    condition: Condition
    question: tuple[str, str]
    verdict: Verdict
    label: AgreedLabel | None
    is_settled: bool = False

    @property
    def as_number(self) -> float:
        """Return 1 for a yes verdict, otherwise 0. Undecided results count as no; the correction accounts for them."""
        return float(self.verdict is True)


@dataclass(frozen=True)
class JudgeValidation:
    """A judge's agreement with human labels for one criterion and language.

    `undecided` is the number of labelled responses without a verdict, which the agreement excludes. `raters` is the
    number of raters behind the labels. With a single rater, the intervals do not include the disagreement between
    people.
    """

    judge: str
    criterion: str
    lang: str
    undecided: int
    agreement: Agreement
    raters: int

    @property
    def distrust(self) -> str | None:
        """Return the reason why the judge's rates need a correction, or None if they may be published as they are."""
        n, kappa = self.agreement.n, self.agreement.kappa
        if n < MIN_LABELS:
            return f"only {n} labels, but at least {MIN_LABELS} are required"
        if not math.isfinite(kappa.low):
            return "kappa is undefined because all labels are equal"
        return None if kappa.low >= TRUSTED else f"the lower bound of kappa is {kappa.low:.2f}, below {TRUSTED}"

    def as_json(self) -> dict[str, Any]:
        """Return the agreement as a JSON-compatible dictionary."""
        named = {name: getattr(self, name) for name in ("judge", "criterion", "lang", "undecided", "raters")}
        trust = {"trusted": self.distrust is None, "distrust": self.distrust}
        agreed = self.agreement._asdict().items()
        return named | trust | {name: value.defined if isinstance(value, Interval) else value for name, value in agreed}


class RateGroup(NamedTuple):
    """The conditions whose responses are pooled to correct a judged rate."""

    model: str
    data: str
    testbed: str
    lang: str
    profile: str


@dataclass(frozen=True)
class CorrectedRate:
    """A judged rate over all conditions of a group, and the rate corrected by labels; None with too few labels."""

    n: int
    plain: Interval
    labels: int
    questions: int
    corrected: Corrected | None


def _join(scope: Scope, stored: StoredResult, verdict: Verdict, labels: Labels) -> JudgedResult:
    case = stored.case
    return JudgedResult(
        condition_of(stored.model, case),
        (case.data, case.event or f"item {case.item}"),
        verdict,
        labels.agreed.get(scope.unit(stored)),
        is_settled=not needs_judge(scope.criterion, stored),
    )


def validate_judge(judge: str, criterion: str, results: Iterable[JudgedResult]) -> list[JudgeValidation]:
    """Return one validation for each language in which the judge gave verdicts on labelled responses."""
    by_lang: dict[str, list[tuple[JudgedResult, AgreedLabel, float]]] = {}
    for entry in _labelled(results):
        by_lang.setdefault(entry[0].condition.lang, []).append(entry)
    validations = []
    for lang, group in sorted(by_lang.items()):
        decided = [entry for entry in group if isinstance(entry[0].verdict, bool)]
        if decided:
            compared = agreement(
                [result.verdict is True for result, _, _ in decided],
                [label.value for _, label, _ in decided],
                _numbered(result.question for result, _, _ in decided),
                [1 / probability for _, _, probability in decided],
            )
            raters = {rater for _, label, _ in decided for rater in label.raters}
            undecided = len(group) - len(decided)
            validations.append(JudgeValidation(judge, criterion, lang, undecided, compared, len(raters)))
    return validations


def correct_rates(results: Iterable[JudgedResult]) -> dict[RateGroup, CorrectedRate]:
    """Return the corrected rate of each group that has labels, pooled over its conditions."""
    groups: dict[RateGroup, list[JudgedResult]] = {}
    for result in results:
        place = result.condition
        key = RateGroup(place.model, place.data, place.testbed, place.lang, place.profile)
        groups.setdefault(key, []).append(result)
    rates = {}
    for key, group in groups.items():
        if labelled := list(_labelled(group)):
            plain = _plain_rate(group)
            questions = len({result.question for result, _, _ in labelled})
            corrected = _correct(group, labelled) if questions >= MIN_QUESTIONS else None
            rates[key] = CorrectedRate(len(group), plain, len(labelled), questions, corrected)
    return rates


def read_corrected_cells(runs: Sequence[Path], names: Mapping[tuple[Path, str], str] | None = None) -> list[Cell]:
    """Return the rule-based rates of runs with labels: as they are, and corrected by the labels.

    The rates are pooled over the conditions of each testbed. A rate with too few labels has no corrected value.

    Args:
        runs: Folders of the runs.
        names: The models' labels by run and model string; by default, the model strings.
    """
    cells: list[Cell] = []
    for run in runs:
        path = place_inside(run, LABELS)
        check_regular(path)
        if not path.exists():
            continue
        labels = read_labels(path)
        labelled = {unit.criterion for unit in labels.agreed}
        criteria = [CRITERIA[name] for name in CRITERIA if name in labelled and CRITERIA[name].rule in _RULES]
        with TrialTable(run) as table:
            scored, is_monitored = list(table.scored()) if criteria else [], table.store.is_monitored()
        for criterion in criteria:
            scope = Scope(run, criterion)
            results = [
                _join(scope, stored, bool((values or {}).get(criterion.rule or "")), labels)
                for stored, values in scored
                if criterion.applies(stored.case)
            ]
            for group, rate in correct_rates(results).items():
                model = (names or {}).get((run, group.model), group.model)
                cells += _corrected_cells(criterion.name, group._replace(model=model), rate, is_monitored=is_monitored)
    return cells


def _corrected_cells(metric: str, group: RateGroup, rate: CorrectedRate, *, is_monitored: bool) -> Iterator[Cell]:
    """Yield the plain and the corrected rate, without intervals if the number of questions was not fixed."""
    key = TrialGroup(group.model, group.data, group.lang, group.profile)
    corrected = UNDEFINED if rate.corrected is None else rate.corrected.rate
    for interval, labels in ((rate.plain, ""), (corrected, str(rate.labels))):
        found = interval.without_bounds() if is_monitored else interval
        estimate = to_estimate(metric, found, rate.n, rate.questions)
        yield Cell(group.testbed, key, f"{JUDGED}{RULES}{labels}", "all", estimate, CellKey())


def _labelled(results: Iterable[JudgedResult]) -> Iterator[tuple[JudgedResult, AgreedLabel, float]]:
    """Yield the labelled results with their labels and the probabilities that they were chosen for labelling."""
    # Labels without a probability are assumed to have been drawn uniformly.
    judgeable = [result for result in results if not result.is_settled]
    uniform = sum(result.label is not None and result.label.probability is None for result in judgeable)
    for result in judgeable:
        if result.label is not None:
            yield result, result.label, result.label.probability or uniform / len(judgeable)


def _plain_rate(group: Sequence[JudgedResult]) -> Interval:
    hits, trials = Counter[tuple[str, str]](), Counter(result.question for result in group)
    for result in group:
        hits[result.question] += int(result.as_number)
    return clustered_wilson([hits[question] for question in trials], list(trials.values()))


def _correct(group: list[JudgedResult], labelled: list[tuple[JudgedResult, AgreedLabel, float]]) -> Corrected:
    """Correct the rate of one group. Results without a response are treated as if they were labelled "no".

    The probabilities are rescaled because the sample may be only partly labelled. Otherwise, the labelled responses
    would have too little weight compared with the results without a response, which always have the weight 1.
    """
    scale = sum(1 / probability for _, _, probability in labelled) / sum(not result.is_settled for result in group)
    known = {id(result): (float(label.value), probability * scale) for result, label, probability in labelled}
    labels = [known.get(id(result), (0.0 if result.is_settled else math.nan, 1.0)) for result in group]
    return prediction_powered(
        [result.as_number for result in group],
        [value for value, _ in labels],
        _numbered(result.question for result in group),
        [probability for _, probability in labels],
    )


def _numbered(names: Iterable[tuple[str, str]]) -> list[int]:
    numbers: dict[tuple[str, str], int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


@dataclass(frozen=True)
class CriterionJudgements:
    """A run's judgements for one criterion, loaded on first use.

    Attributes:
        scope: The criterion and the judged responses.
        folder: The run folder of the judgements.
        judges: The judges' model strings.
        labels: Human labels, if there are any.
    """

    scope: Scope
    folder: Path
    judges: Sequence[str]
    labels: Labels | None = None

    @cached_property
    def replies(self) -> list[StoredResult]:
        """The judged responses."""
        return list(self.scope.replies())

    @cached_property
    def judgements(self) -> dict[str, dict[str, Verdict]]:
        """The verdicts by judge and case."""
        return read_judgements(self.folder, self.scope.criterion, self.judges)

    @cached_property
    def counts(self) -> list[JudgedCounts]:
        """The counts by judge and condition."""
        return tabulate(self.scope, self.replies, self.judgements)

    @cached_property
    def labelled(self) -> dict[str, list[JudgedResult]]:
        """The results with each judge's verdict and the human label, by judge."""
        labels = self.labels or Labels()
        return {
            judge: [
                _join(self.scope, stored, verdict_on(self.scope.criterion, stored, verdicts), labels)
                for stored in self.replies
            ]
            for judge, verdicts in self.judgements.items()
        }

    @property
    def units(self) -> set[LabelledUnit]:
        """The responses that a label can refer to."""
        return {self.scope.unit(stored) for stored in self.replies}

    def rates(self) -> Iterator[dict[str, Any]]:
        """Yield the counts and rate for each judge and condition."""
        for judge in self.judgements:
            yield from (cell.as_json() for cell in self.counts if cell.judge == judge)

    def corrected_rates(self) -> Iterator[dict[str, Any]]:
        """Yield each judge's rates by testbed, pooled over conditions and corrected by the labels."""
        for judge, judged in self.labelled.items():
            for group, rate in correct_rates(judged).items():
                value, low, high = (UNDEFINED if rate.corrected is None else rate.corrected.rate).defined
                yield {
                    "judge": judge,
                    "criterion": self.scope.criterion.name,
                    **group._asdict(),
                    "n": rate.n,
                    "rate": rate.plain.value,
                    "labels": rate.labels,
                    "questions": rate.questions,
                    "corrected": value,
                    "low": low,
                    "high": high,
                }

    def validations(self) -> Iterator[dict[str, Any]]:
        """Yield each judge's agreement with human labels, by language."""
        for judge, judged in self.labelled.items():
            yield from (one.as_json() for one in validate_judge(judge, self.scope.criterion.name, judged))


def write_sample(judged: Sequence[CriterionJudgements], size: int, path: Path) -> int:
    """Write `size` responses per criterion for people to label, and return the number written.

    Raises:
        UsageError: The file contains labels, which may have been added while the judge was called.
    """
    drawn = [label for part in judged for label in draw_sample(part.scope, part.replies, part.judgements, size)]
    check_unlabelled(path)
    with write_whole(path) as sink:
        sink.writelines(msgspec.json.encode(label) + b"\n" for label in drawn)
    return len(drawn)
