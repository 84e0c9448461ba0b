"""`ragbed build relabel`: the documents of a dataset labelled again and compared with the published labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ragbed.cli.options import config_option, json_option

if TYPE_CHECKING:
    from ragbed.builder.relabel import LabelDisagreement, Relabelling
    from ragbed.schema import Label


@click.command()
@click.argument("data")
@json_option
@config_option
def relabel(data: str, json: bool) -> None:
    """Label the documents of a dataset again, and compare with its labels.

    Every document on which the labels differ is printed with the reason. Nothing is written.

    \b
    Examples:
      ragbed build relabel zh_refine
      ragbed build relabel zh_refine --json > labels.json
    """
    from ragbed.builder.relabel import relabel as label_again
    from ragbed.cli.console import print_json
    from ragbed.data.catalog import open_data

    (dataset,) = open_data([data])
    sums, disagreements = label_again(dataset.items())
    _print(dataset.name, sums, disagreements, to_stderr=json)
    if json:
        summary = {"data": dataset.name, "items": sums.items, "rebuilt": sums.rebuilt, "agreement": sums.rows}
        print_json(summary | {"disagreements": disagreements})


def _print(name: str, sums: Relabelling, disagreements: list[LabelDisagreement], *, to_stderr: bool) -> None:
    from ragbed.builder.relabel import WAYS
    from ragbed.cli.console import console, print_table
    from ragbed.text import printable

    out = console(to_stderr=to_stderr)
    rows = [
        [WAYS[row.way], row.published, row.agree, row.of, f"{row.agree / row.of:.2%}", _spread(row.labels)]
        for row in sums.rows
    ]
    columns = ["rule", "published as", "agree", "of", "share", "labelled now"]
    print_table(f"{name}: {sums.items:,} items", columns, rows, to_stderr=to_stderr)
    out.print(
        f"{sums.rebuilt:,} of {sums.items:,} items come out as they are published, by RGB's rule.", soft_wrap=True
    )
    for way, meaning in WAYS.items():
        some = [one for one in disagreements if one.way == way]
        out.print(f"\n{len(some):,} disagreements, rule: {meaning}", style="bold")
        for one in some:
            line = f"  item {one.item}, {one.place}: {one.label} ({one.rule}): {one.reason}. ‘{one.text}…’"
            out.print(printable(line), soft_wrap=True)


def _spread(labels: Mapping[Label, int]) -> str:
    return ", ".join(f"{label} {count:,}" for label, count in sorted(labels.items(), key=lambda one: -one[1]))
