"""`ragbed diagnose`: why replies are wrong, with evidence, and whether asking again confirms it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options
from ragbed.cli.asking import AskingOptions, asking_options, open_asked, read_budget
from ragbed.cli.engine import open_chosen
from ragbed.cli.status import run_argument

if TYPE_CHECKING:
    from ragbed.analysis.diagnosis.records import Diagnosis
    from ragbed.models.base import Sampling
    from ragbed.runs.budget import Budget
    from ragbed.runs.execution import Job
    from ragbed.runs.store import StoredResult
    from ragbed.schema import Case


@click.command()
@run_argument
@options.option("--show", metavar="TYPE", help="Print errors of a type, E1 to E13, or 'unclassified', with evidence.")
@options.option("--intervene", is_flag=True, help="Ask again without the cause: confirms types. Asks the run's models.")
@options.option("--knock-out", is_flag=True, help="Ask again without each document: what the wrong answer hangs on.")
@asking_options
@options.json_option
@options.config_option
def diagnose(
    run: Path, show: str | None, intervene: bool, knock_out: bool, json: bool, **chosen: Unpack[AskingOptions]
) -> None:
    """Say why replies are wrong.

    Every trial that went wrong gets the types that fit, with the sentence, cue or difference that shows it, and the
    source of the wrong answer. Errors that fit no type are counted as unclassified. Everything is written to
    RUN/diagnose/diagnosis.jsonl. No model is asked unless you say --intervene or --knock-out; these are runs of their
    own in RUN/diagnose, which go on where they were when typed again.

    \b
    Types:
      E1 long-distance information   E2 evidence uncertainty     E3 concept confusion
      E4 merging                     E5 ignoring                 E6 misalignment
      E7 E1 to E3 in integration     E8 not in mandated words    E9 over-trust of false documents
      E10 over-refusal               E11 metric false negative   E12 data error
      E13 generation failure

    \b
    Examples:
      ragbed diagnose runs/qwen
      ragbed diagnose runs/qwen --show E3
      ragbed diagnose runs/qwen --intervene --knock-out --budget 2
    """
    from ragbed.analysis.diagnosis.classify import diagnose_run, write_diagnoses
    from ragbed.analysis.diagnosis.reruns import confirm, hang
    from ragbed.cli.console import print_json, say
    from ragbed.cli.diagnosed import print_diagnoses, print_summary, summary_json
    from ragbed.runs.display_names import read_names
    from ragbed.text import counted

    _check_type(show)
    found = diagnose_run(run, open_chosen(chosen))
    failed = 0
    if intervene or knock_out:
        failed = _ask_again(run, found.diagnoses, found.cases, intervene, knock_out, chosen)
    diagnoses = _with_replies(run, "intervene", found.diagnoses, found.cases, confirm)
    diagnoses = _with_replies(run, "knock-out", diagnoses, found.cases, hang)
    path = write_diagnoses(run, diagnoses)
    if show is None:
        print_summary(found.tally, diagnoses, read_names([run]), to_stderr=json)
    else:
        print_diagnoses(diagnoses, found.cases, read_names([run]), show, to_stderr=json)
    say(f"Every diagnosis is in {path}")
    if json:
        print_json({"run": str(run), "file": str(path)} | summary_json(found.tally, diagnoses))
    if failed:
        say(f"Incomplete: {counted(failed, 'call')} ended in an error. Run the same command again to retry.")
        raise click.exceptions.Exit(3)


def _check_type(show: str | None) -> None:
    from ragbed.analysis.diagnosis.records import NAMES
    from ragbed.analysis.diagnosis.summary import UNCLASSIFIED
    from ragbed.errors import UnknownName

    if show is not None and show not in (*NAMES, UNCLASSIFIED):
        raise UnknownName("error type", show, [*NAMES, UNCLASSIFIED])


def _ask_again(
    run: Path,
    diagnoses: Iterable[Diagnosis],
    cases: Mapping[str, Case],
    intervene: bool,
    knock_out: bool,
    chosen: AskingOptions,
) -> int:
    """Asks every model about its own errors; gives how many calls failed."""
    from ragbed.analysis.diagnosis.reruns import count_failed, interventions, knock_outs, sampling_of
    from ragbed.cli.console import say
    from ragbed.models.base import Sampling
    from ragbed.runs.display_names import read_names
    from ragbed.runs.scoring import open_scored
    from ragbed.text import counted

    with open_scored(run) as store:
        told = sampling_of(store)
        models = [name for name, _ in store.models().values()]
    sampling = Sampling(
        temperature=float(told["temperature"]), top_p=float(told["top_p"]), max_tokens=int(told["max_tokens"])
    )
    budget = read_budget(models, chosen)  # one for all
    wanted = {"intervene": interventions} if intervene else {}
    wanted |= {"knock-out": knock_outs} if knock_out else {}
    failed, names = 0, read_names([run])
    for what, make in wanted.items():
        for model in models:
            again = list(make([one for one in diagnoses if one.model == model], cases))
            say(f"{what}: rerun of {counted(len(again), 'case')} with {names[model]}; finished ones are not run again.")
            if again:
                job = _job(run, what, model, again, sampling, told, budget, chosen)
                _run(job, names[model])
                failed += count_failed(job.folder)
    return failed


def _job(
    run: Path,
    what: str,
    model: str,
    cases: list[Case],
    sampling: Sampling,
    told: dict[str, str],
    budget: Budget | None,
    chosen: AskingOptions,
) -> Job:
    from ragbed.analysis.diagnosis.reruns import folder_of
    from ragbed.cli.console import say
    from ragbed.environment import cache_file
    from ragbed.runs.execution import Job

    return Job(
        folder=folder_of(run, what, model),
        settings={"asked again": what} | told,
        cases=lambda: cases,
        models=[open_asked(model, sampling, chosen, open_chosen(chosen))],
        grows=True,
        cache=None if chosen["no_cache"] else cache_file(),
        budget=budget,
        tell=say,
    )


def _run(job: Job, model: str) -> None:
    from ragbed.cli.console import say
    from ragbed.cli.run_progress import RunProgress
    from ragbed.errors import Stopped
    from ragbed.runs.execution import run as run_job

    try:
        with RunProgress() as progress:
            run_job(job, lambda _, done: progress.watch(model, done))
    except (KeyboardInterrupt, Stopped):
        say("Stopped. Every response is kept; run the same command again to resume.")
        raise


def _with_replies(
    run: Path,
    what: str,
    diagnoses: list[Diagnosis],
    cases: Mapping[str, Case],
    take_in: Callable[[Diagnosis, Case, Mapping[str, StoredResult]], Diagnosis],
) -> list[Diagnosis]:
    """The diagnoses with what asking again has told so far, now or in an earlier session."""
    from ragbed.analysis.diagnosis.reruns import folder_of, read_replies
    from ragbed.runs.database import NAME

    folders = {model: folder_of(run, what, model) for model in {one.model for one in diagnoses}}
    told = {model: read_replies(folder) for model, folder in folders.items() if (folder / NAME).is_file()}
    return [take_in(one, cases[one.case], told[one.model]) if one.model in told else one for one in diagnoses]
