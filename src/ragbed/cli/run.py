"""`ragbed run`: asks models about every case, resumably, then scores and prints the tables."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click

from ragbed.api.layout import LayoutOptions
from ragbed.cli import options
from ragbed.cli.asking import (
    AskingOptions,
    asking_options,
    open_asked,
    read_budget,
)
from ragbed.cli.demo import DEFAULT_MODEL
from ragbed.cli.engine import open_chosen
from ragbed.cli.gates import junit_option, tell_gates
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.analysis.gates import Floor
    from ragbed.models.base import Sampling
    from ragbed.models.presets import Preset
    from ragbed.runs.execution import Job
    from ragbed.runs.tables import ConditionCounts


_OF_THE_TERMINAL = ("dry_run", "fail_under", "junit", "json")
"""What says how a command ends and what it prints."""


class RunOptions(LayoutOptions, AskingOptions):
    """The options that say what is asked, and how, as typed."""

    strategies: str | None
    repeats: int
    temperature: float
    top_p: float
    max_tokens: int
    shard: str | None
    preset: str | None
    trust_remote_code: bool


@click.command()
@options.option(
    "--model",
    "-m",
    multiple=True,
    default=(DEFAULT_MODEL,),
    help="Model to evaluate, e.g. openai/gpt-4o-mini; NAME=MODEL shows it as NAME. Repeatable.",
)
@options.option(
    "--data",
    "-d",
    multiple=True,
    required=True,
    help="Dataset: a file, a folder of parts, a URL or a name of `ragbed data list`. Repeatable.",
)
@options.option(
    "--out", "-o", type=options.LocalPath(), metavar="RUN", help="Folder of the run; an existing run is resumed."
)
@options.layout_options
@options.option(
    "--strategies",
    metavar="NAMES",
    help="Also run these prompting strategies on cases with documents: quote, numbered, unwarned, decompose, isolate, "
    "or all.",
)
@options.option("--repeats", type=click.IntRange(1), default=1, help="Responses per case.")
@options.option("--temperature", type=click.FloatRange(0), default=0.0, help="Sampling temperature.")
@options.option("--top-p", type=click.FloatRange(0, 1), default=1.0, help="Nucleus sampling probability.")
@options.option("--max-tokens", type=click.IntRange(1), default=256, help="Maximum tokens per response.")
@options.option(
    "--preset", metavar="NAME", help="Prompt and sample as for a system of the paper; `ragbed doctor` lists them."
)
@options.option("--trust-remote-code", is_flag=True, help="hf/org/model@<40 digits>: run the code of that revision.")
@asking_options
@options.option(
    "--shard", metavar="I/N", help="Ask about the I-th of N parts of the questions; `ragbed merge` puts runs together."
)
@options.option(
    "--fail-under",
    multiple=True,
    metavar="GATE",
    help="Exit code 4 where a score is shown to be lower, as noise.accuracy@0.8:en=0.6; repeatable.",
)
@junit_option
@options.option("--dry-run", is_flag=True, help="Ask five cases and tell what the run will take.")
@options.json_option
@options.config_option
def run(
    model: tuple[str, ...],
    data: tuple[str, ...],
    out: Path | None,
    json: bool,
    dry_run: bool,
    fail_under: tuple[str, ...],
    junit: Path | None,
    **chosen: Unpack[RunOptions],
) -> None:
    """Ask models about every case and store every reply.

    A run that was stopped goes on where it was: type the same command with its --out again. Cases that ended
    in an error are then asked again; nothing else is.

    \b
    Examples:
      ragbed run -m openai/gpt-4o-mini -d en_refine
      ragbed run -m llamacpp/models/qwen2.5-7b-instruct-q4_k_m.gguf -d zh_refine
      ragbed run -m q4=llamacpp/models/qwen-q4_k_m.gguf -m q8=llamacpp/models/qwen-q8_0.gguf -d zh_refine
      ragbed run -m vllm/Qwen/Qwen2.5-7B-Instruct -d zh_refine --profile code-2024 -o runs/qwen
      ragbed run -m hf/Qwen/Qwen2.5-7B-Instruct -d en_refine
      ragbed run -m hf/lmsys/vicuna-7b-v1.3@<revision> --preset vicuna-7b-v1.3 -d en --profile code-2023
      ragbed run -m scripted/oracle -d figure1 --num-docs 2
      ragbed run -m ollama/qwen2.5:7b -d ragbed-mini-zh_base --strategies quote,isolate
      ragbed run -m python/my_system:answer -d ragbed-mini-en_base --fail-under noise.accuracy@0.4=0.7
      ragbed run -m hf/Qwen/Qwen2.5-7B-Instruct -d en_refine --engine ray --replicas 8 --gpus-per-replica 1
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.results import EarlyTables, print_cells, read_rest
    from ragbed.cli.run_progress import RunProgress
    from ragbed.errors import Stopped
    from ragbed.runs.display_names import short_names
    from ragbed.runs.execution import run as run_job

    floors = _read_floors(fail_under)
    job = _read_job(model, data, out, chosen)
    if floors:
        job = _with_gates(job, floors)
    if dry_run:
        _print_forecasts(job, to_json=json)
        return
    tables = EarlyTables(job.folder)
    try:
        with RunProgress() as progress:
            shown = short_names([one.name for one in job.models], job.names)
            run_job(replace(job, follower=tables), lambda name, done: progress.watch(shown[name], done))
    except (KeyboardInterrupt, Stopped):
        say(f"Stopped; every reply is kept. To go on, type the same command with --out {job.folder}")
        raise
    cells, (infeasible, an_error) = tables.cells(open_chosen(chosen)), read_rest(job.folder)
    print_cells(cells, [job.folder], to_stderr=json)
    _print_beyond(job, to_stderr=json)
    say(f"Everything is in {job.folder}")
    if not cells and chosen["shard"] is not None:
        say(f"No question falls into shard {chosen['shard']}: there was nothing to ask.")
    if infeasible:
        from ragbed.cli.cases import cases_command

        cases, were = ("case has", "was") if infeasible == 1 else ("cases have", "were")
        say(f"{infeasible:,} more {cases} no such mix of documents and {were} not run. To see why, run:")
        say(f"  {cases_command(data)}")
    if json:
        print_json({"run": str(job.folder), "cells": [cell.as_json() for cell in cells]})
    _end_by(cells, job.folder, an_error)
    if floors:
        _check_floors(job.folder, floors, junit)


def _end_by(cells: Sequence[ConditionCounts], folder: Path, an_error: str | None) -> None:
    """Exit code 3 where a case has no result, or ended in an error."""
    from ragbed.cli.console import say

    errors = sum(cell.error for cell in cells)
    if unasked := sum(cell.planned - cell.asked for cell in cells):
        cases = "case has" if unasked == 1 else "cases have"
        say(f"Incomplete: {unasked:,} {cases} no result. Rerun the same command with --out {folder} to resume.")
        raise click.exceptions.Exit(3)
    if errors:
        say(f"The first error: {an_error}")
        cases = "case" if errors == 1 else "cases"
        say(f"Incomplete: {errors:,} {cases} ended in an error. Rerun the same command with --out {folder} to retry.")
        raise click.exceptions.Exit(3)


def _print_beyond(job: Job, *, to_stderr: bool) -> None:
    """The tables that compare ways of asking with each other, where the run has several: counts do not tell it."""
    if "remedies" not in job.settings and "own-" not in job.settings["testbeds"]:
        return
    from ragbed.cli.paged import read_report
    from ragbed.cli.report import print_tables

    tables = read_report([job.folder], [str(job.folder)], "robust").tables
    print_tables([one for one in tables if one.name.startswith(("remedies", "own-retrieval"))], to_stderr=to_stderr)


@contextmanager
def open_typed(words: list[str]) -> Iterator[Job]:
    """What `ragbed run` with these words would do, for who calls it from Python; its engine is closed in the end.

    Raises:
        click.ClickException: They are no such words.
        UsageError: They make no sense.
    """
    with run.make_context("run", words) as context:
        typed = dict(context.params)
        for name in _OF_THE_TERMINAL:
            if typed.pop(name):
                raise UsageError(f"{name} is for the command line; from Python look at the run that comes back.")
        model, data, out = typed.pop("model"), typed.pop("data"), typed.pop("out")
        yield _read_job(model, data, out, cast("RunOptions", typed))


def _read_floors(named: tuple[str, ...]) -> list[Floor]:
    if not named:
        return []
    from ragbed.analysis.gates import parse_floor

    return [parse_floor(text) for text in named]


def _with_gates(job: Job, floors: list[Floor]) -> Job:
    """The job, whose plan comes to nothing where it cannot tell of a gate."""
    from ragbed.analysis.gates import check_plan

    return replace(job, cases=lambda: check_plan(floors, job.cases(), job.repeats))


def _check_floors(folder: Path, floors: list[Floor], junit: Path | None) -> None:
    from ragbed.analysis.gates import check_floors
    from ragbed.analysis.run_cells import read_report_cells

    cells = read_report_cells([folder], ["robust"])
    tell_gates(str(folder), check_floors(floors, cells), junit)


def _read_job(named: tuple[str, ...], data: tuple[str, ...], folder: Path | None, chosen: RunOptions) -> Job:
    from ragbed.api.calling import check_models, warn_of_languages
    from ragbed.api.layout import read_layout, read_strategies
    from ragbed.cli.console import say
    from ragbed.data.catalog import open_data
    from ragbed.environment import cache_file
    from ragbed.runs.execution import Job
    from ragbed.runs.sharding import SETTING, parse_shard
    from ragbed.testbeds.end_to_end import open_corpora
    from ragbed.testbeds.selection import choose_testbeds, lay_out

    labels = _read_names(named)
    models = tuple(labels)
    names, settings = read_layout(chosen)
    remedies = read_strategies(chosen["strategies"])
    testbeds = choose_testbeds(names, settings)
    datasets = open_data(list(data))
    preset = _preset(chosen["preset"])
    sampling = _sampling(preset, chosen)
    corpora = open_corpora(datasets, testbeds)
    told = {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    told |= settings.as_options() | {"testbeds": ",".join(names or ["all"]), "repeats": str(chosen["repeats"])}
    shard = None if chosen["shard"] is None else parse_shard(chosen["shard"])
    told |= {} if shard is None else {SETTING: str(shard)}
    told |= {"remedies": ",".join(remedies)} if remedies else {}
    told |= {} if preset is None else {"preset": str(chosen["preset"])}
    engine, trusts_code = open_chosen(chosen), chosen["trust_remote_code"]
    opened = [
        open_asked(name, sampling, chosen, engine, preset, trusts_code=trusts_code, corpora=corpora) for name in models
    ]
    check_models(opened, searching=bool(corpora), prompted=bool(remedies))
    return Job(
        folder=folder or _new_folder(labels[models[0]] or models[0]),
        settings=told | {name: str(getattr(sampling, name)) for name in ("temperature", "top_p", "max_tokens")},
        cases=lambda: warn_of_languages(
            (
                case
                for case in lay_out(datasets, testbeds, settings, named=names is not None, remedies=remedies, tell=say)
                if shard is None or shard.keeps(case)
            ),
            opened,
            say,
        ),
        models=opened,
        repeats=chosen["repeats"],
        names={model: label for model, label in labels.items() if label},
        cache=None if chosen["no_cache"] else cache_file(),
        budget=read_budget(models, chosen),
        tell=say,
    )


def _read_names(named: Sequence[str]) -> dict[str, str]:
    """Return the model strings with their names, which are empty where none is given.

    Raises:
        UsageError: Two models have one name, or one model has two.
    """
    from ragbed.models import split_name

    labels: dict[str, str] = {}
    for label, model in dict.fromkeys(map(split_name, named)):
        if model in labels:
            raise UsageError(f"--model {model} is given twice under different names; give it once.")
        if label and label in labels.values():
            raise UsageError(f"--model {label}=…: two models have this name; names must be unique within a run.")
        labels[model] = label
    return labels


def _print_forecasts(job: Job, *, to_json: bool) -> None:
    import asyncio

    from ragbed.cli.console import print_json, print_table
    from ragbed.runs.display_names import short_names
    from ragbed.runs.forecast import forecast

    cases = [case for case in job.cases() if case.feasible]
    forecasts = [asyncio.run(forecast(model, cases, job.repeats)) for model in job.models]
    shown = short_names([model.name for model in job.models], job.names)
    rows = [
        (
            shown[one.model],
            one.calls,
            one.tokens_in,
            one.tokens_out,
            "–" if one.dollars is None else f"{one.dollars:.2f} $",
            f"{one.minutes:.1f}",
        )
        for one in forecasts
    ]
    print_table(
        "What it will take", ("model", "calls", "tokens in", "out", "money", "minutes"), rows, to_stderr=to_json
    )
    if to_json:
        print_json({"forecasts": forecasts})


def _preset(name: str | None) -> Preset | None:
    from ragbed.errors import UnknownName
    from ragbed.models.presets import PRESETS

    if name is not None and name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    return None if name is None else PRESETS[name]


def _sampling(preset: Preset | None, chosen: RunOptions) -> Sampling:
    """As the options say; those that nobody set are the preset's."""
    from msgspec import structs

    from ragbed.models.base import Sampling

    sampling = Sampling(temperature=chosen["temperature"], top_p=chosen["top_p"], max_tokens=chosen["max_tokens"])
    if preset is None:
        return sampling
    source = click.get_current_context().get_parameter_source
    unset = [name for name in Sampling.__struct_fields__ if source(name) is click.core.ParameterSource.DEFAULT]
    return structs.replace(sampling, **{name: getattr(preset.sampling, name) for name in unset})


def _new_folder(model: str) -> Path:
    from ragbed.models.secrets import without_credentials
    from ragbed.runs.display_names import short_names

    shown = without_credentials(model)
    short = re.sub(r"[^A-Za-z0-9.]+", "-", short_names([shown])[shown]).strip("-")[:40]
    name = f"{datetime.now():%Y%m%d-%H%M%S}-{short}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder for folder in (Path("runs") / one for one in names) if not folder.exists())
