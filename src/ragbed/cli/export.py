"""`ragbed export`: a dataset in another format."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options


@click.command()
@click.argument("data", metavar="DATA")
@options.option("--to", required=True, metavar="FORMAT", help="native (with provenance) or rgb.")
@options.option("--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FILE", help="For the items.")
@options.json_option
def export(data: str, to: str, output: Path, json: bool) -> None:
    """Write a dataset in another format.

    What came from RGB's files goes back to the same bytes.

    \b
    Examples:
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export en_fact.jsonl --to rgb -o en_fact.json
    """
    from ragbed.cli.console import print_json, say
    from ragbed.cli.data import open_data, open_output
    from ragbed.datasets import FORMATS
    from ragbed.errors import UnknownName

    if to not in FORMATS:
        raise UnknownName("format", to, FORMATS)
    (dataset,) = open_data([data])
    count = 0
    with open_output(output, [dataset]) as sink:
        for item in dataset.items():
            line = FORMATS[to].to_line(item)
            if sink is not None:
                sink.write(line)
            count += 1
    say(f"{count} items of {dataset.name} written to {output} as {to}.")
    if json:
        print_json({"items": count, "format": to, "output": str(output)})
