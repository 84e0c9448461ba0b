"""`ragbed compare`: compare two runs, or two models in one run, question by question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_lines, print_tables, say
from ragbed.cli.gates import tell_gates
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.job_specs import CompareSpec

_SHOWN = 20


@command()
def compare(
    spec: CompareSpec,
    *,
    flips: Annotated[bool, Opt("List the items whose result differs between A and B.")] = False,
    json: Json = False,
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
    from ragbed.reporting.comparison_summary import tabulate_flips

    result = analysis.compare.start(spec)
    named = [f"{name}: {side.model} in {side.run}" for name, side in zip("AB", (result.a, result.b), strict=True)]
    print_lines([*named, "", *result.sentences, ""], to_stderr=json)
    print_tables([result.records(), *([tabulate_flips(result.flips, _SHOWN)] if flips else [])], to_stderr=json)
    if result.unpaired:
        say(f"Not compared because only one side includes them: {counted(result.unpaired, 'question')}.")
    if json:
        sides = {"first": str(spec.a), "second": str(spec.b), "sentences": result.sentences}
        print_json(sides | {"rows": list(result.records()), "flips": result.flips})
    if spec.fail_if_worse is not None:
        tell_gates(result.gates)
