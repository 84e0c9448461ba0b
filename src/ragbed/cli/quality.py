"""`ragbed build quality`: compare a dataset's quality with RGB's, and check quality gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import DataName, config_option, json_option
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.builder.quality import Quality


@click.command()
@click.argument("data", type=DataName())
@json_option
@config_option
def quality(data: str, json: bool) -> None:
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate; for a build, also the counts of each step, and accepted and
    rejected questions. The exit code is 4 if a gate fails.

    \b
    Examples:
      ragbed build quality en_fact
      ragbed build quality builds/news --json
    """
    from ragbed.api import building
    from ragbed.builder.quality import quality_values

    result = building.build_quality(data)
    _print(result.quality, to_stderr=json)
    if json:
        print_json(quality_values(result.quality))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)


def _print(quality: Quality, *, to_stderr: bool) -> None:
    from ragbed.builder.quality import show_value

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
    if quality.steps:
        counts = [[name, entered, made] for name, (entered, made) in quality.steps.items()]
        print_table("Steps", ["step", "in", "out"], counts, to_stderr=to_stderr)
        columns = ["check", "question or source", "answer or reason"]
        print_table("Samples", columns, [list(sample) for sample in quality.samples], to_stderr=to_stderr)
