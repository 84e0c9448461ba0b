"""`ragbed run`: asks models about every case, resumably, then scores and prints the tables."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragbed.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ragbed.datasets import Dataset
    from ragbed.models.base import Model
    from ragbed.run.tables import Cell
    from ragbed.schema import Case
    from ragbed.testbeds.settings import Settings


def run(
    model: Annotated[
        list[str],
        typer.Option("--model", "-m", metavar="MODEL", help="Who is asked, as openai/gpt-…; repeatable.", envvar="RAGBED_MODEL"),
    ],
    data: Annotated[
        list[str], typer.Option("--data", "-d", metavar="DATA", help="A file or a name, as in `ragbed cases`; repeatable.", envvar="RAGBED_DATA")
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Folder of the run; an existing one is resumed.", envvar="RAGBED_OUT")
    ] = None,
    testbeds: options.Testbeds = None,
    noise: options.Noise = None,
    docs: options.Docs = 5,
    correct: options.Correct = "0",
    arms: options.Arms = "related",
    rotations: options.Rotations = "1",
    profile: options.Profile = "robust",
    lang: options.Lang = "en,zh",
    limit: options.Limit = None,
    seed: options.Seed = 0,
    prompt: options.Prompt = None,
    repeats: Annotated[int, typer.Option(min=1, help="Ask every case so often.", envvar="RAGBED_REPEATS")] = 1,
    temperature: Annotated[float, typer.Option(min=0, help="Of the model.", envvar="RAGBED_TEMPERATURE")] = 0.0,
    top_p: Annotated[float, typer.Option("--top-p", min=0, max=1, help="Of the model.", envvar="RAGBED_TOP_P")] = 1.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of a reply.", envvar="RAGBED_MAX_TOKENS")] = 256,
    max_connections: Annotated[
        int | None, typer.Option("--max-connections", min=1, help="Calls at once. Default: found out, up to 64.", envvar="RAGBED_MAX_CONNECTIONS")
    ] = None,
    rpm: Annotated[int | None, typer.Option(min=1, help="Requests per minute at the most.", envvar="RAGBED_RPM")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one attempt.", envvar="RAGBED_TIMEOUT")] = 120.0,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Ask again what was answered before.", envvar="RAGBED_NO_CACHE")] = False,
    json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Ask models about every case and store every reply.

    A run that was stopped goes on where it was: type the same command with its --out again.

    \b
    Examples:
      ragbed run -m openai/gpt-4o-mini -d en_refine
      ragbed run -m vllm/Qwen/Qwen2.5-7B-Instruct -d zh_refine --profile code-2024 --out runs/qwen
      ragbed run -m scripted/oracle -d figure1 --docs 2
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.data import open_data
    from ragbed.cli.layout import read_settings, split
    from ragbed.cli.progress import RunProgress
    from ragbed.errors import Stopped
    from ragbed.models.base import Sampling
    from ragbed.run.running import Job
    from ragbed.run.running import run as run_job

    settings = read_settings(
        {"noise": noise, "docs": docs, "correct": correct, "arms": arms, "rotations": rotations, "profile": profile,
         "lang": lang, "limit": limit, "seed": seed, "prompt": prompt}
    )
    names = None if testbeds is None else split(testbeds, "--testbeds")
    datasets = open_data(data)
    sampling = Sampling(temperature=temperature, top_p=top_p, max_tokens=max_tokens)
    folder = out or _new_folder(model[0])
    job = Job(
        folder=folder,
        settings=_describe(settings, names, datasets, sampling, repeats),
        cases=lambda: _lay_out(datasets, names, settings),
        models=[_open(name, sampling, max_connections, rpm, timeout) for name in dict.fromkeys(model)],
        repeats=repeats,
        cache=None if no_cache else _cache_path(),
    )
    try:
        with RunProgress() as progress:
            run_job(job, progress.watch)
    except (KeyboardInterrupt, Stopped):
        say(f"Stopped; every reply is kept. To go on, type the same command with --out {folder}")
        raise
    cells = _tables(folder)
    _print_cells(cells, folder, to_stderr=json)
    if json:
        print_json({"run": str(folder), "cells": [cell.as_json() for cell in cells]})
    errors = sum(cell.error for cell in cells)
    if errors:
        say(f"Incomplete: {errors} cases ended in an error and count as wrong; the same command with --out {folder} asks them again.")
        raise typer.Exit(3)


def _new_folder(model: str) -> Path:
    import re
    from datetime import datetime

    short = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-")[:40]
    return Path("runs") / f"{datetime.now():%Y%m%d-%H%M%S}-{short}"


def _cache_path() -> Path:
    from platformdirs import user_cache_path

    named = os.environ.get("RAGBED_CACHE_DIR")
    return (Path(named) if named else user_cache_path("ragbed")) / "replies.sqlite"


def _open(spec: str, sampling: Sampling, connections: int | None, per_minute: int | None, timeout_s: float) -> Model:
    from ragbed.models import Wish, open_model
    from ragbed.models.transport import Patience

    patience = Patience(attempt_s=timeout_s, item_s=5 * timeout_s)
    return open_model(spec, lambda name: Wish(name, os.environ, sampling, patience, connections, per_minute))


def _lay_out(datasets: list[Dataset], names: list[str] | None, settings: Settings) -> Iterator[Case]:
    from ragbed.testbeds.choose import choose_testbeds, lay_out

    chosen = choose_testbeds(names, settings)
    for dataset in datasets:
        yield from lay_out(dataset, chosen, settings, named=names is not None)


def _describe(
    settings: Settings, names: list[str] | None, datasets: list[Dataset], sampling: Sampling, repeats: int
) -> dict[str, str]:
    """All that decides what is asked, by option, in a form that two runs can be compared by."""
    told = {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    told |= {"testbeds": ",".join(names or ["all"]), "repeats": str(repeats)}
    told |= {name: str(getattr(sampling, name)) for name in ("temperature", "top_p", "max_tokens")}
    return told | settings.as_options()


def _tables(folder: Path) -> list[Cell]:
    from ragbed.run.store import open_store
    from ragbed.run.tables import tabulate

    with open_store(folder, create=False) as store:
        return tabulate(store.results())


def _print_cells(cells: list[Cell], folder: Path, *, to_stderr: bool) -> None:
    from ragbed.cli.console import print_table

    columns = ("model", "data", "lang", "testbed", "noise", "asked", "ok", "refused", "error", "acc", "acc*", "rej", "rej*")
    names = ("code.correct", "paper.correct", "code.refused", "paper.refused")
    rows = [
        (cell.model, cell.data, cell.lang, cell.testbed, "–" if cell.noise is None else cell.noise, cell.asked, cell.ok,
         cell.refused, cell.error, *(f"{100 * cell.rate(name):.1f}" for name in names))
        for cell in cells
    ]
    print_table(f"Run {folder}", columns, rows, to_stderr=to_stderr)
