"""`ragbed build quality`: compare a dataset's quality with RGB's, and check quality gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_tables, say
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import QualitySpec


@command()
def quality(spec: QualitySpec, *, json: Json = False) -> None:
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate; for a build, also the counts of each step. The exit code is 4 if
    a gate fails.

    \b
    Examples:
      ragbed build quality en_fact
      ragbed build quality builds/news --json
    """
    from ragbed.api import building
    from ragbed.builder.quality import quality_values

    result = building.build_quality.start(spec)
    print_tables(result.tables(), to_stderr=json)
    if json:
        print_json(quality_values(result.quality))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)
