"""`ragbed build relabel`: relabel a dataset's documents, and compare the result with the published labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import console, print_json, print_table
from ragbed.cli.options import Json, command
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from ragbed.api.building import RelabelResult
    from ragbed.schema import Label


@command()
def relabel(
    *, data: Annotated[str, Opt("A dataset.", metavar="DATA", is_argument=True, is_data=True)], json: Json = False
) -> None:
    """Relabel a dataset's documents and compare the old and new labels.

    Every document on which the labels differ is printed with the reason. Nothing is written.

    \b
    Examples:
      ragbed build relabel zh_refine
      ragbed build relabel zh_refine --json > labels.json
    """
    from ragbed.api import building

    result = building.build_relabel(data)
    _print(result, to_stderr=json)
    if json:
        counts = result.counts
        summary = {"data": result.data, "items": counts.items, "rebuilt": counts.rebuilt, "agreement": counts.rows}
        print_json(summary | {"disagreements": result.disagreements})


def _print(result: RelabelResult, *, to_stderr: bool) -> None:
    from ragbed.builder.relabel import WAYS

    out, counts = console(to_stderr=to_stderr), result.counts
    rows = [
        [WAYS[row.way], row.published, row.agree, row.of, f"{row.agree / row.of:.2%}", _show_labels(row.labels)]
        for row in counts.rows
    ]
    columns = ["rule", "published label", "agree", "of", "share", "new label"]
    print_table(f"{result.data}: {counted(counts.items, 'item')}", columns, rows, to_stderr=to_stderr)
    out.print(
        f"RGB's rule reproduces the published labels of {counts.rebuilt:,} of {counts.items:,} items.", soft_wrap=True
    )
    for way, meaning in WAYS.items():
        found = [case for case in result.disagreements if case.way == way]
        out.print(f"\n{len(found):,} disagreements with the rule: {meaning}", style="bold")
        for case in found:
            line = f"  item {case.item}, {case.place}: {case.label} ({case.rule}): {case.reason}. ‘{case.text}…’"
            out.print(printable(line), soft_wrap=True)


def _show_labels(labels: Mapping[Label, int]) -> str:
    return ", ".join(f"{label} {count:,}" for label, count in sorted(labels.items(), key=lambda pair: -pair[1]))
