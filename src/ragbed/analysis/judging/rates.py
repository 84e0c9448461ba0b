"""Rates of judged metrics (Rej*, ED* and CR), their agreement with human labels, and rates corrected by the labels.

Every response is counted in exactly one category. Rates are shares of all attempted cases, as in other tables.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA, Verdict
from ragbed.analysis.judging.judge_run import LabelledUnit, Scope, needs_judge, verdict_of, verdict_on
from ragbed.analysis.judging.labels import AgreedLabel, Labels, check_unlabelled, draw_sample, read_labels
from ragbed.analysis.metrics.cells import JUDGED, RULES, Cell, CellKey, to_estimate
from ragbed.analysis.statistics.labels import Agreement, agreement, prediction_powered
from ragbed.analysis.statistics.rates import UNDEFINED, Interval, clustered_wilson
from ragbed.analysis.trials.columns import TrialGroup
from ragbed.analysis.trials.table import TrialTable
from ragbed.io.jsonl import write_whole
from ragbed.io.locations import check_regular, place_inside
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


LABELS = "labels.jsonl"  # the file in a run's folder with the labels that people give in the viewer
_RULES = ("correct", "refused", "flagged")  # scores that labels correct
TRUSTED = 0.8  # minimum lower confidence bound of Cohen's kappa for reporting a judge's rates without correction
# Minimum number of labelled questions for a corrected rate. With ten labels, the interval spans half of the scale.
MIN_QUESTIONS = 30
MIN_LABELS = 150  # minimum number of labels for trusting a judge; with fewer, kappa's confidence bounds are unreliable


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
    for counts in CriterionJudgements(scope, folder, judges).counts:
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


@dataclass(frozen=True)
class JudgedResult:
    """A result with the judge's verdict and the human label; results that are undecided count as no.

    `is_settled` is set if there is no response, so that the result counts as `no` without a judge.
    """

    condition: Condition
    question: tuple[str, str]
    verdict: Verdict
    label: AgreedLabel | None
    is_settled: bool = False


class CorrectedRate(NamedTuple):
    """A judged rate over all conditions of a testbed, and the rate corrected by labels; undefined with too few."""

    key: TrialGroup
    testbed: str
    n: int
    plain: Interval
    labels: int
    questions: int
    corrected: Interval


def _join(scope: Scope, stored: StoredResult, verdict: Verdict, labels: Labels) -> JudgedResult:
    case = stored.case
    return JudgedResult(
        condition_of(stored.model, case),
        (case.data, case.event or f"item {case.item}"),
        verdict,
        labels.agreed.get(scope.unit(stored)),
        is_settled=not needs_judge(scope.criterion, stored),
    )


def validate_judge(results: Iterable[JudgedResult]) -> Iterator[dict[str, Any]]:
    """Yield a judge's agreement with human labels for each language in which it gave verdicts on labelled responses.

    `undecided` is the number of labelled responses without a verdict, which the agreement excludes. `raters` is the
    number of raters behind the labels. With a single rater, the intervals do not include the disagreement between
    people.
    """
    by_lang: dict[str, list[tuple[JudgedResult, AgreedLabel, float]]] = {}
    for entry in _labelled(results):
        by_lang.setdefault(entry[0].condition.lang, []).append(entry)
    for lang, group in sorted(by_lang.items()):
        decided = [entry for entry in group if isinstance(entry[0].verdict, bool)]
        if decided:
            found = agreement(
                [result.verdict is True for result, _, _ in decided],
                [label.value for _, label, _ in decided],
                _numbered(result.question for result, _, _ in decided),
                [1 / probability for _, _, probability in decided],
            )
            raters = {rater for _, label, _ in decided for rater in label.raters}
            distrust = _distrust(found)
            counts = {"lang": lang, "undecided": len(group) - len(decided), "raters": len(raters)}
            rates = {name: one.defined if isinstance(one, Interval) else one for name, one in found._asdict().items()}
            yield counts | {"trusted": distrust is None, "distrust": distrust} | rates


def _distrust(found: Agreement) -> str | None:
    """Return the reason why a judge's rates need a correction, or None if they may be published as they are."""
    if found.n < MIN_LABELS:
        return f"only {found.n} labels, but at least {MIN_LABELS} are required"
    if not math.isfinite(found.kappa.low):
        return "kappa is undefined because all labels are equal"
    return None if found.kappa.low >= TRUSTED else f"the lower bound of kappa is {found.kappa.low:.2f}, below {TRUSTED}"


def correct_rates(results: Iterable[JudgedResult]) -> Iterator[CorrectedRate]:
    """Yield the rate of each testbed that has labels, pooled over its conditions, and the corrected one."""
    groups: dict[tuple[TrialGroup, str], list[JudgedResult]] = {}
    for result in results:
        place = result.condition
        key = TrialGroup(place.model, place.data, place.lang, place.profile)
        groups.setdefault((key, place.testbed), []).append(result)
    for at, group in groups.items():
        if labelled := list(_labelled(group)):
            sizes = Counter(result.question for result in group)
            hits = Counter(result.question for result in group if result.verdict is True)
            plain = clustered_wilson([hits[question] for question in sizes], list(sizes.values()))
            questions = len({result.question for result, _, _ in labelled})
            corrected = _correct(group, labelled) if questions >= MIN_QUESTIONS else UNDEFINED
            yield CorrectedRate(*at, len(group), plain, len(labelled), questions, corrected)


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
            for rate in correct_rates(results):
                key = rate.key._replace(model=(names or {}).get((run, rate.key.model), rate.key.model))
                for interval, count in ((rate.plain, ""), (rate.corrected, str(rate.labels))):
                    # There are no intervals if the number of questions was not fixed.
                    found = interval.without_bounds() if is_monitored else interval
                    estimate = to_estimate(criterion.name, found, rate.n, rate.questions)
                    cells.append(Cell(rate.testbed, key, f"{JUDGED}{RULES}{count}", "all", estimate, CellKey()))
    return cells


def _labelled(results: Iterable[JudgedResult]) -> Iterator[tuple[JudgedResult, AgreedLabel, float]]:
    """Yield the labelled results with their labels and the probabilities that they were chosen for labelling."""
    # Labels without a probability are assumed to have been drawn uniformly.
    judgeable = [result for result in results if not result.is_settled]
    uniform = sum(result.label is not None and result.label.probability is None for result in judgeable)
    for result in judgeable:
        if result.label is not None:
            yield result, result.label, result.label.probability or uniform / len(judgeable)


def _correct(group: list[JudgedResult], labelled: list[tuple[JudgedResult, AgreedLabel, float]]) -> Interval:
    """Correct the rate of one group. Results without a response are treated as if they were labelled "no".

    The probabilities are rescaled because the sample may be only partly labelled. Otherwise, the labelled responses
    would have too little weight compared with the results without a response, which always have the weight 1.
    """
    scale = sum(1 / probability for _, _, probability in labelled) / sum(not result.is_settled for result in group)
    known = {id(result): (float(label.value), probability * scale) for result, label, probability in labelled}
    labels = [known.get(id(result), (0.0 if result.is_settled else math.nan, 1.0)) for result in group]
    return prediction_powered(
        [float(result.verdict is True) for result in group],
        [value for value, _ in labels],
        _numbered(result.question for result in group),
        [probability for _, probability in labels],
    ).rate


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
        verdicts: dict[str, dict[str, Verdict]] = {judge: {} for judge in self.judges}
        with open_store(self.folder, create=False) as store:
            for judged in store.results():
                if judged.model in verdicts:
                    verdicts[judged.model][judged.case.case] = verdict_of(judged.completion, self.scope.criterion.read)
        return verdicts

    @cached_property
    def counts(self) -> list[JudgedCounts]:
        """The counts by judge and condition."""
        criterion = self.scope.criterion
        found: dict[tuple[str, Condition], JudgedCounts] = {}
        for stored in self.scope.replies():
            condition = condition_of(stored.model, stored.case)
            has_reply = stored.completion.outcome == "ok" or not criterion.of_reply
            for judge, given in self.judgements.items():
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
            for rate in correct_rates(judged):
                model, data, lang, profile = rate.key
                value, low, high = rate.corrected.defined
                yield {
                    "judge": judge, "criterion": self.scope.criterion.name,
                    "model": model, "data": data, "testbed": rate.testbed, "lang": lang, "profile": profile,
                    "n": rate.n, "rate": rate.plain.value, "labels": rate.labels, "questions": rate.questions,
                    "corrected": value, "low": low, "high": high,
                }  # fmt: skip

    def validations(self) -> Iterator[dict[str, Any]]:
        """Yield each judge's agreement with human labels, by language."""
        for judge, judged in self.labelled.items():
            named = {"judge": judge, "criterion": self.scope.criterion.name}
            yield from (named | validation for validation in validate_judge(judged))


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
