"""`ragbed merge`: combine shards, or runs from several machines."""

from __future__ import annotations

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, say


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.FileName(), metavar="RUN...|AGGREGATES...")
@options.option(
    "--out",
    "-o",
    required=True,
    type=options.FileName(),
    metavar="RUN|AGGREGATES",
    help="New folder for the merged run, or a file or URL for merged aggregates.",
)
@options.json_option
def merge(runs: tuple[str, ...], out: str, json: bool) -> None:
    """Combine shards, or runs from several machines, into one run.

    Files of aggregates (`ragbed score --aggregates`) can be combined in the same way.

    The runs must have the same settings, apart from --shard, and no shard may be missing. If two runs contain
    responses by the same model to the same case, the responses must be identical. A response replaces an error.

    \b
    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
      ragbed merge s3://bucket/part-1.jsonl s3://bucket/part-2.jsonl -o aggregates.jsonl
    """
    from ragbed.api import sharing

    merged = sharing.merge(runs, out)
    twice = merged.counts.get("twice")
    duplicates = f"; {twice:,} appeared in more than one of them" if twice else ""
    say(f"{merged.description} written to {merged.out}{duplicates}.")
    if json:
        print_json({**merged.counts, "output": merged.out})
