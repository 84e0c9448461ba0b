"""`ragbed merge`: shards, or runs of several machines, as one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli import options
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.io.locations import Place


@click.command()
@click.argument("runs", nargs=-1, required=True, type=options.to_place, metavar="RUN...|SUMS...")
@options.option(
    "--out", "-o", required=True, type=options.to_place, metavar="RUN|SUMS", help="A new folder; a file for sums."
)
@options.json_option
def merge(runs: tuple[Place, ...], out: Place, json: bool) -> None:
    """Put shards, or runs of several machines, together as one run; or sums of them (`ragbed score --sums`).

    They must have been begun with the same settings, apart from --shard, and all shards must be there. A case that
    two runs asked the same model about must have the same reply in both; an error gives way to a reply.

    \b
    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
      ragbed merge s3://bucket/sums-1.jsonl s3://bucket/sums-2.jsonl -o sums.jsonl
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.sums import tell_apart
    from ragbed.runs.merging import merge as merge_runs
    from ragbed.text import counted

    folders, files = tell_apart(list(dict.fromkeys(runs)))
    if files:
        _merge_sums(files, out, to_json=json)
        return
    if not isinstance(out, Path):
        raise UsageError(f"--out {out}: a run is a folder of this machine; export it, or its sums, to there.")
    merged = merge_runs(folders, out)
    twice = f"; {merged.twice:,} stood in more than one of them" if merged.twice else ""
    what = f"{counted(merged.cases, 'case')} and {counted(merged.results, 'result')} of {counted(len(runs), 'run')}"
    say(f"{what} written to {out}{twice}.")
    if json:
        told = {"cases": merged.cases, "results": merged.results, "twice": merged.twice, "output": str(out)}
        print_json(told)


def _merge_sums(files: list[Place], out: Place, *, to_json: bool) -> None:
    from ragbed.analysis.partial_sum_files import read_sums, write_sums
    from ragbed.cli.console import print_json, say

    sums = read_sums(files)
    say(f"{write_sums(sums, out)} of {len(files)} files written to {out}.")
    if to_json:
        print_json({"trials": sums.trials, "questions": sums.questions, "output": str(out)})
