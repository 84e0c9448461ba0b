"""`ragbed merge`: shards, or runs of several machines, as one."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@options.option("--output", "-o", required=True, type=click.Path(path_type=Path), metavar="RUN", help="A new folder.")
@options.json_option
def merge(runs: tuple[Path, ...], output: Path, json: bool) -> None:
    """Put shards, or runs of several machines, together as one run.

    They must have been begun with the same settings, apart from --shard, and all shards must be there. A case that
    two runs asked the same model about must have the same reply in both; an error gives way to a reply.

    \b
    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
    """
    from ragbed.cli.console import print_json, say
    from ragbed.runner.merging import merge as merge_runs

    merged = merge_runs(list(dict.fromkeys(runs)), output)
    twice = f"; {merged.twice:,} stood in more than one of them" if merged.twice else ""
    say(f"{merged.cases:,} cases and {merged.results:,} results of {len(runs)} runs written to {output}{twice}.")
    if json:
        told = {"cases": merged.cases, "results": merged.results, "twice": merged.twice, "output": str(output)}
        print_json(told)
