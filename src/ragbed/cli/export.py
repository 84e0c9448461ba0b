"""`ragbed export`: export datasets, test cases and runs to other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ragbed.api.spec import LayoutOptions
from ragbed.api.specification import fields_of
from ragbed.cli.console import print_json, print_lines, print_table, program, quoted, say
from ragbed.cli.options import Json, command
from ragbed.errors import UsageError

if TYPE_CHECKING:
    from ragbed.api.job_specs import ExportSpec
    from ragbed.api.sharing import ExportResult
    from ragbed.testbeds.feasibility import FeasibilityRow

_SHOWN = 5  # Maximum number of unanswered trials to print; --json contains all of them.
_REASONS = 2  # Maximum number of reasons to print per condition; --json contains all of them.


@command()
def export(spec: ExportSpec, *, json: Json = False) -> None:
    """Export a dataset, test cases or a run for other tools.

    Without -o, `--to jsonl` prints how many test cases a dataset has, and why others are infeasible. No model is
    called.

    Exported test cases have fixed documents, document order and prompts, with checksums. Inspect AI and
    lm-evaluation-harness score them with ragbed's scorers. A run is written with one trial per line, or as an archive:
    a zip file that `ragbed import --from archive` restores and `ragbed run -m replay/FILE` replays. Trials without a
    response are listed; if a format cannot contain them, the exit code is 3.

    \b
    Examples:
      ragbed export en_refine --to jsonl
      ragbed export zh_int.json --testbeds integration --noise 0,0.4 --to jsonl -o cases.jsonl
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export qa.csv --docs handbook --corpus clean,withheld --to corpora -o corpora
      ragbed export ragbed-mini-en_base --testbeds noise --to inspect -o my_testbed
      ragbed export en_refine zh_refine --to hf -o rgb_frozen
      ragbed export runs/qwen --to jsonl -o qwen.jsonl --canonical
      ragbed export runs/qwen --to archive -o qwen.zip
      ragbed export runs/qwen --to rgb -o results
    """
    from ragbed.api import sharing

    out = sys.stdout.buffer if spec.out == "-" else spec.out
    exported = sharing.export.start(replace(spec, out=out))
    shown = "-" if spec.out == "-" else exported.out
    if out is None:
        _print_counts(exported.conditions, to_stderr=json)
    for line in _describe(exported, spec, shown) if out is not None else ():
        say(line)
    if json:
        print_json(_summary(exported, shown))
    if out is None and not any(row.feasible for row in exported.conditions):
        raise UsageError(
            "No case can be built; the reasons are listed above. Choose other values for --noise, --num-docs, "
            "--true-ratio or --distractors, or another dataset."
        )
    if not exported.complete:
        raise click.exceptions.Exit(3)


def count_command(data: object, spec: LayoutOptions) -> str:
    """Return the command that shows which cases of the command with these options are infeasible, and why."""
    words = named(data)
    for name, field in fields_of(LayoutOptions).items():
        if (value := getattr(spec, name)) != field.default:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return f"{program()} export {quoted(*words)} --to jsonl"


def named(values: object) -> list[str]:
    """Return the names that the user typed for a repeatable option."""
    return [str(value) for value in values] if isinstance(values, tuple) else [str(values)]


def _print_counts(rows: Sequence[FeasibilityRow], *, to_stderr: bool) -> None:
    from ragbed.api.datasets import tabulate_cases

    print_table(tabulate_cases(rows), to_stderr=to_stderr)
    lacking = [row for row in rows if row.infeasible]
    if lacking:
        lines = ["Infeasible cases, which are never run:"]
        for row in lacking:
            reasons = sorted(row.reasons.items(), key=lambda pair: -pair[1])
            shown = "; ".join(f"{reason} (×{count})" for reason, count in reasons[:_REASONS])
            more = "; …" if len(reasons) > _REASONS else ""
            true = f" true_ratio={row.true_ratio:.3g}" if row.true_ratio else ""
            noise = "" if row.noise is None else f" noise={row.noise:.3g}"
            where = f"{row.data} {row.testbed} {row.lang}{noise}{true} k={row.k} arm={row.arm}"
            lines.append(f"  {where}: {shown}{more}")
        print_lines(lines, to_stderr=to_stderr)


def _describe(exported: ExportResult, spec: ExportSpec, out: str) -> list[str]:
    sources = named(spec.sources)
    lines = [f"{exported.count:,} {exported.unit} from {', '.join(sources)} written to {out} as {exported.to}."]
    if infeasible := sum(exported.infeasible.values()):
        cases = "case was" if infeasible == 1 else "cases were"
        state = "exported with the reason" if exported.conditions else "not exported"
        lines.append(f"{infeasible:,} infeasible {cases} {state}. To see all reasons, run:")
        lines.append(f"  {count_command(spec.sources, spec)}")
    if exported.failed:
        where = "They were not exported" if exported.leaves_out else "They were exported with their outcome"
        lines.append(f"Trials without a response: {len(exported.failed):,}. {where}:")
        lines += [f"  {failed}" for failed in exported.failed[:_SHOWN]]
        if len(exported.failed) > _SHOWN:
            lines.append(f"  … and {len(exported.failed) - _SHOWN:,} more (--json lists all of them)")
    return [*lines, *exported.notes]


def _summary(exported: ExportResult, out: str) -> dict[str, object]:
    summary: dict[str, object] = {exported.unit: exported.count, "format": exported.to, "output": out or None}
    if exported.conditions:
        summary["conditions"] = exported.conditions
    if exported.infeasible:
        summary["infeasible"] = exported.infeasible
    if exported.failed:
        summary["failed"] = exported.failed
    return summary
