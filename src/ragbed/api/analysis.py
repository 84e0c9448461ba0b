"""Compare, judge and diagnose runs; plan sample sizes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ragbed.api.analysis_results import (
    ComparisonResult,
    DiagnosisResult,
    JudgeResult,
)
from ragbed.api.calling import open_engine, with_request_options
from ragbed.api.layout import Values, split
from ragbed.api.options import RunLike, local_path, run_folder, with_defaults
from ragbed.api.parameters import check_range, checked, read_share
from ragbed.api.progress import Progress, open_progress
from ragbed.api.request_options import check_max_tokens, with_limit
from ragbed.api.results import Records
from ragbed.api.spec import CallKeywords, EngineKeywords
from ragbed.errors import UnknownName, UnusedOption, UsageError
from ragbed.io.jsonl import write_file
from ragbed.testbeds import find_testbed
from ragbed.testbeds.settings import parse_ratio

if TYPE_CHECKING:
    from ragbed.analysis.judging.criteria import Criterion
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.analysis.statistics.planning import Design
    from ragbed.api.objects import ModelLike
    from ragbed.models.base import Sampling
else:
    # Do not import the real `ModelLike` at run time: this would take longer than scoring a small run, and `read_models`
    # checks the models anyway.
    ModelLike = object

_VOTING_TEMPERATURE = 0.7  # Sampling temperature for a judge's votes; at 0, all votes would be identical.


@checked
def compare(
    a: RunLike,
    b: RunLike,
    *,
    scorer: str = "robust",
    min_drop: float | str = 0.03,
    fail_if_worse: float | str | None = None,
    junit: str | Path | None = None,
) -> ComparisonResult:
    """Compare two runs, or two models in one run, question by question, using paired tests.

    Args:
        a: The baseline: a run, its folder, or `RUN:MODEL` for one model in a run with several models.
        b: The run to compare with the baseline.
        scorer: Scorer, as in `Run.tables`.
        min_drop: Smallest drop in the main score that is reported as a decline, e.g. 0.03 or "3%".
        fail_if_worse: Margin of a gate that fails if B is significantly worse than A by more than this value.
            The margin also replaces `min_drop`.
        junit: File to write the gate results to, as JUnit XML.

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

    if junit is not None and fail_if_worse is None:
        raise UnusedOption("junit", "no gate is set. Set one, e.g. fail_if_worse=0.05")
    margin = None if fail_if_worse is None else read_share("fail_if_worse", fail_if_worse)
    min_drop = read_share("min_drop", min_drop) if margin is None else margin
    names = [str(side if isinstance(side, str) else run_folder(side)) for side in (a, b)]
    first, second = comparison.pair_with_given(*(comparison.open_side(name, scorer) for name in names))
    rows = comparison.compare(first, second, min_drop)
    gates = [] if margin is None else check_declines(rows, margin)
    if junit is not None:
        write_file(local_path(junit), as_junit(f"{names[1]} against {names[0]}", gates))
    return ComparisonResult(
        first,
        second,
        rows,
        comparison.flips(first, second),
        state(summarise(first, second, rows, min_drop)) + state_incomplete(rows),
        comparison.count_unpaired(first, second),
        gates,
    )


@checked
def judge(
    run: RunLike,
    model: ModelLike,
    *,
    criteria: Values = "refusal,flag,correct",
    testbeds: Values | None = None,
    votes: int = 1,
    max_tokens: int | str = "auto",
    labels: str | Path | None = None,
    sample: int | None = None,
    out: str | Path | None = None,
    unsure: bool = False,
    progress: bool | Progress = True,
    **calls: Unpack[CallKeywords],
) -> JudgeResult:
    """Have a model judge the responses in a run. Judgements are stored, so an interrupted call can be resumed.

    Args:
        run: The run to judge.
        model: Judge model, such as `openai/gpt-4o`, or a function, as in `run`. If there are several judges, their
            agreement is reported.
        criteria: Criteria to apply: any of refusal, flag, correct, sufficient, supported, code.rej_star and
            code.ed_star.
        testbeds: Testbeds to include; by default, those that a criterion applies to.
        votes: Number of judgements per response; the majority decides.
        max_tokens: Maximum number of tokens per judgement.
        labels: File with human labels, used to validate the judge and to correct its rates for bias.
        sample: Write this many responses per criterion to `out`, for people to label.
        out: File to write the sample to.
        unsure: Judge only responses whose rule-based verdict is `unsure`.
        progress: Show progress, or an object that receives it.
        calls: Options for model calls, as in `run`.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=3, testbeds="noise", out="runs/judged")
        >>> def says_yes(prompt):
        ...     return "VERDICT: yes"
        >>> ragbed.judge(run, says_yes, criteria="correct").records()[0]["rate"]
        1.0
    """
    from ragbed.analysis.judging.labels import check_unlabelled, read_labels
    from ragbed.analysis.judging.validation import CriterionJudgements, write_sample
    from ragbed.api.function_models import identify_functions
    from ragbed.api.model_calls import CallPlan, open_caller

    if (sample is None) != (out is None):
        raise UsageError("sample=N and out=FILE must be given together.")
    check_range("votes", votes, 1)
    check_range("sample", sample, 2)
    if out is not None:
        check_unlabelled(local_path(out))
    people = None if labels is None else read_labels(local_path(labels))
    folder = run_folder(run)
    planned, judged = [], []
    with open_progress(progress) as shown, open_caller(with_defaults(calls), shown) as caller:
        budget = caller.budget(model)  # shared by all criteria
        for criterion in _read_criteria(criteria):
            scope = replace(_scope(folder, criterion, testbeds), only_unsure=unsure)
            sampling = with_request_options(_judge_sampling(criterion, votes, max_tokens), caller.options)
            if votes > 1 and sampling.temperature == 0:
                raise UsageError(
                    f"votes={votes} has no effect at temperature=0: all votes are identical. Remove one of them."
                )
            plan = CallPlan(
                scope.folder(sampling, identify_functions(model)),
                scope.settings(),
                scope.cases,
                model,
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
    return JudgeResult(
        folder,
        Records((row for part in judged for row in part.rates()), f"Judged rates of {folder}"),
        Records((row for part in judged for row in part.judge_pairs()), "Agreement between judges"),
        {part.scope.criterion.name: part.scope.criterion.asks for part in judged},
        None if people is None else Records(row for part in judged for row in part.validations()),
        None if people is None else Records(row for part in judged for row in part.corrected_rates()),
        None if people is None else {"used": len(people.agreed), "left_out": dict(people.left_out)},
        None if sample is None or out is None else write_sample(judged, sample, local_path(out)),
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
    return with_limit(Sampling(temperature=temperature, choices=criterion.words), check_max_tokens(max_tokens))


@checked
def diagnose(
    run: RunLike,
    *,
    progress: bool | Progress = True,
    **engine: Unpack[EngineKeywords],
) -> DiagnosisResult:
    """Classify the errors in a run and record the evidence. All diagnoses are written to RUN/diagnose/diagnosis.jsonl.

    No model is called.

    Args:
        run: The run to diagnose.
        progress: Show progress, or an object that receives it.
        engine: Engine options, as in `run`.

    Example:
        >>> run = ragbed.run("scripted/refuser", "ragbed-mini-en_base", limit=5, testbeds="noise", out="runs/refused")
        >>> result = ragbed.diagnose(run)
        >>> result.records()[0]["meaning"]
        'false refusal'
    """
    from ragbed.analysis.diagnosis.classify import diagnose_run
    from ragbed.analysis.diagnosis.summary import write_diagnoses
    from ragbed.analysis.run_cells import is_monitored

    folder = run_folder(run)
    with open_progress(progress) as shown, closing(open_engine(with_defaults(engine), shown.message)) as workers:
        found = diagnose_run(folder, workers)
    path = write_diagnoses(folder, found.diagnoses)
    return DiagnosisResult(folder, path, found.tally, found.diagnoses, found.cases, is_monitored(folder))


@checked
def power(
    *,
    drop: Values | None = None,
    items: int | None = None,
    discordance: Values | None = None,
    base: Values = "0.95,0.6",
    power: float = 0.8,
    alpha: float = 0.05,
) -> Records:
    """Compute the sample size, the smallest detectable drop or the power of a comparison.

    With `drop`, each row has the number of questions needed; with `items`, the smallest detectable drop; with both, the
    power.

    Args:
        drop: Drops in accuracy to detect, e.g. 0.05 or "5%"; by default, 0.03, 0.05 and 0.1.
        items: Number of questions to compare.
        discordance: Assumed fractions of questions whose verdict changes; by default, two and three times the drop.
        base: Assumed accuracy before the drop, for unpaired designs.
        power: Probability of detecting the drop.
        alpha: Significance level of the two-sided test.

    Example:
        >>> ragbed.power(drop=0.05, discordance=0.12)[0]["items"]
        398
    """
    check_range("items", items, 2, 100_000)
    check_range("power", power, 0.5, 0.999)
    check_range("alpha", alpha, 0.0001, 0.5)
    drops = [None] if drop is None and items is not None else _shares(DROPS if drop is None else drop, "drop")
    plans = [design.plan(share, items, power) for share in drops for design in _designs(discordance, base, alpha)]
    return Records(map(asdict, plans), f"Detecting a difference in accuracy (alpha {alpha:g}, target power {power:g})")


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
        raise UsageError(f"{parameter}=0 is out of range. Use a fraction greater than 0, e.g. 0.05 or 5%.")
    return shares
