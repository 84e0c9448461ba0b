"""`ragbed build quality`: compare a dataset's quality with RGB's, check quality gates, and compare editions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.options import DataName, LocalPath, config_option, json_option, option
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.builder.quality import Quality
    from ragbed.builder.quality.drift import Drift


@click.command()
@click.argument("data", type=DataName())
@option("--out", "-o", type=LocalPath(), metavar="FILE", help="Report file to write (.html or .json).")
@option("--against", metavar="DATA", help="Earlier edition of the dataset, for comparison.")
@option(
    "--runs",
    metavar="RUN",
    type=LocalPath(),
    multiple=True,
    help="Folder of a run on this dataset, used to measure how well the items discriminate between models. Repeatable.",
)
@option(
    "--cutoff",
    metavar="MODEL=DATE",
    multiple=True,
    help="Knowledge cutoff of a model in --runs, to report accuracy on items dated before and after it. Repeatable.",
)
@option(
    "--corpus",
    metavar="PATH",
    type=LocalPath(),
    multiple=True,
    help="Training corpus to search for the dataset's items (contamination check). Repeatable.",
)
@json_option
@config_option
def quality(
    data: str,
    out: Path | None,
    against: str | None,
    runs: tuple[Path, ...],
    cutoff: tuple[str, ...],
    corpus: tuple[Path, ...],
    json: bool,
) -> None:
    """Measure the quality of a dataset or a build folder.

    Each value is shown with RGB's value and its gate. The exit code is 4 if a gate fails.

    \b
    Examples:
      ragbed build quality en_fact -o quality.html
      ragbed build quality builds/news --against builds/news-october -o quality.html
      ragbed build quality builds/news --runs runs/news --cutoff openai/gpt-4o=2024-06-01
    """
    from ragbed.api import building
    from ragbed.builder.quality.reports import quality_values

    result = building.build_quality(data, out=out, against=against, runs=runs, cutoff=cutoff, corpus=corpus)
    _print(result.quality, result.drift, to_stderr=json)
    if out is not None:
        say(f"{out} written.")
    if json:
        print_json(quality_values(result.quality, result.drift))
    if not result.ok:
        say(f"Failed gates: {', '.join(measure.name for measure in result.quality.failed)}.")
        raise click.exceptions.Exit(4)


def _print(quality: Quality, drift: Drift | None, *, to_stderr: bool) -> None:
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
    if drift is not None:
        shifts = [
            [
                shift.now.title,
                show_value(shift.before),
                show_value(shift.now),
                "" if shift.p is None else f"{shift.p:.2g}",
                "changed" if shift.is_changed else "",
            ]
            for shift in drift.shifts
        ]
        title = (
            f"Since {', '.join(drift.before)}: {drift.added:,} questions added, {drift.removed:,} removed, and "
            f"{len(drift.changed):,} of {drift.shared:,} shared questions have a different answer"
        )
        print_table(title, ["figure", "before", "now", "p", ""], shifts, to_stderr=to_stderr)
