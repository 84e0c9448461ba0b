"""`ragbed demo`: print an example of each ability that RGB tests, and evaluate a real model on the bundled data."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli.console import console, say
from ragbed.cli.options import command
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.api.job_specs import DemoSpec
    from ragbed.schema import Lang


@command()
def demo(spec: DemoSpec) -> None:
    """Evaluate a small model on this machine, without an API key.

    The first part prints one example for each of the four abilities (the paper's Figure 1, reworded): the model's
    input and the expected response. The second part evaluates a baseline, which returns the best-matching sentence, on
    all bundled questions in seconds, and then the model on about eighty cases, which takes a few minutes. Rerun the
    command to resume an interrupted evaluation. The third part explains the results and writes an HTML report.

    The default model requires the `llamacpp` extra; its weights (98 MB) are downloaded if missing.

    The runs are written to DIR/baseline, DIR/en and DIR/zh. The default model reads only English, so in Chinese only
    the baseline is evaluated.

    \b
    Examples:
      ragbed demo
      ragbed demo --lang zh
      ragbed demo -m llamacpp/qwen2.5-7b-instruct-q4_k_m.gguf -o runs/qwen
    """
    from ragbed.analysis.overview import tabulate_run
    from ragbed.api.demo import BASELINE, ENGLISH_ONLY, evaluate
    from ragbed.api.layout import read_langs
    from ragbed.cli.console_progress import resumable
    from ragbed.cli.examples import print_examples
    from ragbed.cli.results import print_cells
    from ragbed.models import parse_model
    from ragbed.runs.status import read_rest

    langs, out = read_langs(spec.lang), Path(spec.out)
    parse_model(spec.model)  # Report a mistyped model before printing the examples.
    print_examples(langs)
    console().print(
        "\nEvaluation on ragbed-mini: fictional news that no model has seen. "
        f"{BASELINE} is not a language model: it returns the sentence that best matches the question.\n",
        soft_wrap=not console().is_terminal,
    )
    if spec.model in ENGLISH_ONLY and "zh" in langs:
        console().print(f"{spec.model} reads only English, so in Chinese only the baseline is evaluated.\n")
    cells = {}
    with resumable(f"Stopped. All responses are kept in {out}; rerun the same command to resume."):
        for _, evaluated in evaluate(spec):
            run = evaluated.folder
            cells[run] = tabulate_run(run)
            print_cells(cells[run], run, to_stderr=False)
            click.echo()
    runs = list(cells)
    _write_report(runs, langs, out / "report.html")
    _print_next(runs[-1], out)
    for run, found in cells.items():
        if errors := sum(cell.error for cell in found):
            say(f"First error: {read_rest(run)[1]}")
            say(f"Incomplete: {counted(errors, 'case')} ended in an error. Rerun the command to retry.")
            raise click.exceptions.Exit(3)


def _write_report(runs: list[Path], langs: Sequence[Lang], target: Path) -> None:
    """Print the summary of the report in the languages of the data, and write the HTML report."""
    from ragbed.analysis.locale import read_words
    from ragbed.api.reports import read_report, write_report_page
    from ragbed.reporting.summary import join_findings, summarise

    report = read_report(runs, [str(run) for run in runs], "robust")
    for lang in langs:
        words, cells = read_words(lang), [cell for cell in report.shown if cell.key.lang == lang]
        for model, texts in join_findings(summarise(cells, "robust", words), words).items():
            console().print(f"{model}: {' '.join(texts.values())}", soft_wrap=not console().is_terminal)
    write_report_page(report, runs, None, target)
    console().print(f"\nHTML report: {target}", soft_wrap=True)


def _print_next(first: Path, out: Path) -> None:
    """Print three suggested next commands, which can be run exactly as shown."""
    from ragbed.runs.status import read_status

    name, model = "ragbed", read_status(first).models[0].model
    steps = {
        f"{name} report {quoted(out)}": "all tables, with intervals",
        f"{name} run -m {quoted(model)} -d ragbed-mini-en_base --limit 5": "a first run of your own",
        f"{name} view {quoted(out)}": "browse every case and response",
    }
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        steps.popitem()
        steps[f"{name} doctor"] = (
            "list the models that work on this machine, and what to install for other models and `ragbed view`"
        )
    width = max(map(len, steps))
    console().print("\nNext:", soft_wrap=True)
    for step, purpose in steps.items():
        console().print(f"  {step:{width}}  # {purpose}", soft_wrap=True)
