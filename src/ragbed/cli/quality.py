"""`ragbed build quality`: compare a dataset's quality with RGB's, and check quality gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.job_specs import QualitySpec
    from ragbed.builder.quality import Quality


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
    _print(result.quality, to_stderr=json)
    if spec.out is not None:
        say(f"{spec.out} written.")
    if json:
        print_json(quality_values(result.quality))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)


def _print(quality: Quality, *, to_stderr: bool) -> None:
    from ragbed.builder.quality.page import show_value

    names = ", ".join(quality.data)
    rows = [
        [
            measure.name,
            show_value(measure),
            measure.n,
            measure.gate or "",
            measure.passed.replace("no gate", ""),
            measure.note,
            measure.reference,
        ]
        for family in quality.families.values()
        for measure in family
    ]
    title = f"{names}: {counted(quality.items, 'item')}, {counted(quality.passages, 'passage')}"
    print_table(title, ["figure", "value", "of", "gate", "", "note", "RGB"], rows, to_stderr=to_stderr)
