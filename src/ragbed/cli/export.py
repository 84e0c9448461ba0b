"""`ragbed export`: a dataset in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragbed.cli import options


def export(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A file, or the name of data that `ragbed data list` shows.")
    ],
    to: Annotated[str, typer.Option(help="native (with provenance) or rgb.", envvar="RAGBED_TO")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the items go.")],
    json: options.Json = False,
) -> None:
    """Write a dataset in another format.

    What came from RGB's files goes back to the same bytes.

    \b
    Examples:
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export en_fact.jsonl --to rgb -o en_fact.json
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.data import open_data
    from ragbed.datasets import FORMATS
    from ragbed.errors import UnknownName
    from ragbed.store import write_whole

    if to not in FORMATS:
        raise UnknownName("format", to, FORMATS)
    (dataset,) = open_data([data])
    count = 0
    with write_whole(output) as sink:
        for item in dataset.items():
            sink.write(FORMATS[to].to_line(item))
            count += 1
    say(f"{count} items of {dataset.name} written to {output} as {to}.")
    if json:
        print_json({"items": count, "format": to, "output": str(output)})
