"""`ragbed merge`: combine shards, or runs from several machines."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, say


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.LocalPath(), metavar="RUN...")
@options.option(
    "--out",
    "-o",
    required=True,
    type=options.LocalPath(),
    metavar="RUN",
    help="New folder for the merged run.",
)
@options.json_option
def merge(runs: tuple[Path, ...], out: Path, json: bool) -> None:
    """Combine shards, or runs from several machines, into one run.

    The runs must have the same settings, apart from --shard, and no shard may be missing. If two runs contain
    responses by the same model to the same case, the responses must be identical. A response replaces an error.

    \b
    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
    """
    from ragbed.api import sharing

    merged = sharing.merge(runs, out)
    twice = merged.counts["twice"]
    duplicates = f"; {twice:,} appeared in more than one of them" if twice else ""
    say(f"{merged.description} written to {out}{duplicates}.")
    if json:
        print_json({**merged.counts, "output": str(out)})
