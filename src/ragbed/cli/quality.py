"""`ragbed build quality`: compare a dataset's quality with RGB's, and check quality gates."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import DataName, LocalPath, config_option, json_option, option


@click.command()
@click.argument("data", type=DataName())
@option("--out", "-o", type=LocalPath(), metavar="FILE", help="Report file to write (.html or .json).")
@json_option
@config_option
def quality(
    data: str,
    out: Path | None,
    json: bool,
) -> None:
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate. The exit code is 4 if a gate fails.

    \b
    Examples:
      ragbed build quality en_fact -o quality.html
      ragbed build quality builds/news
    """
    from ragbed.api import building
    from ragbed.builder.quality.reports import quality_values

    result = building.build_quality(data, out=out)
    print_table(result.records(), to_stderr=json)
    if out is not None:
        say(f"{out} written.")
    if json:
        print_json(quality_values(result.quality))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)
