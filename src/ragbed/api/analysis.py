"""Compare, rank, judge and diagnose runs; plan sample sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ragbed.api.calling import with_request_options
from ragbed.api.job_specs import CompareSpec, DiagnoseSpec, JudgeSpec, PowerSpec, RankSpec
from ragbed.api.layout import split
from ragbed.api.places import run_folder, several
from ragbed.api.progress import Progress, open_progress
from ragbed.api.request_options import with_limit
from ragbed.api.specification import Values, takes
from ragbed.errors import UnknownName, UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.reporting.table import Result, Table
from ragbed.testbeds import find_testbed
from ragbed.testbeds.settings import parse_ratio

if TYPE_CHECKING:
    from ragbed.analysis.comparison import Comparison, Flip, Ranking, Side
    from ragbed.analysis.diagnosis.classify import DiagnosisCounts
    from ragbed.analysis.diagnosis.records import Diagnosis
    from ragbed.analysis.gates import GateResult
    from ragbed.analysis.judging.criteria import Criterion
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.analysis.statistics.planning import Design
    from ragbed.models.base import Sampling
    from ragbed.schema import Case

_VOTING_TEMPERATURE = 0.7  # Sampling temperature for a judge's votes; at 0, all votes would be identical.


@dataclass(frozen=True, repr=False)
class ComparisonResult(Result):
    """A question-by-question comparison of two runs.

    Attributes:
        a: The baseline.
        b: The run compared with the baseline.
        rows: One comparison per condition, with p-values.
        flips: Items whose result differs between A and B.
        sentences: Sentences that summarise the result.
        unpaired: Questions that appear in only one of the runs.
        gates: Results of the `fail_if_worse` gate.
        min_drop: Smallest drop that is reported as a decline.
    """

    a: Side
    b: Side
    rows: Sequence[Comparison]
    flips: Sequence[Flip]
    sentences: Sequence[str]
    unpaired: int
    gates: Sequence[GateResult] = ()
    min_drop: float = 0.03

    @property
    def passed(self) -> bool:
        """True if no gate failed."""
        return all(gate.state != "failed" for gate in self.gates)

    def records(self) -> Table:
        """Return one row per condition: rates for A and B, their difference, 95% confidence interval and p-values."""
        from ragbed.reporting.comparison_summary import tabulate_comparison

        return tabulate_comparison(self.rows, self.min_drop)

    def tables(self) -> list[Table]:
        """Return the comparisons by condition and the items whose result differs."""
        from ragbed.reporting.comparison_summary import tabulate_flips

        return [self.records(), tabulate_flips(self.flips)]


@dataclass(frozen=True, repr=False)
class RankingResult(Result):
    """The ranking of models on each testbed.

    Attributes:
        rankings: One ranking per testbed, with its models and model pairs.
    """

    rankings: Sequence[Ranking]

    def records(self) -> Table:
        """Return one row per testbed and model, best first, with score, 95% confidence interval and possible ranks."""
        from ragbed.reporting.comparison_summary import tabulate_ranking

        return tabulate_ranking(self.rankings)

    def pairs(self) -> Table:
        """Return one row per testbed and model pair, with the difference, its 95% confidence interval and p-values."""
        from ragbed.reporting.comparison_summary import tabulate_pairs

        return tabulate_pairs(self.rankings)

    def tables(self) -> list[Table]:
        """Return the models and the pairs of models."""
        return [self.records(), self.pairs()]


@dataclass(frozen=True, repr=False)
class JudgeResult(Result):
    """Rates based on a run's judgements.

    Attributes:
        run: The run's folder.
        cells: Counts and rates, one row per judge, criterion and condition.
        validations: Each judge's agreement with human labels, if there are any.
        corrected: Rates by testbed, pooled over conditions and corrected by human labels, if there are any.
        judge_pairs: Agreement between each pair of judges, if there are several.
        labels: Number of labels used, and number excluded for each reason.
        criteria: The criteria applied, each with its question for the judge.
        sample: Number of responses written for people to label.
        failed: Number of calls that failed; call `judge` again to retry them.
    """

    run: Path
    cells: Table
    judge_pairs: Table
    criteria: Mapping[str, str]
    validations: Table | None = None
    corrected: Table | None = None
    labels: Mapping[str, Any] | None = None
    sample: int | None = None
    failed: int = 0

    def records(self) -> Table:
        """Return one row per judge, criterion and condition."""
        return self.cells

    def tables(self) -> list[Table]:
        """Return the rates, the agreement with labels, the corrected rates and the agreement between judges."""
        found = (self.cells, self.validations, self.corrected, self.judge_pairs)
        return [table for table in found if table is not None]


@dataclass(frozen=True, repr=False)
class DiagnosisResult(Result):
    """The classified errors in a run.

    Attributes:
        run: The run's folder.
        path: File with all diagnoses.
        counts: Number of trials by outcome.
        diagnoses: One diagnosis, including evidence, for each trial with a wrong answer.
        cases: The cases of the diagnosed trials, keyed by name.
        is_monitored: Whether the run had a stopping condition (`until`); if so, error shares have no confidence
            intervals.
    """

    run: Path
    path: Path
    counts: DiagnosisCounts
    diagnoses: Sequence[Diagnosis]
    cases: Mapping[str, Case] = field(repr=False)
    is_monitored: bool = False

    def records(self) -> Table:
        """Return the count of each error type and its share of all wrong answers, by model, testbed and language."""
        return self._tabulate("type")

    def sources(self) -> Table:
        """Return one row per model, testbed, language and source of wrong answers."""
        return self._tabulate("source")

    def _tabulate(self, column: Literal["type", "source"]) -> Table:
        from ragbed.api.analysis_tables import tabulate_shares
        from ragbed.runs.display_names import read_names

        return tabulate_shares(self.diagnoses, column, read_names([self.run]), is_monitored=self.is_monitored)

    def tables(self) -> list[Table]:
        """Return the error types and the sources of wrong answers."""
        return [self.records(), self.sources()]

    def of_type(self, name: str) -> list[Diagnosis]:
        """Return the diagnoses with the given error type: E1 to E12, or `unclassified`.

        Raises:
            UnknownName: There is no such type.
        """
        from ragbed.analysis.diagnosis.records import NAMES
        from ragbed.analysis.diagnosis.summary import UNCLASSIFIED

        if name not in (*NAMES, UNCLASSIFIED):
            raise UnknownName("error type", name, [*NAMES, UNCLASSIFIED])
        return [diagnosis for diagnosis in self.diagnoses if name in (diagnosis.types or (UNCLASSIFIED,))]


@takes(CompareSpec)
def compare(spec: CompareSpec) -> ComparisonResult:
    """Compare two runs, or two models in one run, question by question, using paired tests.

    Example:
        >>> good = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=5, out="runs/good")
        >>> poor = ragbed.run("scripted/refuser", "ragbed-mini-en_base", limit=5, out="runs/poor")
        >>> result = ragbed.compare(good, poor)
        >>> result.records()[0]["difference"]
        -1.0
    """
    from ragbed.analysis import comparison
    from ragbed.analysis.gates import as_junit, check_declines
    from ragbed.reporting.comparison_summary import state, state_incomplete, summarise

    margin = None if spec.fail_if_worse is None else float(spec.fail_if_worse)
    min_drop = float(spec.min_drop) if margin is None else margin
    names = [
        str(side if isinstance(side, str) else run_folder(side, name)) for name, side in (("a", spec.a), ("b", spec.b))
    ]
    first, second = comparison.pair_with_given(*(comparison.open_side(name, spec.scorer) for name in names))
    rows = comparison.compare(first, second, min_drop)
    gates = [] if margin is None else check_declines(rows, margin)
    if spec.junit is not None and margin is not None:
        write_file(Path(spec.junit), as_junit(f"{names[1]} against {names[0]}", gates))
    return ComparisonResult(
        first,
        second,
        rows,
        comparison.flips(first, second),
        state(summarise(first, second, rows, min_drop)) + state_incomplete(rows),
        comparison.count_unpaired(first, second),
        gates,
        min_drop,
    )


@takes(RankSpec)
def rank(spec: RankSpec) -> RankingResult:
    """Rank all models in the runs on the questions they have in common, with a paired test for each pair.

    Example:
        >>> models = ["scripted/oracle", "scripted/last-doc", "scripted/refuser"]
        >>> run = ragbed.run(models, "ragbed-mini-en_base", limit=10, testbeds="noise", out="runs/ranked")
        >>> [row["model"] for row in ragbed.rank(run).records()]
        ['scripted/oracle', 'scripted/last-doc', 'scripted/refuser']
    """
    from ragbed.analysis.comparison import open_sides, rank_models

    folders = dict.fromkeys(run_folder(run, "runs") for run in several(spec.runs, "runs"))
    return RankingResult(rank_models([side for folder in folders for side in open_sides(folder, spec.scorer).values()]))


@takes(JudgeSpec)
def judge(spec: JudgeSpec) -> JudgeResult:
    """Have a model judge the responses in a run. Judgements are stored, so an interrupted call can be resumed.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=3, testbeds="noise", out="runs/judged")
        >>> def says_yes(prompt):
        ...     return "VERDICT: yes"
        >>> ragbed.judge(run, says_yes, criteria="correct").records()[0]["rate"]
        1.0
    """
    from ragbed.analysis.judging.labels import check_unlabelled, read_labels
    from ragbed.analysis.judging.validation import CriterionJudgements, write_sample
    from ragbed.api import analysis_tables
    from ragbed.api.function_models import identify_functions
    from ragbed.api.model_calls import CallPlan, open_caller
    from ragbed.runs.display_names import read_names, short_names

    if spec.out is not None:
        check_unlabelled(Path(spec.out))
    people = None if spec.labels is None else read_labels(Path(spec.labels))
    folder, votes = run_folder(spec.run), spec.votes
    planned, judged = [], []
    with open_progress(spec.progress) as shown, open_caller(spec, shown) as caller:
        budget = caller.budget(spec.model)  # shared by all criteria
        for criterion in _read_criteria(spec.criteria):
            scope = replace(_scope(folder, criterion, spec.testbeds), only_unsure=spec.unsure)
            sampling = with_request_options(_judge_sampling(criterion, votes, spec.max_tokens), spec)
            if votes > 1 and sampling.temperature == 0:
                raise UsageError(
                    f"{option('votes', votes)} has no effect at {option('temperature', 0)}: all votes are identical. "
                    "Remove one of them."
                )
            plan = CallPlan(
                scope.folder(sampling, identify_functions(spec.model)),
                scope.settings(),
                scope.cases,
                spec.model,
                sampling,
                votes,
                budget,
            )
            planned.append((scope, plan))
        caller.pay_earlier_calls((plan.folder for _, plan in planned), budget)
        for scope, plan in planned:
            names = [opened.name for opened in caller.run(plan).models]
            part = CriterionJudgements(scope, plan.folder, names, people)
            judged.append(part)
            if any(counts.failed for counts in part.counts):
                _tell_error(plan.folder, names, shown)
    if people is not None:
        people.keep({unit for part in judged for unit in part.units}, {part.scope.criterion.name for part in judged})
    asks = {part.scope.criterion.name: part.scope.criterion.asks for part in judged}
    models, judges = read_names([folder]), short_names({name: None for part in judged for name in part.judges})
    return JudgeResult(
        folder,
        analysis_tables.tabulate_rates([row for part in judged for row in part.rates()], asks, models, judges),
        analysis_tables.tabulate_judge_pairs([row for part in judged for row in part.judge_pairs()], judges),
        asks,
        None
        if people is None
        else analysis_tables.tabulate_agreement(
            [row for part in judged for row in part.validations()], judges, people.left_out
        ),
        None
        if people is None
        else analysis_tables.tabulate_corrected(
            [row for part in judged for row in part.corrected_rates()], models, judges
        ),
        None if people is None else {"used": len(people.agreed), "left_out": dict(people.left_out)},
        None if spec.sample is None or spec.out is None else write_sample(judged, spec.sample, Path(spec.out)),
        sum(counts.failed for part in judged for counts in part.counts),
    )


def _tell_error(folder: Path, models: Sequence[str], shown: Progress) -> None:
    """Show the first error of these models in a folder of model calls, which `open_run` does not open."""
    from ragbed.runs.store import open_store

    with open_store(folder, create=False) as store:
        failed = (one for one in store.results() if one.model in models and one.completion.outcome == "error")
        if (first := next(failed, None)) is not None:
            shown.message(f"First error of {first.model}: {first.completion.error}")


def _read_criteria(criteria: Values) -> list[Criterion]:
    from ragbed.analysis.judging.criteria import CRITERIA

    names = split(criteria, "criteria")
    for name in names:
        if name not in CRITERIA:
            raise UnknownName("criterion", name, CRITERIA)
    return [CRITERIA[name] for name in names]


def _scope(run: Path, criterion: Criterion, testbeds: Values | None) -> Scope:
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.runs.store import open_store

    names = [] if testbeds is None else split(testbeds, "testbeds")
    with open_store(run, create=False):  # do not create a judgements folder if there is no run
        return Scope(run, criterion, frozenset(find_testbed(name).name for name in names))


def _judge_sampling(criterion: Criterion, votes: int, max_tokens: int | str) -> Sampling:
    from ragbed.models.base import Sampling

    temperature = criterion.temperature if votes == 1 else max(criterion.temperature, _VOTING_TEMPERATURE)
    return with_limit(Sampling(temperature=temperature, choices=criterion.words), max_tokens)


@takes(DiagnoseSpec)
def diagnose(spec: DiagnoseSpec) -> DiagnosisResult:
    """Classify the errors in a run and record the evidence. All diagnoses are written to RUN/diagnose/diagnosis.jsonl.

    No model is called.

    Example:
        >>> run = ragbed.run("scripted/refuser", "ragbed-mini-en_base", limit=5, testbeds="noise", out="runs/refused")
        >>> result = ragbed.diagnose(run)
        >>> result.records()[0]["meaning"]
        'false refusal'
    """
    from ragbed.analysis.diagnosis.classify import diagnose_run
    from ragbed.analysis.diagnosis.summary import write_diagnoses
    from ragbed.analysis.run_cells import is_monitored
    from ragbed.runs.engines.local import LocalEngine

    folder = run_folder(spec.run)
    with open_progress(spec.progress), closing(LocalEngine()) as engine:
        found = diagnose_run(folder, engine)
    path = write_diagnoses(folder, found.diagnoses)
    return DiagnosisResult(folder, path, found.tally, found.diagnoses, found.cases, is_monitored(folder))


@takes(PowerSpec)
def power(spec: PowerSpec) -> Table:
    """Compute the sample size, the smallest detectable drop or the power of a comparison.

    With `drop`, each row has the number of questions needed; with `items`, the smallest detectable drop; with both, the
    power.

    Example:
        >>> ragbed.power(drop=0.05, discordance=0.12)[0]["items"]
        398
    """
    drops = (
        [None]
        if spec.drop is None and spec.items is not None
        else _shares(DROPS if spec.drop is None else spec.drop, "drop")
    )
    designs = _designs(spec.discordance, spec.base, spec.alpha)
    plans = [design.plan(share, spec.items, spec.power) for share in drops for design in designs]
    title = f"Detecting a difference in accuracy (alpha {spec.alpha:g}, target power {spec.power:g})"
    return Table(map(asdict, plans), title)


DROPS = "0.03,0.05,0.1"


def _designs(discordance: Values | None, base: Values, alpha: float) -> list[Design]:
    from ragbed.analysis.statistics.planning import paired_design, unpaired_design

    shares = [] if discordance is None else _shares(discordance, "discordance")
    paired = [paired_design(share, alpha=alpha) for share in shares] or [
        paired_design(times=n, alpha=alpha) for n in (2, 3)
    ]
    return [*paired, *(unpaired_design(share, alpha) for share in _shares(base, "base"))]


def _shares(values: Values, parameter: str) -> list[float]:
    shares = [float(parse_ratio(part, parameter)) for part in split(values, parameter)]
    if 0 in shares:
        raise UsageError(f"{option(parameter, 0)} is out of range. Use a fraction greater than 0, e.g. 0.05 or 5%.")
    return shares
