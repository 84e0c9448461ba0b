"""`ragbed synth`: generate a dataset of fictional news."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table


@click.command()
@options.option(
    "--out", "-o", required=True, type=options.LocalPath(), metavar="DIR", help="Output folder for the dataset files."
)
@options.option("--seed", type=int, default=0, help="Random seed; the same seed produces identical files.")
@options.option("--items", type=int, default=300, help="Number of base items per language.")
@options.option(
    "--integration", type=int, show_default="a third of --items", help="Number of integration items per language."
)
@options.option(
    "--counterfactual",
    type=int,
    show_default="a third of --items, at most one per fact",
    help="Number of counterfactual items per language.",
)
@options.option("--lang", metavar="LANGS", default="en,zh", help="Languages in which to generate items.")
@options.option("--num-docs", type=int, default=20, help="Number of documents per base item: 2 to 200.")
@options.option(
    "--supporting",
    type=int,
    metavar="N",
    show_default="half",
    help=(
        "Number of documents per base item that contain the answer; the remaining documents are distractors on a "
        "similar topic."
    ),
)
@options.option("--parts", type=int, default=3, help="Maximum number of sub-answers per integration item: 2 to 5.")
@options.option(
    "--tokens",
    type=int,
    default=85,
    help=("Approximate document length in tokens: 60, or 80 to 1500. Values between 60 and 80 are treated as 80."),
)
@options.option(
    "--perturbations",
    metavar="NAMES",
    default="mix",
    help=(
        "Perturbations to add: none, mix (all types, in 20% of the items), or a list of names. With a list, base "
        "items are generated in minimal pairs, with and without the perturbation."
    ),
)
@options.option("--workers", type=int, show_default="one per core", help="Number of worker processes.")
@options.json_option
@options.config_option
def synth(out: Path, json: bool, **settings: Any) -> None:  # noqa: ANN401 - the options above
    """Generate a dataset of fictional news.

    No model has seen these texts, and the ground truth is known exactly. DIR receives {lang}_base.jsonl,
    {lang}_int.jsonl and {lang}_fact.jsonl, and a manifest.json with the seed, the versions and a
    checksum of each file.

    \b
    Examples:
      ragbed synth --seed 7 --items 300 -o news
      ragbed synth --items 100 --lang en --perturbations sibling,hedge -o pairs
      ragbed synth --items 1000000 --lang zh --num-docs 10 --tokens 60 --integration 0 --counterfactual 0 -o zh
    """
    from ragbed.api import datasets
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        made = datasets.synthesize(out, progress=progress, **settings)
    print_table(made.records(), to_stderr=json)
    if json:
        print_json({"folder": str(out), "manifest": made.manifest})
