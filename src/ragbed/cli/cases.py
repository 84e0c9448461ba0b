"""`ragbed cases`: preview the test cases of datasets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.console import console, print_json, print_table, program, quoted
from ragbed.errors import UsageError
from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.spec import LayoutKeywords
    from ragbed.testbeds.feasibility import FeasibilityCounts

_FEW = 2  # Maximum number of reasons to print per condition; --json contains all of them.


@help_groups.command()
@options.data_argument
@options.option(
    "--out",
    "-o",
    type=options.FileName(),
    metavar="FILE",
    help="File or URL to write the cases to, one per line; '-' writes to stdout.",
)
@options.layout_options
@options.json_option
@options.config_option
def cases(data: tuple[str, ...], out: str | None, json: bool, **layout: Unpack[LayoutKeywords]) -> None:
    """Preview a dataset's test cases and count the infeasible ones.

    The cases of every testbed that the items support are generated with documents and prompts. No model is called.
    Without --out, only the counts are printed.

    \b
    Examples:
      ragbed cases en_refine -o cases.jsonl
      ragbed cases zh_int.json --testbeds integration --noise 0,0.4 --num-docs 10
      ragbed cases en_refine --profile code-2024 --json
    """
    from ragbed.api import datasets
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        made = datasets.cases(data, out=sys.stdout.buffer if out == "-" else out, progress=progress, **layout)
    _print_counts(made.counts, to_stderr=json or out == "-")
    if json:
        print_json(made.counts.summary())
    if not any(row.feasible for row in made.counts.rows):
        raise UsageError(
            "No case can be built; the reasons are listed above. Choose other values for --noise, --num-docs, "
            "--true-ratio or --distractors, or another dataset."
        )


def cases_command(data: Sequence[str]) -> str:
    """Return the command that shows which cases of the current command are infeasible, and why."""
    from ragbed.api.spec import LayoutKeywords

    context = click.get_current_context()
    words = [str(options.to_place(name)) if "://" in name else name for name in data]
    for option in cases.params:
        name = str(option.name)
        is_set = context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT)
        if name in LayoutKeywords.__annotations__ and is_set and context.params[name] is not None:
            words += [option.opts[0], str(context.params[name])]
    return f"{program()} cases {quoted(*words)}"


def _print_counts(counts: FeasibilityCounts, *, to_stderr: bool) -> None:
    columns: dict[str, list[object]] = {
        "data": [row.data for row in counts.rows],
        "testbed": [row.testbed for row in counts.rows],
        "lang": [row.lang for row in counts.rows],
        "noise": ["–" if row.noise is None else row.noise for row in counts.rows],
        "real": ["–" if row.noise_real is None else row.noise_real for row in counts.rows],
        "correct": [row.correct for row in counts.rows],
        "k": [row.k for row in counts.rows],
        "arm": [row.arm for row in counts.rows],
        "feasible": [row.feasible for row in counts.rows],
        "infeasible": [row.infeasible for row in counts.rows],
    }
    for name in ("correct", "arm"):  # omit a column that has the same value in all rows
        if len(set(columns[name])) == 1:
            del columns[name]
    print_table("Cases", list(columns), list(zip(*columns.values(), strict=True)), to_stderr=to_stderr)
    lacking = [row for row in counts.rows if row.infeasible]
    if lacking:
        out = console(to_stderr=to_stderr)
        out.print("Infeasible cases, which are never run:")
        for row in lacking:
            reasons = sorted(row.reasons.items(), key=lambda pair: -pair[1])
            shown = "; ".join(f"{reason} (×{count})" for reason, count in reasons[:_FEW])
            more = "; …" if len(reasons) > _FEW else ""
            correct = f" correct={row.correct:.3g}" if row.correct else ""
            noise = "" if row.noise is None else f" noise={row.noise:.3g}"
            where = f"{row.data} {row.testbed} {row.lang}{noise}{correct} k={row.k} arm={row.arm}"
            out.print(printable(f"  {where}: {shown}{more}"), soft_wrap=True)
