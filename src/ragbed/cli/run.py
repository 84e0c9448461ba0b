"""`ragbed run`: evaluate models on every test case, score the responses and print the tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Unpack

import click
from msgspec.structs import replace

from ragbed.cli import help_groups, options
from ragbed.cli.asking import asking_options
from ragbed.cli.console import print_json, quoted, say
from ragbed.cli.gates import junit_option, say_unchecked, tell_run_gates
from ragbed.cli.keywords import call_keywords, call_with_given

if TYPE_CHECKING:
    from ragbed.analysis.overview import ConditionRow
    from ragbed.api.spec import RunOptions
    from ragbed.runs.execution import Job


@help_groups.command()
@options.option(
    "--model",
    "-m",
    multiple=True,
    default=("bundled/smollm2",),
    metavar="MODEL",
    group=help_groups.WHAT,
    help="Model to evaluate, e.g. openai/gpt-4o-mini. NAME=MODEL sets the display name. Repeatable.",
)
@options.option(
    "--data",
    "-d",
    type=options.DataName(),
    multiple=True,
    required=True,
    metavar="DATA",
    group=help_groups.WHAT,
    help="Dataset: a file, a URL, or a name from `ragbed data list`. Repeatable.",
)
@options.option(
    "--out",
    "-o",
    type=options.LocalPath(),
    metavar="RUN",
    group=help_groups.WHAT,
    show_default="a new folder under runs/",
    help="Output folder for the run; an existing run is resumed.",
)
@options.option(
    "--preset",
    metavar="NAME",
    group=help_groups.WHAT,
    help="Prompt format and sampling settings of a system evaluated in the paper; `ragbed doctor` lists the presets.",
)
@options.layout_options
@options.option(
    "--context-length",
    type=int,
    metavar="N",
    group=help_groups.REQUESTS,
    show_default="that of the weights or the server",
    help=(
        "Context length of the models in tokens. Longer prompts are not sent; their cases are counted as `too-long` "
        "errors."
    ),
)
@options.option(
    "--strategies",
    metavar="NAMES",
    group=help_groups.SAMPLING,
    help=(
        "Additional prompting strategies to evaluate on cases with documents: quote, numbered, unwarned, decompose, "
        "isolate, cite, or all."
    ),
)
@options.option(
    "--search",
    metavar="SETTINGS",
    group=help_groups.SAMPLING,
    help="Limits and conditions for the `search` testbed, e.g. turns=8,calls=16,protocol=text,sizes=1000+10000.",
)
@options.option(
    "--repeats", type=click.IntRange(1), default=1, group=help_groups.SAMPLING, help="Number of responses per case."
)
@options.option(
    "--confidence",
    metavar="NAME",
    group=help_groups.SAMPLING,
    help=(
        "Method for measuring confidence in answers: logprobs, agreement (between repeated responses, see --repeats) "
        "or stated (requested in the prompt)."
    ),
)
@options.option(
    "--top-p",
    type=click.FloatRange(0, 1),
    show_default="1",
    group=help_groups.SAMPLING,
    help="Nucleus sampling probability (top-p).",
)
@options.option(
    "--max-tokens",
    metavar="N|auto",
    show_default="auto",
    group=help_groups.SAMPLING,
    help=(
        "Maximum number of tokens per response. 'auto' starts at 256 (4,096 once a response has contained "
        "reasoning) and retries truncated responses once with a limit of up to 16,384 (local models: only after "
        "reasoning)."
    ),
)
@options.option(
    "--trust-remote-code",
    is_flag=True,
    group=help_groups.OUTPUT,
    help="Run the code in an hf/ model's repository. Requires a pinned revision (org/model@<full commit hash>).",
)
@asking_options
@options.option(
    "--shard",
    metavar="I/N",
    group=help_groups.DISTRIBUTED,
    help="Evaluate only shard I of N (a subset of the questions); `ragbed merge` combines the shards.",
)
@options.option(
    "--fail-under",
    multiple=True,
    metavar="GATE",
    group=help_groups.OUTPUT,
    help=(
        "Score and threshold, e.g. noise.accuracy@0.8:en=0.6, or for an own RAG system accuracy=0.7, "
        "accuracy@noisy=0.6, refusal=0.8 or recall=0.9; exit with code 4 if the score is significantly below the "
        "threshold. Repeatable."
    ),
)
@options.option(
    "--baseline",
    type=options.LocalPath(),
    metavar="RUN",
    group=help_groups.OUTPUT,
    help=(
        "Earlier run to compare with; exit with code 4 if this run is significantly worse than it by more than 3 "
        "points, as in `ragbed compare`."
    ),
)
@options.option(
    "--strict",
    is_flag=True,
    group=help_groups.OUTPUT,
    help="Also fail if there are too few questions to decide a gate.",
)
@junit_option
@options.option(
    "--until",
    multiple=True,
    metavar="CONDITION",
    group=help_groups.REQUESTS,
    help=(
        "Stop once every condition is met. A condition is a target precision for a rate, e.g. "
        "'noise.accuracy@0.8 ± 10' (in percentage points); a test for a drop relative to another run, "
        "e.g. 'compare:runs/base:drop 5%'; or 'decided' (every gate passed or failed). Repeatable."
    ),
)
@options.option(
    "--batch",
    is_flag=True,
    group=help_groups.REQUESTS,
    help=("Use the provider's batch API (OpenAI, Anthropic) at half the price, with results within a day."),
)
@options.option(
    "--dry-run",
    is_flag=True,
    group=help_groups.REQUESTS,
    help="Evaluate five cases and estimate the calls, tokens, cost and duration of the full run.",
)
@options.json_option
@options.config_option
def run(
    model: tuple[str, ...],
    data: tuple[str, ...],
    json: bool,
    dry_run: bool,
    **chosen: Unpack[RunOptions],
) -> None:
    """Evaluate models on test cases and store every response.

    To resume a run that was stopped, rerun the same command with its --out. Cases that ended in an error are
    retried; finished cases are not.

    \b
    Examples:
      ragbed run -m openai/gpt-4o-mini -d en_refine
      ragbed run -m llamacpp/models/qwen2.5-7b-instruct-q4_k_m.gguf -d zh_refine
      ragbed run -m q4=llamacpp/models/qwen-q4_k_m.gguf -m q8=llamacpp/models/qwen-q8_0.gguf -d zh_refine
      ragbed run -m vllm/Qwen/Qwen2.5-7B-Instruct -d zh_refine --profile code-2024 -o runs/qwen
      ragbed run -m hf/lmsys/vicuna-7b-v1.3@<revision> --preset vicuna-7b-v1.3 -d en --profile code-2023
      ragbed run -m ollama/qwen2.5:7b -d ragbed-mini-zh_base --strategies quote,isolate
      ragbed run -m vllm/Qwen/Qwen2.5-7B-Instruct -d long/en_base.jsonl --testbeds length --num-docs 5,20,100
      ragbed run -m factory/my_rag:make -d qa.csv --docs handbook -o runs/today --fail-under accuracy=0.7
      ragbed run -m factory/my_rag:make -d qa.csv --docs handbook --baseline runs/main --strict
      ragbed run -m openai/gpt-4o-mini -d en_refine --testbeds noise --noise 0.8 --until "noise.accuracy@0.8 ± 10"
      ragbed run -m hf/Qwen/Qwen2.5-7B-Instruct -d en_refine --engine ray --replicas 8 --gpus-per-replica 1
    """
    from ragbed.api.planning import plan_run
    from ragbed.api.spec import RunSpec
    from ragbed.cli.results import exit_if_pending, print_decisions, print_forecasts, tell_incomplete

    spec = call_with_given(RunSpec, model=model, data=data, **call_keywords(chosen))
    with closing(plan_run(spec, say)) as job:
        if dry_run:
            print_forecasts(job, to_json=json)
            return
        cells = _evaluate(job, spec.gates)
    _print_results(job, cells, data, to_json=json)
    if not cells and spec.shard is not None:
        say(f"Shard {spec.shard} contains no questions, so no case was run.")
    print_decisions(job)
    if job.rule is None:
        exit_if_pending(job.folder, cells, spec.gates)
    errors, truncated = tell_incomplete(job.folder, cells, job.settings["max_tokens"])
    tell_run_gates(spec, job.folder, has_errors=errors > 0)
    if errors or truncated:
        raise click.exceptions.Exit(3)


def _evaluate(job: Job, gates: Sequence[str]) -> list[ConditionRow]:
    """Run a job with progress bars, and return the counts for each condition."""
    from ragbed.analysis.overview import LiveTable
    from ragbed.api.jobs import execute
    from ragbed.cli.console_progress import resumable
    from ragbed.cli.run_progress import RunProgress
    from ragbed.runs.budget import BudgetSpent
    from ragbed.runs.circuit_breaker import CircuitOpen, RequestsRejected

    table = LiveTable(job.folder)
    stopped = f"Stopped. Finished cases are kept. To resume, rerun the same command with --out {quoted(job.folder)}"
    try:
        with resumable(stopped), RunProgress() as progress:
            execute(replace(job, follower=table), progress.calls)
    except (BudgetSpent, CircuitOpen) as error:
        resume = "" if isinstance(error, RequestsRejected) else f". To resume it, use --out {quoted(job.folder)}"
        say(f"The run is stored in {job.folder}{resume}")
        say_unchecked(gates)
        raise
    return table.finish()


def _print_results(job: Job, cells: Sequence[ConditionRow], data: Sequence[str], *, to_json: bool) -> None:
    from ragbed.api.jobs import read_decisions
    from ragbed.cli.results import print_cells, print_other_tables, say_causes, say_count_command, tell_cached
    from ragbed.runs.status import read_rest

    say_causes(job.folder, cells)
    print_cells(cells, job.folder, to_stderr=to_json)
    print_other_tables(job.folder, job.settings, to_stderr=to_json)
    say(f"The run is stored in {job.folder}")
    infeasible, _, (cached, oldest) = read_rest(job.folder)
    if oldest is not None:
        say(tell_cached(cached, oldest))
    if infeasible:
        say(f"{infeasible:,} infeasible {'case was' if infeasible == 1 else 'cases were'} not run. To see why, run:")
        say_count_command(data)
    if to_json:
        until = {} if job.rule is None else {"until": [decision._asdict() for decision in read_decisions(job)]}
        print_json({"run": str(job.folder), "cells": [cell.as_json() for cell in cells], **until})
