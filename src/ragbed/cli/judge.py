"""`ragbed judge`: have a model judge stored responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_tables, say
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.analysis import JudgeResult
    from ragbed.api.job_specs import JudgeSpec


@command()
def judge(spec: JudgeSpec, *, json: Json = False) -> None:
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
    from ragbed.cli.console_progress import resumable

    with resumable("Stopped. All judgements are kept; rerun the same command to resume."):
        result = analysis.judge.start(spec)
    print_tables(result.tables(), to_stderr=json)
    if result.sample is not None:
        written = counted(result.sample, "response")
        say(
            f"{written} written to {spec.out}. Fill in the fields label (true or false) and rater, then pass the file "
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
