"""`ragbed import`: import results from the original code, or answers produced elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ragbed.cli.console import print_json, say
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.job_specs import ImportSpec
    from ragbed.api.sharing import ImportResult

_SHOWN = 20  # Maximum number of problems to print; --json contains all of them.


@command("import")
def import_(spec: ImportSpec, *, json: Json = False) -> None:
    """Import an archive or results from other tools as a run.

    A result file of the original code states its settings in its name. Its cases are generated with --profile code-2024
    unless you choose code-2023, and matched by id, question and answer. JSON lines ({"case", "reply"} or {"item",
    "noise", "reply"}) are matched to the cases that the options select, or to those of an exported testbed. Entries
    that match no case are listed, and cases without an entry count as errors. An archive contains its cases and needs
    no -d.

    \b
    Examples:
      ragbed import results/prediction_en_*.json --from rgb -d en_refine -o runs/original
      ragbed import answers.jsonl --from jsonl -m mine/rag -d zh_refine --testbeds noise -o runs/mine
      ragbed import qwen.zip --from archive -o runs/qwen
      ragbed import traces.jsonl --from traces -o runs/live
    """
    from ragbed.api import sharing

    imported, is_archive = sharing.import_results.start(spec), spec.from_ == "archive"
    for line in _describe_archive(imported, Path(spec.out)) if is_archive else _describe(imported, Path(spec.out)):
        say(line)
    if json:
        problems = {} if is_archive else {"problems": imported.problems}
        print_json({**imported.counts, **problems, "output": str(spec.out)})
    if not imported.complete:
        raise click.exceptions.Exit(3)


def _describe_archive(imported: ImportResult, out: Path) -> list[str]:
    counts = imported.counts
    also = f" and {counted(counts['runs'] - 1, 'run')} of judges or interventions" if counts["runs"] > 1 else ""
    return [f"{counted(counts['results'], 'response')} to {counted(counts['cases'], 'case')}{also} written to {out}."]


def _describe(imported: ImportResult, out: Path) -> list[str]:
    lines = [f"No matching case: {problem}" for problem in imported.problems[:_SHOWN]]
    if len(imported.problems) > _SHOWN:
        lines.append(f"… and {len(imported.problems) - _SHOWN:,} more lines (--json lists all of them)")
    counts = imported.counts
    answered = counts["matched"] - sum(counts[outcome] for outcome in ("failed", "truncated", "filtered"))
    lines.append(f"{answered:,} of {counts['planned']:,} cases have an answer; written to {out}.")
    if counts["missing"]:
        lines.append(f"{counts['missing']:,} cases are missing from the files and count as errors (missing-result).")
    if counts["failed"]:
        lines.append(f"{counts['failed']:,} cases failed and count as errors.")
    if counts["truncated"]:
        lines.append(
            f"{counts['truncated']:,} responses end prematurely, e.g. inside a thought, and count as truncated."
        )
    if counts["filtered"]:
        lines.append(f"{counts['filtered']:,} responses were blocked by a content filter and count as filtered.")
    if counts["labels"]:
        same = counts["labels"] - counts["other_labels"]
        lines.append(f"{same:,} of {counts['labels']:,} labels in the files match code.label.")
    if counts["other_documents"]:
        lines.append(
            f"{counts['other_documents']:,} answers are based on documents that this profile does not select. Try "
            "the other profile (code-2024 or code-2023), or check the version of the data."
        )
    return lines
