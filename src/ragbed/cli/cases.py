"""`ragbed cases`: lays the testbeds out and writes them, asking nobody."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.api.layout import LayoutOptions
    from ragbed.io.locations import Place
    from ragbed.testbeds.feasibility import FeasibilityCounts


_FEW = 2
"""Reasons shown per condition; `--json` has them all."""


@click.command()
@options.data_argument
@options.option("--out", "-o", type=options.to_place, metavar="FILE", help="File for the case lines; '-' is stdout.")
@options.layout_options
@options.json_option
@options.config_option
def cases(data: tuple[str, ...], out: Place | None, json: bool, **layout: Unpack[LayoutOptions]) -> None:
    """Lay out the testbeds of a dataset and count what is feasible.

    Every testbed that the items allow, one case a line, ready to be asked; nobody is asked. Without -o
    nothing is written and only the counts are shown.

    \b
    Examples:
      ragbed cases en_refine -o cases.jsonl
      ragbed cases zh_int.json --testbeds integration --noise 0,0.4 --num-docs 10
      ragbed cases en_refine --profile code-2024 --json
    """
    import msgspec

    from ragbed.api.layout import read_layout
    from ragbed.cli.console import print_json, say
    from ragbed.cli.data import open_output
    from ragbed.cli.progress import Counting
    from ragbed.data.catalog import open_data
    from ragbed.testbeds import TESTBEDS, USUAL
    from ragbed.testbeds.feasibility import FeasibilityCounts
    from ragbed.testbeds.selection import choose_testbeds, lay_out

    names, settings = read_layout(layout)
    chosen = choose_testbeds(names, settings)
    for name in USUAL if names is None else ():
        if TESTBEDS[name] not in chosen:
            say(f"Left out: {name}, which has no cases for these noise ratios and distractor conditions.")
    encoder, tally = msgspec.json.Encoder(), FeasibilityCounts()
    left_out: list[str] = []
    datasets = open_data(list(data))
    with open_output(out, datasets) as sink, Counting("cases laid out") as counting:
        for case in lay_out(datasets, chosen, settings, named=names is not None, tell=left_out.append):
            counting.one_more()
            tally.add(case)
            if sink is not None:
                sink.write(encoder.encode(case) + b"\n")
    for told in left_out:  # not across the line that counts
        say(told)
    _print_counts(tally, to_stderr=json or str(out) == "-")
    if json:
        print_json(tally.summary())


def cases_command(data: Sequence[str]) -> str:
    """Return the command that shows which cases of the current command are infeasible, and why."""
    from ragbed.api.layout import LayoutOptions
    from ragbed.cli.console import program

    context, typed = click.get_current_context(), [str(options.to_place(one)) if "://" in one else one for one in data]
    for one in cases.params:
        name = str(one.name)
        is_set = context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT)
        if name in LayoutOptions.__annotations__ and is_set and context.params[name] is not None:
            typed += [one.opts[0], str(context.params[name])]
    return f"{program()} cases {shlex.join(typed)}"


def _print_counts(tally: FeasibilityCounts, *, to_stderr: bool) -> None:
    from ragbed.cli.console import console, print_table
    from ragbed.text import printable

    columns: dict[str, list[object]] = {
        "data": [row.data for row in tally.rows],
        "testbed": [row.testbed for row in tally.rows],
        "lang": [row.lang for row in tally.rows],
        "noise": ["–" if row.noise is None else row.noise for row in tally.rows],
        "real": ["–" if row.noise_real is None else row.noise_real for row in tally.rows],
        "correct": [row.correct for row in tally.rows],
        "k": [row.k for row in tally.rows],
        "arm": [row.arm for row in tally.rows],
        "feasible": [row.feasible for row in tally.rows],
        "infeasible": [row.infeasible for row in tally.rows],
    }
    for name in ("correct", "arm"):  # of no interest where nobody asked for more than one
        if len(set(columns[name])) == 1:
            del columns[name]
    print_table("Cases", list(columns), list(zip(*columns.values(), strict=True)), to_stderr=to_stderr)
    lacking = [row for row in tally.rows if row.infeasible]
    if lacking:
        out = console(to_stderr=to_stderr)
        out.print("Infeasible cases are not asked:")
        for row in lacking:
            reasons = sorted(row.reasons.items(), key=lambda pair: -pair[1])
            shown = "; ".join(f"{reason} (×{count})" for reason, count in reasons[:_FEW])
            more = "; …" if len(reasons) > _FEW else ""
            correct = f" correct={row.correct:.3g}" if row.correct else ""
            where = f"{row.data} {row.testbed} {row.lang} noise={row.noise:.3g}{correct} k={row.k} arm={row.arm}"
            out.print(printable(f"  {where}: {shown}{more}"), soft_wrap=True)
