"""`ragbed import`: import results from the original code or other harnesses, or answers produced elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ragbed.cli import help_groups, options
from ragbed.cli.keywords import call_with_given, given

if TYPE_CHECKING:
    from ragbed.api.sharing import ImportResult
    from ragbed.api.spec import LayoutKeywords

_SHOWN = 20  # Maximum number of problems to print; --json contains all of them.


@help_groups.command("import")
@click.argument("files", nargs=-1, required=True, type=options.LocalPath(), metavar="FILE...")
@options.option(
    "--from",
    "from_",
    required=True,
    metavar="FORMAT",
    help="Format: rgb (files of the original code), jsonl, inspect (logs), lm-eval (samples) or cassette.",
)
@options.option(
    "--data",
    "-d",
    multiple=True,
    help="Dataset of the answers, as in `ragbed run`, or an exported testbed. Repeatable.",
)
@options.option("--out", "-o", required=True, type=options.LocalPath(), metavar="RUN", help="New folder for the run.")
@options.option(
    "--model", "-m", help="jsonl, lm-eval: model that gave the answers; inspect: another name for the model."
)
@options.layout_options
@options.json_option
def import_(
    files: tuple[Path, ...],
    from_: str,
    data: tuple[str, ...],
    out: Path,
    model: str | None,
    json: bool,
    **layout: Unpack[LayoutKeywords],
) -> None:
    """Import results of other tools, or a cassette, as a run.

    Sources are result files of the original code, logs of Inspect AI and lm-evaluation-harness, answers produced
    elsewhere, and cassettes.

    The name of a file of the original code states its settings; its cases are generated with --profile code-2024 unless
    you choose code-2023, and matched by id, question and answer. Plain lines, {"case", "reply"} or {"item", "noise",
    "reply"}, and logs of Inspect AI and lm-evaluation-harness, which must have used the same prompts, are matched to
    the cases that the options choose, or to those of an exported testbed. Entries that match no case are listed; a case
    without an entry counts as an error, so that n stays the same. A cassette contains everything and needs no -d.

    \b
    Examples:
      ragbed import results/prediction_en_*.json --from rgb -d en_refine -o runs/original
      ragbed import answers.jsonl --from jsonl -m mine/rag -d zh_refine --testbeds noise -o runs/mine
      ragbed import logs/*.eval --from inspect -d my_testbed -o runs/inspect
      ragbed import results/samples_*.jsonl --from lm-eval -m hf/qwen -d my_testbed -o runs/lm-eval
      ragbed import qwen.cassette --from cassette -o runs/qwen
    """
    from ragbed.api import sharing
    from ragbed.cli.console import print_json, say

    imported = call_with_given(sharing.import_results, files, from_, out, data=data, model=model, **given(layout))
    lines = _describe_cassette(imported, out) if from_ == "cassette" else _describe(imported, out)
    for line in lines:
        say(line)
    if json:
        problems = {} if from_ == "cassette" else {"problems": imported.problems}
        print_json({**imported.counts, **problems, "output": str(out)})
    if not imported.complete:
        raise click.exceptions.Exit(3)


def _describe_cassette(imported: ImportResult, out: Path) -> list[str]:
    counts = imported.counts
    also = f" with {counts['runs'] - 1} runs of judges or interventions" if counts["runs"] > 1 else ""
    return [f"{counts['results']:,} responses to {counts['cases']:,} cases{also} written to {out}."]


def _describe(imported: ImportResult, out: Path) -> list[str]:
    lines = [f"No case matches: {problem}" for problem in imported.problems[:_SHOWN]]
    if len(imported.problems) > _SHOWN:
        lines.append(f"… and {len(imported.problems) - _SHOWN:,} lines more (--json lists all).")
    counts = imported.counts
    answered = counts["matched"] - counts["failed"]
    lines.append(f"{answered:,} of {counts['planned']:,} cases have an answer; written to {out}.")
    if counts["missing"]:
        lines.append(f"{counts['missing']:,} cases are missing from the files and count as errors (missing-result).")
    if counts["failed"]:
        lines.append(f"{counts['failed']:,} cases failed there and count as errors (harness-error).")
    if counts["labels"]:
        same = counts["labels"] - counts["other_labels"]
        lines.append(f"{same:,} of {counts['labels']:,} labels in the files equal code.label.")
    if counts["other_documents"]:
        lines.append(
            f"{counts['other_documents']:,} answers were given to documents that this profile does not select. Try the "
            "other one of code-2024 and code-2023, or check the version of the data."
        )
    return lines
