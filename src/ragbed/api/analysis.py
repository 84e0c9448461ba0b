"""Compare, judge and diagnose runs; plan sample sizes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragbed.api.analysis_results import (
    ComparisonResult,
    DiagnosisResult,
    JudgeResult,
)
from ragbed.api.calling import open_engine, with_request_options
from ragbed.api.job_specs import CompareSpec, DiagnoseSpec, JudgeSpec, PowerSpec
from ragbed.api.layout import split
from ragbed.api.places import run_folder
from ragbed.api.progress import Progress, open_progress
from ragbed.api.request_options import with_limit
from ragbed.api.results import Records
from ragbed.api.specification import Values, takes
from ragbed.errors import UnknownName, UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.testbeds import find_testbed
from ragbed.testbeds.settings import parse_ratio

if TYPE_CHECKING:
    from ragbed.analysis.judging.criteria import Criterion
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.analysis.statistics.planning import Design
    from ragbed.models.base import Sampling

_VOTING_TEMPERATURE = 0.7  # Sampling temperature for a judge's votes; at 0, all votes would be identical.


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
    )


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
    from ragbed.analysis.judging.results import CriterionJudgements, write_sample
    from ragbed.api.function_models import identify_functions
    from ragbed.api.model_calls import CallPlan, open_caller

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
            settings = {"criterion": criterion.name, "prompt": criterion.prompt}
            plan = CallPlan(
                scope.folder(sampling, identify_functions(spec.model)),
                settings,
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
            if any(cell.failed for cell in part.cells):
                _tell_error(plan.folder, names, shown)
    if people is not None:
        people.keep({unit for part in judged for unit in part.units}, {part.scope.criterion.name for part in judged})
    return JudgeResult(
        folder,
        Records((row for part in judged for row in part.rates()), f"Judged rates of {folder}"),
        Records((row for part in judged for row in part.judge_pairs()), "Agreement between judges"),
        {part.scope.criterion.name: part.scope.criterion.asks for part in judged},
        None if people is None else Records(row for part in judged for row in part.validations()),
        None if people is None else Records(row for part in judged for row in part.corrected_rates()),
        None if people is None else {"used": len(people.agreed), "left_out": dict(people.left_out)},
        None if spec.sample is None or spec.out is None else write_sample(judged, spec.sample, Path(spec.out)),
        sum(cell.failed for part in judged for cell in part.cells),
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
    from ragbed.analysis.diagnosis.diagnosis_file import write_diagnoses
    from ragbed.analysis.run_cells import is_monitored

    folder = run_folder(spec.run)
    with open_progress(spec.progress) as shown, closing(open_engine(spec, shown.message)) as workers:
        found = diagnose_run(folder, workers)
    path = write_diagnoses(folder, found.diagnoses)
    return DiagnosisResult(folder, path, found.tally, found.diagnoses, found.cases, is_monitored(folder))


@takes(PowerSpec)
def power(spec: PowerSpec) -> Records:
    """Compute the sample size, the smallest detectable drop or the power of a comparison.

    With `drop`, each row has the number of questions needed; with `items`, the smallest detectable drop; with both, the
    power.

    Example:
        >>> ragbed.power(drop=0.05, discordance=0.12)[0]["items"]
        375
    """
    from ragbed.analysis.statistics.planning import plan_drop, plan_items, plan_power

    designs = _designs(spec.discordance, spec.base, spec.alpha)
    drops = _shares(DROPS if spec.drop is None else spec.drop, "drop")
    if spec.items is None:
        plans = [plan_items(design, share, spec.power) for share in drops for design in designs]
    elif spec.drop is None:
        plans = [plan_drop(design, spec.items, spec.power) for design in designs]
    else:
        plans = [plan_power(design, spec.items, share) for share in drops for design in designs]
    title = f"Detecting a difference in accuracy (alpha {spec.alpha:g}, target power {spec.power:g})"
    return Records(map(asdict, plans), title)


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
