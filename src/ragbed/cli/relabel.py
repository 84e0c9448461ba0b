"""`ragbed build --relabel`: a dataset's own pools labelled again and compared with what is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.builder.relabel import LabelDisagreement, Relabelling
    from ragbed.schema import Label


def relabel_data(data: str, *, json: bool) -> None:
    """Prints how far labels agree, and every passage on which they do not, with the reason.

    Args:
        data: A file, NAME=FILE, or the name of data that is here.
        json: Whether the last line on standard output is for machines, and all else on standard error.
    """
    from ragbed.builder.relabel import relabel
    from ragbed.cli.console import print_json
    from ragbed.data.catalog import open_data

    (dataset,) = open_data([data])
    sums, disagreements = relabel(dataset.items())
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
