"""`ragbed export`: export datasets, test cases and runs to other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.console import console, print_json, print_table, program, quoted, say
from ragbed.cli.keywords import call_with_given, given
from ragbed.errors import UsageError
from ragbed.text import printable

if TYPE_CHECKING:
    from ragbed.api.sharing import ExportResult
    from ragbed.api.spec import LayoutKeywords
    from ragbed.testbeds.feasibility import FeasibilityRow

_SHOWN = 5  # Maximum number of unanswered trials to print; --json contains all of them.
_REASONS = 2  # Maximum number of reasons to print per condition; --json contains all of them.


@help_groups.command()
@click.argument("sources", nargs=-1, required=True, type=options.DataName(), metavar="DATA...|RUN")
@options.option(
    "--to",
    required=True,
    metavar="FORMAT",
    help=(
        "Output format. For items: native, rgb, parquet. For test cases: jsonl, inspect, lm-eval, hf. For the "
        "own-rag testbed: corpora (a folder for each variant of the documents). For runs: jsonl, parquet, archive or "
        "rgb (the file format of the original RGB code)."
    ),
)
@options.option(
    "--out",
    "-o",
    type=options.FileName(),
    metavar="PATH",
    show_default="print the counts, for test cases as jsonl",
    help="File, new folder or URL to write to, e.g. s3://bucket/data; '-' writes to stdout.",
)
@options.option(
    "--canonical",
    is_flag=True,
    help="For runs: sort the trials and omit timings and attempts, so that identical runs produce identical files.",
)
@options.option("--model", "-m", help="For runs: export only the trials of this model.")
@options.layout_options
@options.json_option
@options.config_option
def export(
    sources: tuple[str, ...],
    to: str,
    out: str | None,
    canonical: bool,
    model: str | None,
    json: bool,
    **layout: Unpack[LayoutKeywords],
) -> None:
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
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        exported = call_with_given(
            sharing.export,
            sources,
            to,
            sys.stdout.buffer if out == "-" else out,
            canonical=canonical,
            model=model,
            progress=progress,
            **given(layout),
        )
    shown = "-" if out == "-" else exported.out
    if out is None:
        _print_counts(exported.conditions, to_stderr=json)
    for line in _describe(exported, sources, shown) if out is not None else ():
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


def count_command(data: Sequence[str]) -> str:
    """Return the command that shows which cases of the current command are infeasible, and why."""
    from ragbed.api.spec import LayoutKeywords

    context = click.get_current_context()
    words = [str(options.to_place(name)) if "://" in name else name for name in data]
    for option in export.params:
        name = str(option.name)
        is_set = context.get_parameter_source(name) not in (None, click.core.ParameterSource.DEFAULT)
        if name in LayoutKeywords.__annotations__ and is_set and context.params[name] is not None:
            words += [option.opts[0], str(context.params[name])]
    return f"{program()} export {quoted(*words)} --to jsonl"


def _print_counts(rows: Sequence[FeasibilityRow], *, to_stderr: bool) -> None:
    columns: dict[str, list[object]] = {
        "data": [row.data for row in rows],
        "testbed": [row.testbed for row in rows],
        "lang": [row.lang for row in rows],
        "noise": ["–" if row.noise is None else row.noise for row in rows],
        "real": ["–" if row.noise_real is None else row.noise_real for row in rows],
        "true_ratio": [row.true_ratio for row in rows],
        "k": [row.k for row in rows],
        "arm": [row.arm for row in rows],
        "feasible": [row.feasible for row in rows],
        "infeasible": [row.infeasible for row in rows],
    }
    for name in ("true_ratio", "arm"):  # omit a column that has the same value in all rows
        if len(set(columns[name])) == 1:
            del columns[name]
    print_table("Cases", list(columns), list(zip(*columns.values(), strict=True)), to_stderr=to_stderr)
    lacking = [row for row in rows if row.infeasible]
    if lacking:
        out = console(to_stderr=to_stderr)
        out.print("Infeasible cases, which are never run:")
        for row in lacking:
            reasons = sorted(row.reasons.items(), key=lambda pair: -pair[1])
            shown = "; ".join(f"{reason} (×{count})" for reason, count in reasons[:_REASONS])
            more = "; …" if len(reasons) > _REASONS else ""
            true = f" true_ratio={row.true_ratio:.3g}" if row.true_ratio else ""
            noise = "" if row.noise is None else f" noise={row.noise:.3g}"
            where = f"{row.data} {row.testbed} {row.lang}{noise}{true} k={row.k} arm={row.arm}"
            out.print(printable(f"  {where}: {shown}{more}"), soft_wrap=True)


def _describe(exported: ExportResult, sources: Sequence[str], out: str) -> list[str]:
    lines = [f"{exported.count:,} {exported.unit} from {', '.join(sources)} written to {out} as {exported.to}."]
    if infeasible := sum(exported.infeasible.values()):
        cases = "case was" if infeasible == 1 else "cases were"
        state = "exported with the reason" if exported.conditions else "not exported"
        lines.append(f"{infeasible:,} infeasible {cases} {state}. To see all reasons, run:")
        lines.append(f"  {count_command(sources)}")
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
