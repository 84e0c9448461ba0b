"""`ragbed rank`: rank all models in one or more runs."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_tables


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.LocalPath(), metavar="RUN …")
@options.scorer_option("Scorer to rank by")
@options.option("--pairs", is_flag=True, help="Also show the difference between every pair of models.")
@options.json_option
def rank(runs: tuple[Path, ...], scorer: str, pairs: bool, json: bool) -> None:
    """Rank the models in one or more runs, using paired tests.

    Models are compared on the questions for which all of them have results under the
    same conditions; each question counts once, with its mean score over the noise ratios. Two models share a rank
    unless they differ significantly.

    \b
    Examples:
      ragbed rank runs/candidates
      ragbed rank runs/gpt runs/qwen runs/llama --pairs
      ragbed rank runs/candidates --json
    """
    from ragbed.api import analysis

    result = analysis.rank(list(runs), scorer=scorer)
    print_tables(result.tables() if pairs else [result.records()], to_stderr=json)
    if json:
        print_json({"models": list(result.records()), "pairs": list(result.pairs())})
