"""`ragbed compare`: compare two runs, or two models in one run, question by question."""

from __future__ import annotations

from pathlib import Path

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_lines, print_tables, say
from ragbed.cli.gates import junit_option, tell_gates
from ragbed.text import counted

_SHOWN = 20


@click.command()
@click.argument("first", type=options.FileName(), metavar="A")
@click.argument("second", type=options.FileName(), metavar="B")
@options.scorer_option("Scorer to compare")
@options.option(
    "--min-drop",
    type=options.share,
    metavar="SHARE",
    default=0.03,
    help="Smallest drop that the verdict column reports as a decline.",
)
@options.option(
    "--fail-if-worse",
    type=options.share,
    metavar="SHARE",
    help="Exit with code 4 if B is significantly worse than A by more than this margin. Also sets --min-drop.",
)
@junit_option
@options.option("--flips", "list_flips", is_flag=True, help="List the items whose result differs between A and B.")
@options.json_option
def compare(
    first: str,
    second: str,
    scorer: str,
    min_drop: float,
    fail_if_worse: float | None,
    junit: Path | None,
    list_flips: bool,
    json: bool,
) -> None:
    """Compare two runs or two models question by question.

    A and B are runs; RUN:MODEL selects one model of a run. Only questions with results from both sides under the same
    condition are compared; profile, prompt, seed, model and date can differ. The output has one sentence per testbed,
    then a table with one row per condition.

    The p-values of the exact McNemar test (the sign-flip test for graded scores) are adjusted for the number of
    comparisons (Holm). A difference is significant if p is below 0.05.

    \b
    Examples:
      ragbed compare runs/old runs/new
      ragbed compare runs/board:openai/gpt-4o-mini runs/board:vllm/qwen --flips
      ragbed compare runs/paper runs/robust --scorer code --json
      ragbed compare runs/main runs/branch --fail-if-worse 5% --junit gates.xml
    """
    from ragbed.api import analysis
    from ragbed.cli.keywords import call_with_given
    from ragbed.reporting.comparison_summary import tabulate_flips

    result = call_with_given(
        analysis.compare, first, second, scorer=scorer, min_drop=min_drop, fail_if_worse=fail_if_worse, junit=junit
    )
    sides = [f"{name}: {side.model} in {side.run}" for name, side in zip("AB", (result.a, result.b), strict=True)]
    print_lines([*sides, "", *result.sentences, ""], to_stderr=json)
    print_tables([result.records(), *([tabulate_flips(result.flips, _SHOWN)] if list_flips else [])], to_stderr=json)
    if result.unpaired:
        say(f"Not compared because only one side includes them: {counted(result.unpaired, 'question')}.")
    if json:
        named = {"first": first, "second": second, "sentences": result.sentences}
        print_json(named | {"rows": list(result.records()), "flips": result.flips})
    if fail_if_worse is not None:
        tell_gates(result.gates)
