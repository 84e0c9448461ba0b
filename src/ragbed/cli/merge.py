"""`ragbed merge`: combine shards, or runs from several machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbed.cli.console import print_json, say
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import MergeSpec


@command()
def merge(spec: MergeSpec, *, json: Json = False) -> None:
    """Combine shards, or runs from several machines, into one run.

    The runs must have the same settings, apart from --shard, and no shard may be missing. If two runs contain
    responses by the same model to the same case, the responses must be identical. A response replaces an error.

    \b
    Examples:
      ragbed merge runs/part-1 runs/part-2 runs/part-3 -o runs/whole
    """
    from ragbed.api import sharing

    merged = sharing.merge.start(spec)
    twice = merged.counts["twice"]
    duplicates = f"; {twice:,} appeared in more than one of them" if twice else ""
    say(f"{merged.description} written to {spec.out}{duplicates}.")
    if json:
        print_json({**merged.counts, "output": str(spec.out)})
