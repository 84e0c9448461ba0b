"""`ragbed build quality`: compare a dataset's quality with RGB's, and check quality gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import QualitySpec


@command()
def quality(spec: QualitySpec, *, json: Json = False) -> None:
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate. The exit code is 4 if a gate fails.

    \b
    Examples:
      ragbed build quality en_fact -o quality.html
      ragbed build quality builds/news
    """
    from ragbed.api import building
    from ragbed.builder.quality.reports import quality_values

    result = building.build_quality.start(spec)
    print_table(result.records(), to_stderr=json)
    if spec.out is not None:
        say(f"{spec.out} written.")
    if json:
        print_json(quality_values(result.quality))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)
