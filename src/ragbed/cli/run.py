"""`ragbed run`: evaluate models on every test case, score the responses and print the tables."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import click
from msgspec.structs import replace

from ragbed.api.specification import REQUESTS, WHAT, Opt
from ragbed.cli.console import print_json, say
from ragbed.cli.options import Json, command
from ragbed.errors import UnknownName
from ragbed.text import quoted

if TYPE_CHECKING:
    from ragbed.analysis.overview import ConditionRow
    from ragbed.api.spec import RunSpec
    from ragbed.runs.execution import Job


@command()
def run(
    spec: RunSpec,
    *,
    dry_run: Annotated[
        bool,
        Opt("Evaluate five cases and estimate the calls, tokens, cost and duration of the full run.", group=REQUESTS),
    ] = False,
    scorer: Annotated[
        str | None,
        Opt(
            "Other scorers whose scores to show beside the main score: code, paper or code,paper.",
            "NAMES",
            group=WHAT,
            shown="both for the code and paper profiles and for RGB's files",
            is_rare=True,
        ),
    ] = None,
    json: Json = False,
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
    from ragbed.cli.results import exit_if_pending, print_decisions, print_forecasts, tell_gates, tell_incomplete

    scorers = _read_scorers(scorer)
    with closing(plan_run(spec, say)) as job:
        if dry_run:
            print_forecasts(job, to_json=json)
            return
        cells = _evaluate(job, spec)
    _print_results(job, cells, spec, scorers, to_json=json)
    if not cells and spec.shard is not None:
        say(f"Shard {spec.shard} contains no questions, so no case was run.")
    print_decisions(job)
    if job.rule is None:
        exit_if_pending(job.folder, cells, spec.gates)
    errors, truncated = tell_incomplete(job.folder, cells, job.settings["max_tokens"])
    tell_gates(spec, job.folder, has_errors=errors > 0)
    if errors or truncated:
        raise click.exceptions.Exit(3)


def _evaluate(job: Job, spec: RunSpec) -> list[ConditionRow]:
    """Run a job with progress bars, and return the counts for each condition."""
    from ragbed.analysis.overview import LiveTable
    from ragbed.api.jobs import execute
    from ragbed.api.progress import open_progress
    from ragbed.cli.console_progress import resumable
    from ragbed.cli.results import say_unchecked
    from ragbed.runs.budget import BudgetSpent
    from ragbed.runs.circuit_breaker import CircuitOpen, RequestsRejected

    table = LiveTable(job.folder)
    stopped = f"Stopped. Finished cases are kept. To resume, rerun the same command with --out {quoted(job.folder)}"
    try:
        with resumable(stopped), open_progress(spec.progress) as progress:
            execute(replace(job, follower=table), progress.calls)
    except (BudgetSpent, CircuitOpen) as error:
        resume = "" if isinstance(error, RequestsRejected) else f". To resume it, use --out {quoted(job.folder)}"
        say(f"The run is stored in {job.folder}{resume}")
        say_unchecked(spec.gates)
        raise
    return table.finish()


def _read_scorers(names: str | None) -> list[str]:
    """Return the scorers of the `--scorer` option."""
    from ragbed.api.layout import split
    from ragbed.reporting.overview import OTHER_SCORERS

    chosen = [] if names is None else split(names, "scorer")
    for name in chosen:
        if name not in OTHER_SCORERS:
            raise UnknownName("scorer", name, OTHER_SCORERS)
    return chosen


def _print_results(
    job: Job, cells: Sequence[ConditionRow], spec: RunSpec, scorers: Sequence[str], *, to_json: bool
) -> None:
    from ragbed.api.jobs import read_decisions
    from ragbed.api.run_status import tell_cached
    from ragbed.cli.results import print_cells, print_other_tables, say_causes
    from ragbed.runs.status import read_rest

    say_causes(job.folder, cells)
    print_cells(cells, job.folder, scorers, to_stderr=to_json)
    print_other_tables(job.folder, job.settings, to_stderr=to_json)
    say(f"The run is stored in {job.folder}")
    infeasible, _, (cached, oldest) = read_rest(job.folder)
    if oldest is not None:
        say(tell_cached(cached, oldest))
    if infeasible:
        cases = "case was" if infeasible == 1 else "cases were"
        say(
            f"{infeasible:,} infeasible {cases} not run. `ragbed export DATA --to jsonl` with the same options lists "
            "the reasons."
        )
    if to_json:
        until = {} if job.rule is None else {"until": [decision._asdict() for decision in read_decisions(job)]}
        print_json({"run": str(job.folder), "cells": [cell.as_json() for cell in cells], **until})
