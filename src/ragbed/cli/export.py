"""`ragbed export`: export datasets, test cases and runs to other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.console import print_json, say
from ragbed.cli.keywords import call_with_given, given

if TYPE_CHECKING:
    from ragbed.api.sharing import ExportResult
    from ragbed.api.spec import LayoutKeywords

_SHOWN = 5  # Maximum number of unanswered trials to print; --json contains all of them.


@help_groups.command()
@click.argument("sources", nargs=-1, required=True, type=options.DataName(), metavar="DATA...|RUN")
@options.option(
    "--to",
    required=True,
    metavar="FORMAT",
    help=(
        "Output format. For items: native, rgb, parquet, records, corpus or withheld-corpus (the last two contain "
        "only passages). For test cases: jsonl, inspect, lm-eval, hf, ragas or ragchecker. For runs: jsonl, parquet, "
        "ragas, ragchecker, mlflow, cassette or rgb (the file format of the original RGB code)."
    ),
)
@options.option(
    "--out",
    "-o",
    required=True,
    type=options.FileName(),
    metavar="PATH",
    help="File, new folder or URL to write to, e.g. s3://bucket/data; '-' writes to stdout.",
)
@options.option(
    "--shards",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Split the output into this number of files, with checksums (native, parquet, jsonl and records only).",
)
@options.option(
    "--canonical",
    is_flag=True,
    help="For runs: sort the trials and omit timings and attempts, so that identical runs produce identical files.",
)
@options.option("--model", "-m", help="For runs: export only the trials of this model.")
@options.layout_options
@options.json_option
def export(
    sources: tuple[str, ...],
    to: str,
    out: str,
    shards: int | None,
    canonical: bool,
    model: str | None,
    json: bool,
    **layout: Unpack[LayoutKeywords],
) -> None:
    """Export a dataset, test cases or a run for other tools.

    Exported test cases have fixed documents, document order and prompts, with checksums. Inspect AI and
    lm-evaluation-harness score them with ragbed's scorers. A run is written with one trial per line, or as a cassette:
    a file with a checksum from which `ragbed import --from cassette` restores the run. Trials without a response are
    listed; if a format cannot contain them, the exit code is 3. A corpus contains all passages of a dataset, for a RAG
    system to index. --shards writes several files with checksums, to a folder or a URL.

    \b
    Examples:
      ragbed export en_fact --to native -o en_fact.jsonl
      ragbed export ragbed-mini-en_base --to corpus -o corpus.jsonl
      ragbed export ragbed-mini-en_base --testbeds noise --to inspect -o my_testbed
      ragbed export en_refine zh_refine --to hf -o rgb_frozen
      ragbed export runs/qwen --to jsonl -o qwen.jsonl --canonical
      ragbed export runs/qwen --to cassette -o qwen.cassette
      ragbed export runs/qwen --to rgb -o results
      ragbed export news.jsonl --to native --shards 64 -o s3://bucket/news
    """
    from ragbed.api import sharing
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        exported = call_with_given(
            sharing.export,
            sources,
            to,
            sys.stdout.buffer if out == "-" else out,
            shards=shards,
            canonical=canonical,
            model=model,
            progress=progress,
            **given(layout),
        )
    shown = "-" if out == "-" else exported.out
    for line in _describe(exported, sources, shown):
        say(line)
    if json:
        print_json(_summary(exported, shown))
    if not exported.complete:
        raise click.exceptions.Exit(3)


def _describe(exported: ExportResult, sources: Sequence[str], out: str) -> list[str]:
    from ragbed.cli.cases import cases_command

    lines = [f"{exported.count:,} {exported.unit} from {', '.join(sources)} written to {out} as {exported.to}."]
    if infeasible := sum(exported.infeasible.values()):
        cases = "case was" if infeasible == 1 else "cases were"
        lines.append(f"{infeasible:,} infeasible {cases} not exported. To see why, run:")
        lines.append(f"  {cases_command(sources)}")
    if exported.failed:
        where = "They were not exported" if exported.leaves_out else "They were exported with their outcome"
        lines.append(f"Trials without a response: {len(exported.failed):,}. {where}:")
        lines += [f"  {failed}" for failed in exported.failed[:_SHOWN]]
        if len(exported.failed) > _SHOWN:
            lines.append(f"  … and {len(exported.failed) - _SHOWN:,} more (--json lists all of them)")
    return [*lines, *exported.notes]


def _summary(exported: ExportResult, out: str) -> dict[str, object]:
    summary: dict[str, object] = {exported.unit: exported.count, "format": exported.to, "output": out}
    if exported.infeasible:
        summary["infeasible"] = exported.infeasible
    if exported.failed:
        summary["failed"] = exported.failed
    return summary
