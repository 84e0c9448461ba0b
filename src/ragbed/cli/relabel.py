"""`ragbed build relabel`: relabel a dataset's documents, and compare the result with the published labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_lines, print_table
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.building import RelabelResult


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
    print_table(result.records(), to_stderr=json)
    print_lines(_lines(result), to_stderr=json)
    if json:
        counts = result.counts
        summary = {"data": result.data, "items": counts.items, "rebuilt": counts.rebuilt, "agreement": counts.rows}
        print_json(summary | {"disagreements": result.disagreements})


def _lines(result: RelabelResult) -> Iterator[str]:
    from ragbed.builder.relabel import WAYS

    yield f"RGB's rule reproduces the published labels of {result.counts.rebuilt:,} of {result.counts.items:,} items."
    for way, meaning in WAYS.items():
        found = [case for case in result.disagreements if case.way == way]
        yield f"\n{len(found):,} disagreements with the rule: {meaning}"
        for case in found:
            yield f"  item {case.item}, {case.place}: {case.label} ({case.rule}): {case.reason}. ‘{case.text}…’"
