"""`ragbed judge`: have a model judge stored responses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.asking import asking_options
from ragbed.cli.console import print_json, print_tables, say
from ragbed.cli.keywords import call_keywords
from ragbed.cli.status import run_argument
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.analysis import JudgeResult
    from ragbed.api.spec import CallKeywords


@help_groups.command()
@run_argument
@options.option(
    "--model",
    "-m",
    multiple=True,
    required=True,
    help="Judge model, e.g. openai/gpt-4o. Repeatable; several judges are compared with each other.",
)
@options.option(
    "--criteria",
    metavar="NAMES",
    default="refusal,flag,correct",
    help="Criteria to judge by: refusal, flag, correct, sufficient, supported, code.rej_star or code.ed_star.",
)
@options.option(
    "--testbeds",
    metavar="NAMES",
    show_default="those that the criterion applies to",
    help="Judge only responses in these testbeds.",
)
@options.option(
    "--votes", type=click.IntRange(1), default=1, help="Number of judgements per response; the majority decides."
)
@options.option("--max-tokens", metavar="N|auto", default="auto", help="Maximum number of tokens per judgement.")
@options.option(
    "--labels",
    type=options.LocalPath(),
    metavar="FILE",
    help="File with human labels, used to validate the judge and to correct the rates computed from its verdicts.",
)
@options.option(
    "--sample",
    type=click.IntRange(2),
    metavar="N",
    help="Number of responses per criterion to write to --out, for human labelling.",
)
@options.option("--out", "-o", type=options.LocalPath(), metavar="FILE", help="Output file for --sample.")
@options.option("--unsure", is_flag=True, help="Judge only responses with the verdict `unsure` by the robust scorer.")
@asking_options
@options.json_option
@options.config_option
def judge(
    run: Path,
    model: tuple[str, ...],
    criteria: str,
    testbeds: str | None,
    votes: int,
    max_tokens: str,
    labels: Path | None,
    sample: int | None,
    out: Path | None,
    unsure: bool,
    json: bool,
    **chosen: Unpack[CallKeywords],
) -> None:
    """Use a model to judge the responses in a run.

    The judge sees the question and the response, both delimited so that a response cannot give the judge instructions.
    It answers with one word from a closed list; anything else counts as unparsed. Judgements are stored in the run's
    folder. Rerun the command to resume judging or to judge new responses.

    To validate a judge, measure its agreement with human labels. --sample draws responses to label (fill in
    "label" and "rater"), and --labels reads the labels, reports the agreement by language and corrects the rates.
    Without labels, no rate is corrected.

    \b
    Criteria:
      refusal     declines to answer                   (Rej*; rejection)
      flag        says that the documents are wrong    (ED*; counterfactual)
      correct     gives the right answer, in any words
      sufficient  the documents are sufficient to answer
      supported   every claim is backed by a document; needs no gold answer
      code.rej_star, code.ed_star   the paper's own judges, with the original code's prompts and parsing

    \b
    Examples:
      ragbed judge runs/qwen -m openai/gpt-4o
      ragbed judge runs/qwen -m openai/gpt-4o -m anthropic/claude-sonnet-4-5 --criteria refusal --votes 3
      ragbed judge runs/qwen -m openai/gpt-4o --sample 200 -o runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --labels runs/qwen/labels.jsonl
      ragbed judge runs/qwen -m openai/gpt-4o --criteria correct --unsure
    """
    from ragbed.api import analysis
    from ragbed.cli.console_progress import ConsoleProgress, resumable

    stopped = "Stopped. All judgements are kept; rerun the same command to resume."
    with ConsoleProgress() as progress, resumable(stopped):
        result = analysis.judge(
            run,
            model,
            criteria=criteria,
            testbeds=testbeds,
            votes=votes,
            max_tokens=max_tokens,
            labels=labels,
            sample=sample,
            out=out,
            unsure=unsure,
            progress=progress,
            **call_keywords(chosen),
        )
    print_tables(result.tables(), to_stderr=json)
    if result.sample is not None:
        written = counted(result.sample, "response")
        say(
            f"{written} written to {out}. Fill in the fields label (true or false) and rater, then pass the file "
            "to --labels."
        )
    if json:
        print_json(_summary(result))
    if result.failed:
        say(
            f"Incomplete: {counted(result.failed, 'judgement')} failed. Rerun the command to retry those that ended in "
            "an error. If some were truncated, use a larger --max-tokens. If some were filtered, use another judge."
        )
        raise click.exceptions.Exit(3)


def _summary(result: JudgeResult) -> dict[str, object]:
    summary: dict[str, object] = {"run": str(result.run), "cells": list(result.cells)}
    if result.validations is not None:
        summary |= {"passports": list(result.validations), "labels": result.labels}
        summary |= {"corrected": list(result.corrected or ())}
    return summary | {"judges": list(result.judge_pairs)}
