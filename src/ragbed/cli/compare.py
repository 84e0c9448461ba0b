"""`ragbed compare`: compare two runs, or two models in one run, question by question."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated

import click

from ragbed.api.specification import Opt
from ragbed.cli.console import print_json, print_table, say
from ragbed.cli.gates import tell_gates
from ragbed.cli.options import Json, command
from ragbed.text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragbed.analysis.comparison import ComparedCondition, Comparison, Flip, Side
    from ragbed.api.job_specs import CompareSpec

_SHOWN = 20
_LEGEND = """\
Columns ({scorer} scorer):
  n: distinct questions that both sides were evaluated on under this condition
  A %, B %: share of them with the right answer (rejection: with a refusal), failed calls included
  B − A: difference in points, computed before rounding, with its 95% interval
  flips: questions on which B scores higher (+) and lower (−) than A
  p: chance of a difference at least as large if A and B were equal, adjusted for {rows} rows (Holm)
  verdict: better or worse if p < 0.05; "worse by > {drop}" if B is significantly worse by more than {drop} points
    (one-sided test with its own p-value, so p may be above 0.05)"""


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
    from ragbed.reporting.comparison_summary import tell_repeated

    result = analysis.compare.start(spec)
    min_drop = float(spec.min_drop if spec.fail_if_worse is None else spec.fail_if_worse)
    _print_sentences((result.a, result.b), result.sentences, to_stderr=json)
    _print(result.rows, min_drop, to_stderr=json)
    say(_LEGEND.format(scorer=spec.scorer, rows=len(result.rows), drop=f"{100 * min_drop:g}"))
    if note := tell_repeated([(row.items, row.n) for row in result.rows]):
        say(note)
    if flips:
        _print_flips(result.flips, to_stderr=json)
    if result.unpaired:
        say(f"Not compared because only one side includes them: {counted(result.unpaired, 'question')}.")
    if json:
        sides = {"first": str(spec.a), "second": str(spec.b), "sentences": result.sentences}
        print_json(sides | {"rows": result.values(), "flips": result.flips})
    if spec.fail_if_worse is not None:
        tell_gates(result.gates)


def _print_sentences(sides: tuple[Side, Side], sentences: Sequence[str], *, to_stderr: bool) -> None:
    named = [f"{name}: {side.model} in {side.run}" for name, side in zip("AB", sides, strict=True)]
    click.echo(printable("\n".join([*named, "", *sentences, ""])), err=to_stderr)


def _print(rows: Sequence[Comparison], min_drop: float, *, to_stderr: bool) -> None:
    from ragbed.analysis.comparison import IncompleteCounts, format_p
    from ragbed.analysis.statistics.rates import ALPHA
    from ragbed.reporting.comparison_summary import signed

    names, conditions = _describe([row.condition for row in rows])
    outcomes = [f"{side} {name}" for side in "AB" for name in IncompleteCounts._fields]
    counts = [dict(zip(outcomes, chain(*row.incomplete), strict=True)) for row in rows]
    more = [name for name in outcomes if any(one[name] for one in counts)]
    columns = (*names, "n", *more, "A %", "B %", "B − A", "flips", "p", "verdict")
    table = []
    for row, condition, count in zip(rows, conditions, counts, strict=True):
        value, low, high = (signed(100 * bound) for bound in row.difference)
        better = "better" if row.difference.value > 0 else "worse"
        significant = f"worse by > {100 * min_drop:g}" if row.decline_p < ALPHA else better
        verdict = significant if min(row.adjusted, row.decline_p) < ALPHA else "–"
        shares = (f"{100 * row.first:.1f}", f"{100 * row.second:.1f}", f"{value} [{low}, {high}]")
        flipped = f"+{row.won} −{row.lost}"
        n = (row.n, *(count[name] for name in more))
        table.append((*condition, *n, *shares, flipped, format_p(row.adjusted), verdict))
    print_table("By condition", columns, table, to_stderr=to_stderr)


def _describe(conditions: Sequence[ComparedCondition]) -> tuple[list[str], list[list[str]]]:
    """Return the columns that identify conditions, and their cells. `docs` is included if it varies."""
    from ragbed.analysis.comparison import describe

    columns, cells = ["data", "testbed", "lang", "noise", "true"], [[*describe(one)] for one in conditions]
    if len({one.k for one in conditions if one.k}) > 1:
        columns.insert(3, "docs")
        for row, condition in zip(cells, conditions, strict=True):
            row.insert(3, str(condition.k or "–"))
    return columns, cells


def _print_flips(flipped: Sequence[Flip], *, to_stderr: bool) -> None:
    names, described = _describe([flip.condition for flip in flipped])
    columns = (*names, "question", "A", "B")
    rows = [
        (*condition, f"{flip.item}: {flip.question}", f"{flip.first:.3g}", f"{flip.second:.3g}")
        for flip, condition in zip(flipped, described, strict=True)
    ]
    items = len({(flip.condition.data, flip.item) for flip in flipped})
    conditions = len({flip.condition for flip in flipped})
    title = f"{counted(items, 'item')} flipped"
    title += f", under {conditions} conditions" if conditions > 1 else ""
    print_table(title, columns, rows[:_SHOWN], to_stderr=to_stderr)
    if len(rows) > _SHOWN:
        say(f"… and {len(rows) - _SHOWN:,} more (--json lists all of them)")
