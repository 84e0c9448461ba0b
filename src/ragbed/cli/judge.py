"""`ragbed judge`: have a model judge stored responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ragbed.cli.console import format_interval, print_json, print_table, say
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.analysis_results import JudgeResult
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
    _print(result, to_stderr=json)
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


def _print(result: JudgeResult, *, to_stderr: bool) -> None:
    from ragbed.runs.display_names import read_names, short_names

    models, judges = read_names([result.run]), short_names(dict.fromkeys(cell["judge"] for cell in result.cells))
    for criterion, asks in result.criteria.items():
        judged = [cell for cell in result.cells if cell["criterion"] == criterion]
        if not judged:
            say(f"{criterion}: the run has no responses to judge by this criterion.")
        for judge in dict.fromkeys(cell["judge"] for cell in judged):
            cells = [cell for cell in judged if cell["judge"] == judge]
            name = judges[judge]
            outcomes = ["errors", *(one for one in ("truncated", "filtered") if any(cell[one] for cell in cells))]
            columns = (*_CONDITION, "n", *outcomes, "undecided", "yes %", "CR %")
            rows = [_rate_row(cell, models, outcomes) for cell in cells]
            print_table(f"{criterion} ({asks}), judged by {name}", columns, rows, to_stderr=to_stderr)
            if unparsed := sum(cell["unparsed"] for cell in cells):
                n = sum(cell["asked"] for cell in cells)
                say(
                    f"{criterion}: {unparsed:,} of {n:,} judgements are unparsed, because {name} gave no clear verdict."
                )
    if result.validations is not None and result.labels is not None:
        from ragbed.analysis.judging.validation import MIN_LABELS, TRUSTED

        title = (
            f"Agreement with labels (trusted: at least {MIN_LABELS} labels and a lower bound of kappa of at least "
            f"{TRUSTED})"
        )
        if rows := [_validation_row(row, judges) for row in result.validations]:
            print_table(title, _VALIDATION_COLUMNS, rows, to_stderr=to_stderr)
        _print_corrected(result, models, judges, to_stderr=to_stderr)
        for reason, count in result.labels["left_out"].items():
            say(f"Excluded {counted(count, 'label')}: {reason}.")
    if result.judge_pairs:
        rows = [
            (row["criterion"], " and ".join(map(judges.__getitem__, row["judges"])), *map(row.get, _PAIR_COUNTS))
            for row in result.judge_pairs
        ]
        columns = ("criterion", "judges", "judged by both", "decided", "agreed")
        print_table("Agreement between judges", columns, rows, to_stderr=to_stderr)


def _print_corrected(
    result: JudgeResult, models: Mapping[str, str], judges: Mapping[str, str], *, to_stderr: bool
) -> None:
    from ragbed.analysis.judging.validation import MIN_QUESTIONS

    rows = []
    for row in result.corrected or ():
        bounds = [row["corrected"], row["low"], row["high"]]
        corrected = f"at least {MIN_QUESTIONS} labelled questions are required"
        if row["corrected"] is not None:
            corrected = format_interval(bounds, 100)
        place = (judges[row["judge"]], row["criterion"], models[row["model"]], row["data"], row["testbed"], row["lang"])
        rows.append((*place, row["n"], f"{100 * row['rate']:.1f}", row["questions"], corrected))
    columns = ("judge", "criterion", "model", "data", "testbed", "lang", "n", "yes %", "labelled", "corrected %")
    if rows:
        print_table("Rates corrected by labels, all conditions together", columns, rows, to_stderr=to_stderr)


_CONDITION = ("model", "data", "testbed", "lang", "noise")
_AGREEMENTS = ("labels", "raters", "undecided", "agreed %", "kappa", "AC1", "sensitivity %", "specificity %", "trusted")
_VALIDATION_COLUMNS = ("judge", "criterion", "lang", *_AGREEMENTS)
_PAIR_COUNTS = ("judged", "decided", "agreed")


def _rate_row(cell: Mapping[str, Any], models: Mapping[str, str], outcomes: Sequence[str]) -> tuple[object, ...]:
    arm = "" if cell["arm"] == "related" else f" ({cell['arm']}, {cell['k']} documents)"
    true = f", {cell['correct']:.3g} true" if cell["correct"] else ""
    has_then = cell["then"] is not None and cell["yes"]
    return (
        models[cell["model"]],
        cell["data"],
        f"{cell['testbed']}{arm}{true}",
        cell["lang"],
        "–" if cell["noise"] is None else f"{cell['noise']:.3g}",
        cell["asked"],
        *(cell[name] for name in outcomes),
        sum(cell[name] for name in ("unparsed", "failed", "too_long", "pending")),
        "–" if cell["rate"] is None else f"{100 * cell['rate']:.1f}",
        f"{100 * cell['then'] / cell['yes']:.1f}" if has_then else "–",
    )


def _validation_row(row: Mapping[str, Any], judges: Mapping[str, str]) -> tuple[object, ...]:
    scales = {"agreed": 100, "kappa": 1, "ac1": 1, "sensitivity": 100, "specificity": 100}
    shares = [format_interval(row[name], scale) for name, scale in scales.items()]
    trusted = "yes" if row["trusted"] else f"no: {row['distrust']}"
    counts = (row["n"], row["raters"], row["undecided"])
    return (judges[row["judge"]], row["criterion"], row["lang"], *counts, *shares, trusted)
