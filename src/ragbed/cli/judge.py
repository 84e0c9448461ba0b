"""`ragbed judge`: a model says of stored replies what no rule can."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options
from ragbed.cli.asking import AskingOptions, asking_options, open_reader, read_budget
from ragbed.cli.engine import open_chosen
from ragbed.cli.status import run_argument

if TYPE_CHECKING:
    from ragbed.analysis.judging.criteria import Criterion
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.models.base import Sampling
    from ragbed.runs.budget import Budget
    from ragbed.runs.execution import Job

_VOTING_TEMPERATURE = 0.7
"""At zero all votes would be one."""


@click.command()
@run_argument
@options.option("--model", "-m", multiple=True, required=True, help="Who judges, as openai/gpt-4o; two are compared.")
@options.option(
    "--criteria",
    metavar="NAMES",
    default="refusal,flag,correct",
    help="Of refusal, flag, correct, sufficient, supported, code.rej_star, code.ed_star.",
)
@options.option("--testbeds", metavar="NAMES", help="Judge these. Default: where a criterion belongs.")
@options.option("--votes", type=click.IntRange(1), default=1, help="Ask so often; most votes decide.")
@options.option("--max-tokens", type=click.IntRange(1), default=256, help="Of a judge's reply.")
@options.option("--labels", type=options.LocalPath(), metavar="FILE", help="What people say: corrects the judge.")
@options.option(
    "--sample", type=click.IntRange(2), metavar="N", help="Write N replies per criterion for people to label, to -o."
)
@options.option("--out", "-o", type=options.LocalPath(), metavar="FILE", help="For --sample.")
@asking_options
@options.json_option
@options.config_option
def judge(
    run: Path,
    model: tuple[str, ...],
    criteria: str,
    testbeds: str | None,
    votes: int,
    max_tokens: int,
    labels: Path | None,
    sample: int | None,
    out: Path | None,
    json: bool,
    **chosen: Unpack[AskingOptions],
) -> None:
    """Have a model judge the replies of a run.

    A judge is shown the question and the reply, fenced so that a reply cannot speak to it, and answers with one word
    from a closed list; anything else counts as unparsed. Judgements are kept in the run's folder: type the command
    again to go on, or after the run itself went on.

    A judge is only as good as its agreement with people. --sample draws replies to be labelled (fill in "label" and
    "rater"), --labels reads them back: agreement by language, and rates corrected by them. Without labels a judge's
    rates are marked as uncorrected.

    \b
    Criteria:
      refusal     declines to answer                   (Rej*; rejection)
      flag        says that the documents are wrong    (ED*; counterfactual)
      correct     gives the right answer, in any words
      sufficient  the documents suffice to answer
      supported   every claim is backed by a document; needs no gold
      code.rej_star, code.ed_star   the paper's own judges, prompts and parsing as in the original code

    \b
    Examples:
      ragbed judge runs/qwen -m openai/gpt-4o
      ragbed judge runs/qwen -m openai/gpt-4o -m anthropic/claude-sonnet-4-5 --criteria refusal --votes 3
      ragbed judge runs/qwen -m openai/gpt-4o --sample 200 -o labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --labels labels.jsonl
    """
    from ragbed.analysis.judging.labels import read_labels
    from ragbed.cli.console import print_json
    from ragbed.cli.judged import Judging, print_judged, write_sample
    from ragbed.errors import UsageError

    if (sample is None) != (out is None):
        raise UsageError("--sample N and -o FILE go together.")
    people = None if labels is None else read_labels(labels)
    budget = read_budget(model, chosen)  # one for all criteria
    judged = []
    for criterion in _read_criteria(criteria):
        scope = _scope(run, criterion, testbeds)
        job = _job(scope, _sampling(criterion, votes, max_tokens), model, votes, budget, chosen)
        _ask(job)
        judged.append(Judging(scope, job.folder, [asked.name for asked in job.models], people))
    summary = print_judged(judged, people, to_stderr=json)
    if sample is not None and out is not None:
        write_sample(judged, sample, out)
    if json:
        print_json({"run": str(run)} | summary)
    _end_by(sum(cell.failed for one in judged for cell in one.cells))


def _end_by(failed: int) -> None:
    from ragbed.cli.console import say

    if failed:
        say(f"Incomplete: {failed} judgements failed; the same command asks for them again.")
        raise click.exceptions.Exit(3)


def _sampling(criterion: Criterion, votes: int, max_tokens: int) -> Sampling:
    from ragbed.models.base import Sampling

    warmth = criterion.temperature if votes == 1 else max(criterion.temperature, _VOTING_TEMPERATURE)
    return Sampling(temperature=warmth, max_tokens=max_tokens, choices=criterion.words)


def _read_criteria(named: str) -> list[Criterion]:
    from ragbed.analysis.judging.criteria import CRITERIA
    from ragbed.errors import UnknownName

    names = [name.strip() for name in named.split(",") if name.strip()]
    for name in names:
        if name not in CRITERIA:
            raise UnknownName("criterion", name, CRITERIA)
    return [CRITERIA[name] for name in dict.fromkeys(names)]


def _scope(run: Path, criterion: Criterion, testbeds: str | None) -> Scope:
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.runs.store import open_store
    from ragbed.testbeds import find_testbed

    names = [find_testbed(name.strip()).name for name in (testbeds or "").split(",") if name.strip()]
    with open_store(run, create=False):  # where there is no run, no folder of judgements is made
        return Scope(run, criterion, frozenset(names))


def _job(
    scope: Scope, sampling: Sampling, models: Sequence[str], votes: int, budget: Budget | None, chosen: AskingOptions
) -> Job:
    from ragbed.cli.console import say
    from ragbed.environment import cache_file
    from ragbed.runs.execution import Job

    return Job(
        folder=scope.folder(sampling),
        settings={"criterion": scope.criterion.name, "prompt": scope.criterion.prompt},
        cases=scope.cases,
        models=[open_reader(name, sampling, chosen, open_chosen(chosen)) for name in dict.fromkeys(models)],
        repeats=votes,
        grows=True,
        cache=None if chosen["no_cache"] else cache_file(),
        budget=budget,
        tell=say,
    )


def _ask(job: Job) -> None:
    from ragbed.cli.console import say
    from ragbed.cli.run_progress import RunProgress
    from ragbed.errors import Stopped
    from ragbed.runs.display_names import short_names
    from ragbed.runs.execution import run as run_job

    try:
        with RunProgress() as progress:
            names = short_names([model.name for model in job.models])
            run_job(job, lambda judge, done: progress.watch(names[judge], done))
    except (KeyboardInterrupt, Stopped):
        say("Stopped. Every judgement is kept; run the same command again to resume.")
        raise
