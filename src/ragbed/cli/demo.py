"""`ragbed demo`: the four abilities on the paper's Figure 1, and a real model tested on the bundled data."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.models.base import Model
    from ragbed.runner.tables import Cell
    from ragbed.schema import Lang

DEFAULT_MODEL = "bundled/smollm2"
_ENGLISH_ONLY = (DEFAULT_MODEL,)
_ITEMS = 11
"""Of each of the three kinds, in each language: some 80 cases."""
_DOCS = 2
"""Short prompts, so that the bundled model is done in a few minutes on two cores."""
_RATIOS = {"noise": (Fraction(0), Fraction(1, 2)), "integration": (Fraction(0),)}
"""What two documents allow; the other testbeds have one ratio each."""
_MAX_TOKENS = 64
"""Enough for a sentence or two; a small model that begins to ramble is cut short."""

_NEXT = """
Next:  ragbed demo -m llamacpp/FILE.gguf --out runs/mine     a model that reads Chinese too, as Qwen's
       ragbed run -m ollama/qwen2.5:7b -d ragbed-mini-zh_base
       ragbed run -m openai/gpt-4o-mini -d ragbed-mini-en_base
       ragbed world --items 300 -o world                     more such news
       ragbed data get rgb                                   RGB's eight published files"""


@click.command()
@options.option("--model", "-m", default=DEFAULT_MODEL, help="Who is asked.")
@options.option("--lang", metavar="LANGS", default="en,zh", help="Languages to show.")
@options.option("--out", type=options.LocalPath(), metavar="RUN", default=Path("runs/demo"), help="Folder.")
def demo(model: str, lang: str, out: Path) -> None:
    """Show the four abilities, and test a real model on the bundled data.

    First the examples of the paper's Figure 1, in our own words, as a model would get them and with what is expected
    of it; then a run: some eighty cases of every testbed, asked of a small language model on this machine, without
    a key and without a network. It takes a few minutes; stopped, it goes on when the command is typed again. At the
    end it writes a report as a page for the browser, into the run's folder.

    \b
    Examples:
      ragbed demo
      ragbed demo --lang zh
      ragbed demo -m llamacpp/qwen2.5-7b-instruct-q4_k_m.gguf --out runs/qwen
    """
    from ragbed.cli.console import console
    from ragbed.cli.examples import print_examples
    from ragbed.cli.layout import read_langs

    langs = read_langs(lang)
    print_examples(langs)
    screen = console()
    screen.print("\nA run on ragbed-mini, news of a world that does not exist, so that no model has read it.\n")
    asked = tuple(one for one in langs if one == "en") if model in _ENGLISH_ONLY else langs
    cells = _ask(model, asked, out) if asked else []
    if rest := tuple(one for one in langs if one not in asked):
        screen.print(f"{model} reads English only; Chinese is shown with the baseline that picks a sentence.")
        cells += _ask_baseline(rest)
    _print_curves(cells)
    if asked:
        screen.print(f"\nEvery case and reply: ragbed export {out} --to jsonl -o demo.jsonl", soft_wrap=True)
        _write_report(out)
    screen.print(_NEXT, soft_wrap=True)


def _write_report(run: Path) -> None:
    """The report as a page in the run's folder; where the baseline stood in, there is no run."""
    from ragbed.cli.console import console
    from ragbed.cli.paged import read_report, write_report_page
    from ragbed.runner.file import NAME

    if (run / NAME).is_file():
        target = run / "report.html"
        write_report_page(read_report([run], [str(run)], "robust"), [run], "en", target)
        console().print(f"The report, to be opened in a browser: {target}", soft_wrap=True)


def _ask(name: str, langs: tuple[Lang, ...], folder: Path) -> list[Cell]:
    """A model and the baseline, side by side; without the model's weights or library, the baseline alone."""
    from ragbed.cli.console import say
    from ragbed.errors import UsageError

    try:
        model = _open(name)
    except UsageError as problem:
        if name != DEFAULT_MODEL:
            raise
        say(f"{problem} Until then the baseline that picks a sentence stands in for it.")
        return _ask_baseline(langs)
    return _run(langs, [model, _open("baseline/lexical")] if name != "baseline/lexical" else [model], folder)


def _open(name: str) -> Model:
    from ragbed.cli.data import data_root
    from ragbed.models import Wish, open_model
    from ragbed.models.base import Sampling

    sampling = Sampling(max_tokens=_MAX_TOKENS)
    return open_model(name, lambda rest: Wish(rest, os.environ, sampling, data_root=data_root()))


def _ask_baseline(langs: tuple[Lang, ...]) -> list[Cell]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        return _run(langs, [_open("baseline/lexical")], Path(folder))


def _run(langs: tuple[Lang, ...], models: list[Model], folder: Path) -> list[Cell]:
    from ragbed.cli.console import say
    from ragbed.cli.data import open_data
    from ragbed.cli.results import read_cells
    from ragbed.cli.run_progress import RunProgress
    from ragbed.errors import Stopped
    from ragbed.runner.running import Job, run
    from ragbed.testbeds import TESTBEDS, USUAL
    from ragbed.testbeds.settings import Settings

    datasets = open_data([f"ragbed-mini-{lang}_{kind}" for lang in langs for kind in ("base", "int", "fact")])
    settings = {name: Settings(limit=_ITEMS, docs=_DOCS, noise=_RATIOS.get(name, Settings().noise)) for name in USUAL}
    told = {f"data {dataset.name}": dataset.sha256() for dataset in datasets}
    job = Job(
        folder=folder,
        settings=told | settings["noise"].as_options() | {"max_tokens": str(_MAX_TOKENS)},
        cases=lambda: (
            case for dataset in datasets for name in USUAL for case in TESTBEDS[name].cases(dataset, settings[name])
        ),
        models=models,
    )
    try:
        with RunProgress() as progress:
            run(job, progress.watch)
    except (KeyboardInterrupt, Stopped):
        say(f"Stopped; every reply is kept in {folder}. The same command goes on from there.")
        raise
    return read_cells(folder)


def _print_curves(cells: list[Cell]) -> None:
    """One table a language and model, one row an ability, one column a ratio: what the original code counts."""
    from ragbed.cli.console import print_table
    from ragbed.cli.results import SCORES
    from ragbed.testbeds import USUAL

    asked = [cell.condition for cell in cells]
    ratios: list[float | None] = [*sorted({one.noise for one in asked if one.noise is not None}), None]
    columns = ("testbed", "score, %", "asked", "errors", *(f"{one:.2g}" for one in ratios[:-1]), "none")
    for lang, _, model in sorted({(one.lang, one.model.startswith("baseline"), one.model) for one in asked}):
        rows = []
        for testbed in USUAL:
            score, counted = SCORES[testbed]
            wanted = (lang, model, testbed)
            row = [cell for cell, one in zip(cells, asked, strict=True) if (one.lang, one.model, one.testbed) == wanted]
            # Three datasets have closed-book cases.
            shares = [_share([cell for cell in row if cell.condition.noise == ratio], counted) for ratio in ratios]
            failed = sum(cell.error + cell.refused for cell in row)
            rows.append((testbed, score, sum(cell.asked for cell in row), failed, *shares))
        print_table(f"\n{model}, {lang}, by noise ratio (none: no documents)", columns, rows)


def _share(cells: list[Cell], counted: str) -> str:
    if not cells:
        return "–"
    return f"{100 * sum(cell.hits[f'code.{counted}'] for cell in cells) / sum(cell.asked for cell in cells):.0f}"
